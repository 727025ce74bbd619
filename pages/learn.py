"""Learn: why an over-confident model under-uses a simple pattern, and what calibration does."""

import streamlit as st

from hetcal.figures.calibration import maps_figure
from hetcal.figures.example import weight_figure
from hetcal.figures.overconfidence import leaf_multiples_figure
from hetcal.results.example import (
    BEST_WEIGHT,
    Network,
    calibrated,
    calibration_error,
    estimated_error,
    leaf_fits,
    log_loss,
    train_auc,
    true_auc,
)
from pages.shared.display.example import choose_weight, show_bells, show_weights
from pages.shared.display.widgets import cards, chart
from pages.shared.flow.applied import has_maps, weighted_areas
from pages.shared.frame import need_results, open_page
from pages.shared.links import next_page, page_link
from pages.shared.state import kept, started

ERRATA = f"""
- Section 3: new rows are ranked best at a weight of 4 ln 3 = {BEST_WEIGHT:.2f}, with an AUC of
  0.8533, not at 3.6 (0.8520).
- Section 3: the AUC of train rows is largest at a weight of 1.06 (0.9758). At 1.8 (0.9727) their
  log-loss is lowest, which is what training looks for.
- Appendix D weighs the two sides of a split by p / (p + p'), which is right only if both have
  equally many rows; it has to be n p / (n p + n' p').
- Table of regularised networks, Diabetes, size M: 0.6951 before does not go with 0.6832 after and
  +3.65 %; 0.6591, with its digits in another order, does.
- The lift does not grow with the size of the network on all data sets: Credit has +0.18 %,
  +0.09 %, +0.14 %, and Census +0.50 %, +0.55 %, +0.22 %.
- The lift is not always larger without regularisation: on Diabetes it is smaller for all sizes.
- Bank has 5,380 validation rows, not 5,322: only then do the four parts add up to 45,211.
"""

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
    weight = choose_weight()
    bias = st.slider("Bias", -4.0, 4.0, -0.9, 0.1, **kept("learn_bias"))
    scale = st.slider("Scale of f", 0.2, 2.0, 1.0, 0.1, **kept("learn_scale"))
    with_maps = st.toggle("Calibrate each leaf", **kept("learn_calibrate"))
network = Network(weight, bias, scale)
after = calibrated(network)
show_bells(after if with_maps else network, "learn_bells", 430)

st.subheader("2. The AUC follows the weight", anchor=False)
st.markdown(
    f"On new rows your weight gives an AUC of **{true_auc(network):.4f}**; a weight of "
    f"{BEST_WEIGHT * scale:.2f} would give **{true_auc(after):.4f}**, the largest there is. The "
    "bias moves no curve: it changes probabilities, not the order."
)
show_weights(network, "learn_weights", 380, after if with_maps else None)
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
with st.expander("Where the paper's numbers are not right"):
    st.markdown(ERRATA)

st.subheader("The same on your data", anchor=False)
if not started():
    st.markdown("With a run, the same three pictures stand here for its leaves.")
    page_link("app.py", "Run the demo", ":material/play_circle:")
    st.stop()
flow = need_results()
st.markdown("**1. The scores of both labels in every leaf**")
chart(
    leaf_multiples_figure(flow.histograms("logit", bins=24), names=flow.partition.names),
    key="learn_leaves",
    alt="Score histograms by label of every leaf, train as outline, test filled",
    how="Outline: train rows; filled: test rows. Where they differ, the model is over-fitted.",
)
st.markdown("**2. The AUC against the weight of what the leaves say**")
chart(
    weight_figure(
        weighted_areas(flow).rename(columns={"auc": "test rows"}),
        [("the model as it is", "before", 0.0, flow.run.evaluation.before.auc)],
        "weight of the leaf's rate (logit), added to the score",
    ),
    key="learn_own_weights",
    alt="AUC on test rows against the weight that the rates of leaves get beside the score",
    how="Where the curve rises from weight 0, the model under-uses what leaves say. How far is "
    "read off test rows here, to understand; fits use other rows.",
)
if has_maps(flow) and flow.run.divided:
    calibrator = flow.run.calibrator
    st.markdown("**3. The map of every leaf**")
    chart(
        maps_figure(calibrator.pooled_, calibrator.maps_, (), flow.score_range),
        key="learn_maps",
        alt="Calibrated probability against score for every leaf",
        how="Flatter than the dotted line: over-confident. Shifted: the leaf moves up or down.",
    )
next_page("pages/calibration.py", "Calibration")
