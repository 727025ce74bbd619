"""The partition: how the rows are divided into leaves, or which scheme of many is used."""

import streamlit as st

from hetcal.figures.results import candidate_figure
from hetcal.figures.tree import tree_figure
from hetcal.schemes.candidates import in_words
from pages.shared.controls.partition import (
    grown_words,
    partition_controls,
    show_tree_words,
    undecided,
)
from pages.shared.display.messages import plain
from pages.shared.display.progress import shown_progress
from pages.shared.display.tables import CANDIDATES, NO_ROWS, NO_STRENGTH, leaf_columns
from pages.shared.display.widgets import chart, draw_table, leaf_chart, leaf_picker, leaf_rows
from pages.shared.flow.flow import current_flow
from pages.shared.frame import need_scores, need_table, open_page, shown_errors

CHOSEN_HOW = (
    "From the simplest at the top: of those clear of zero whose log-loss is significantly lower, "
    "too, the simplest within one standard error of the best is chosen. If there are none, the "
    "model is left as it is, or gets one map for all rows where that improves its probabilities."
)
ASKED_HOW = "Clear of zero, a scheme ranks significantly better than the model as it is."

open_page(
    "Partition",
    "The rows are divided into leaves in which the model deserves to be believed more, or less, "
    "than elsewhere; each leaf gets a calibration of its own.",
)
flow = need_table()
partition_controls(flow)
missing = undecided()
if missing is not None:
    st.info(missing, icon=":material/touch_app:")
    st.stop()
if flow.reads_scores:
    need_scores(flow)

with shown_errors(), shown_progress() as progress:
    flow = current_flow(progress)
    choice, partition, leaves = flow.choice, flow.partition, flow.leaves
leaf = leaf_picker(partition)

if choice is not None:
    recommended = flow.settings.partition == "auto"
    title = f"Chosen: {in_words(choice.chosen)}" if recommended else "The scheme"
    st.subheader(title, anchor=False)
    st.markdown(choice.why)
    chart(
        candidate_figure(choice.candidates, choice.measure),
        key="partition_candidates",
        alt="Lift of every candidate on rows that it was not fitted on, with 95 % intervals",
        how="Cross-fitted on validation and calibration rows; the test rows are not touched. "
        + (CHOSEN_HOW if recommended else ASKED_HOW),
    )
    with st.expander("The candidates in numbers"):
        draw_table(choice.candidates, CANDIDATES, NO_STRENGTH)
    show_tree_words(choice)
grown = grown_words(partition, leaves, None if choice is None else choice.chosen)
leaf_chart(
    tree_figure(partition, leaf),
    key="partition_tree",
    alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
    how="Read from the top: each indent asks one more question. Leaves far from the base rate are "
    f"the heterogeneity that an over-confident model under-uses.{grown}",
)
st.subheader(f"{len(partition.leaves)} leaves", anchor=False)
leaf_rows(leaves, key="partition_leaves", columns=leaf_columns(leaves), undefined=NO_ROWS)
counted = f"rows of class {plain(flow.shown)}" if flow.classes else "positive rows"
st.caption(
    f"n: rows; %: share of {counted}. A missing value goes to the side that the split says; "
    "a category that is rare or new goes the way of missing values."
)
st.download_button(
    "Download this partition (JSON)",
    partition.to_json(),
    "partition.json",
    "application/json",
    on_click="ignore",
    icon=":material/download:",
)
