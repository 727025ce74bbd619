"""Learn: why an over-confident model under-uses a simple pattern, and what calibration does."""

import streamlit as st

from hetcal.figures.calibration import maps_figure
from hetcal.figures.example import bells_figure, weight_figure
from hetcal.figures.overconfidence import leaf_multiples_figure
from hetcal.results.example import (
    BEST_WEIGHT,
    Network,
    areas_by_weight,
    calibrated,
    calibration_error,
    estimated_error,
    leaf_densities,
    leaf_fits,
    log_loss,
    train_auc,
    true_auc,
)
from pages.shared.display.widgets import cards, chart
from pages.shared.flow.applied import has_maps, weighted_areas
from pages.shared.frame import need_results, open_page
from pages.shared.links import page_link
from pages.shared.state import kept, workspace

TRAINED = Network()
ERRATA = (
    "The exact numbers differ from the paper's in two places: the AUC of new rows is largest at a "
    f"weight of 4 ln 3 = {BEST_WEIGHT:.2f}, not at 3.6, and that of train rows at 1.06, not at "
    "1.8, which is the weight of the lowest log-loss there."
)

open_page(
    "Learn",
    "Why does a model that fits its training rows too well rank new rows worse than it could? "
    "Section 3 of the paper, computed exactly. **Drag the sliders.**",
)
st.markdown(
    "A network has a score *f*. On new rows the two labels overlap; on the rows it was trained on "
    "it has learned the hard cases by heart, and they overlap less. Now comes a feature *x* that "
    "agrees with the label in three of four rows. The network adds it: "
    "**score = scale · f + weight · x + bias**. Training finds the weight 1.8 and the bias −0.9."
)

st.subheader("1. Two leaves, two labels", anchor=False)
with st.container(horizontal=True):
    weight = st.slider("Weight of the feature", 0.0, 8.0, 1.8, 0.1, **kept("learn_weight"))
    bias = st.slider("Bias", -4.0, 4.0, -0.9, 0.1, **kept("learn_bias"))
    scale = st.slider("Scale of f", 0.2, 2.0, 1.0, 0.1, **kept("learn_scale"))
    with_maps = st.toggle("Calibrate each leaf", **kept("learn_calibrate"))
network = Network(weight, bias, scale)
after = calibrated(network)
chart(
    bells_figure(leaf_densities(after if with_maps else network)),
    key="learn_bells",
    alt="Densities of the score of both labels in both leaves, on train rows and on new rows",
    how="Filled: new rows; dotted: train rows. Of two rows in different leaves, the weight decides "
    "which ranks higher. Train rows need it less, so training keeps it small.",
)

st.subheader("2. The AUC follows the weight", anchor=False)
areas = areas_by_weight(network).rename(columns={"truth": "new rows", "train": "train rows"})
best = BEST_WEIGHT * scale
jump = [("leaves calibrated", "after", best, true_auc(after))] if with_maps else []
st.markdown(
    f"On new rows your weight gives an AUC of **{true_auc(network):.4f}**; a weight of {best:.2f} "
    f"would give **{true_auc(after):.4f}**, the largest there is."
)
chart(
    weight_figure(
        areas,
        [
            ("your network", "before", weight, true_auc(network)),
            ("what training finds", "train", TRAINED.weight, true_auc(TRAINED)),
            *jump,
        ],
        "weight of the feature",
    ),
    key="learn_weights",
    alt="AUC on new rows and on train rows against the weight of the feature",
    how="On train rows (dotted) a small weight is best, on new rows a larger one. The bias moves "
    "no curve: it changes probabilities, not the order.",
)
cards(
    ("AUC, new rows", f"{true_auc(network):.4f}", None, f"train rows {train_auc(network):.4f}"),
    (
        "Log-loss, new rows",
        f"{log_loss(network, 'truth'):.4f}",
        None,
        f"train rows {log_loss(network, 'train'):.4f}",
    ),
    (
        "Calibration error, true",
        f"{calibration_error(network):.4f}",
        "Root mean square of probability minus true probability, row by row.",
        "row by row",
    ),
    (
        "Calibration error, estimated",
        f"{estimated_error(network):.4f}",
        "The same for groups of rows with equal score, as bins estimate it. Errors of the two "
        "leaves cancel there, so it can be small while single rows are wrong.",
        "rows of equal score together",
    ),
)

st.subheader("3. Calibrate each leaf", anchor=False)
low, high = leaf_fits(network)
st.markdown(
    "In every leaf, a map σ(slope · score + intercept) makes the probabilities right. "
    f"In leaf x = 0: slope **{low.slope:.2f}**, intercept **{low.intercept:+.4f}**. "
    f"In leaf x = 1: slope **{high.slope:.2f}**, intercept **{high.intercept:+.4f}**. "
    "A slope below 1 says: over-confident. The intercepts move the leaves apart, as the larger "
    f"weight would have. The AUC becomes **{true_auc(after):.4f}**, whatever weight "
    "the network had; inside a leaf no two rows change places. *Calibrate each leaf*, above, shows "
    "it in the pictures."
)
st.caption(ERRATA)

st.subheader("The same on your data", anchor=False)
if not workspace().files and workspace().saved is None:
    st.markdown("With a run, the same three pictures stand here for its leaves.")
    page_link("app.py", "Run the demo", ":material/play_circle:")
    st.stop()
flow = need_results()
chart(
    leaf_multiples_figure(flow.histograms("logit", bins=24), names=flow.partition.names),
    key="learn_leaves",
    alt="Score histograms by label of every leaf, train as outline, test filled",
    how="1. Outline: train rows; filled: test rows. Where they differ, the model is over-fitted.",
)
chart(
    weight_figure(
        weighted_areas(flow).rename(columns={"auc": "test rows"}),
        [("the model as it is", "before", 0.0, flow.run.evaluation.before.auc)],
        "weight of the leaf's rate (logit), added to the score",
    ),
    key="learn_own_weights",
    alt="AUC on test rows against the weight that the rates of leaves get beside the score",
    how="2. Where the curve rises from weight 0, the model under-uses what leaves say. How far is "
    "read off test rows here, to understand; fits use other rows.",
)
if has_maps(flow) and flow.run.divided:
    calibrator = flow.run.calibrator
    chart(
        maps_figure(calibrator.pooled_, calibrator.maps_, (), flow.score_range),
        key="learn_maps",
        alt="Calibrated probability against score for every leaf",
        how="3. Flatter than the dotted line: over-confident. Shifted: the leaf moves up or down.",
    )
page_link("pages/calibration.py", "What is applied to the score")
