"""Over-confidence: scores of train rows against scores of test rows, leaf by leaf."""

import streamlit as st

from hetcal.overconfidence_figure import overconfidence_figure
from hetcal.score_figures import leaf_histogram_figure, leaf_multiples_figure
from pages.shared.frame import how_to_read, need_run, open_page
from pages.shared.widgets import clickable_figure, leaf_name, leaf_picker, leaf_rows, shown

open_page(
    "Over-confidence",
    "A model that memorised its training rows separates the labels better there than on fresh "
    "rows. The further the two pictures differ, the less its scores deserve to be believed.",
)
flow = need_run()
leaf = leaf_picker(flow.partition)
diagnosis = flow.diagnosis.set_index("leaf", drop=False)
chosen = diagnosis.loc[leaf]

left, middle, right, last = st.columns(4)
left.metric("AUC, train rows", shown(chosen.auc_train, ".3f"), border=True, height="stretch")
middle.metric(
    "AUC, test rows",
    shown(chosen.auc_test, ".3f"),
    f"{shown(-chosen.auc_gap, '+.3f')} against train",
    border=True,
    height="stretch",
)
right.metric(
    "Over-confidence",
    shown(chosen.confidence_gap, "+.3f"),
    help="Mean probability of the predicted class minus the share of right predictions, on test "
    "rows. Above zero: over-confident.",
    border=True,
    height="stretch",
)
last.metric(
    "Calibration slope",
    shown(chosen.slope, ".2f"),
    help="Slope of a logistic regression of the label on the score, on test rows. 1 is right, "
    "0.5 means that scores should be halved.",
    border=True,
    height="stretch",
)
st.markdown(f"**{leaf_name(leaf)}:** {chosen.sentence}.")

controls = st.container(horizontal=True)
density = (
    controls.segmented_control(
        "Height of the bars",
        ["Rows", "Density"],
        default="Density",
        required=True,
        key="overconfidence_height",
        persist_state="session",
    )
    == "Density"
)
axis = controls.segmented_control(
    "Score axis",
    ["logit", "probability"],
    default="logit",
    required=True,
    key="overconfidence_axis",
    persist_state="session",
)
histograms = flow.histograms(axis)
st.plotly_chart(
    leaf_histogram_figure(histograms, leaf, density),
    key="overconfidence_leaf",
    alt=f"Score histograms by label, train above test, {leaf_name(leaf)}",
)
how_to_read(
    "Two colours far apart: the labels are well separated. Over-confidence shows where train "
    "(above) is better separated than test (below). The end bars hold everything beyond them."
)

st.subheader("Every leaf on the same axes", anchor=False)
st.plotly_chart(
    leaf_multiples_figure(flow.histograms(axis, bins=24), density, leaf or None),
    key="overconfidence_leaves",
    alt="Score histograms by label of every leaf, train as outline, test filled",
)
how_to_read("Outline: train rows; filled: test rows. Where they part, the leaf is over-confident.")

st.subheader("Leaves by over-confidence", anchor=False)
clickable_figure(
    overconfidence_figure(flow.diagnosis, leaf),
    key="overconfidence_rank",
    alt="AUC on train and on test rows of every leaf, most over-confident first",
)
how_to_read("A long bar is a large fall from train to test AUC. Click a leaf to choose it.")
number = st.column_config.NumberColumn
leaf_rows(
    flow.diagnosis.sort_values("rank"),
    key="overconfidence_table",
    columns={
        "leaf": number("leaf", width=50, help="0: all rows"),
        "sentence": st.column_config.TextColumn("in words", width=470),
        "rows_test": number("test n", format="localized"),
        "auc_train": number("train AUC", format="%.3f"),
        "auc_test": number("test AUC", format="%.3f"),
        "log_loss_train": number("train log-loss", format="%.3f"),
        "log_loss_test": number("test log-loss", format="%.3f"),
        "log_loss_gap": number("gap", format="%+.3f", help="Test minus train log-loss"),
        "confidence_gap": number("confidence − accuracy", format="%+.3f"),
        "slope": number("slope", format="%.2f"),
        "intercept": number("intercept", format="%+.2f"),
    },
)
