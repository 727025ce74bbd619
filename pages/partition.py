"""Partition: how the rows are divided into leaves, and which scheme is used."""

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
from pages.shared.display.columns import CANDIDATES, NO_ROWS, NO_STRENGTH, leaf_columns
from pages.shared.display.messages import plain
from pages.shared.display.progress import shown_progress
from pages.shared.display.tables import draw_table, leaf_rows
from pages.shared.display.widgets import chart, leaf_chart, leaf_picker
from pages.shared.flow.flow import current_flow
from pages.shared.frame import need_scores, need_table, open_page, shown_errors

CHOSEN_HOW = (
    "The simplest candidate is at the top. Those with an interval right of zero and a "
    "significantly lower log-loss qualify, and the simplest within one standard error of the best "
    "is chosen. If none qualifies, the model is left as it is, or gets one map for all rows if "
    "that improves its probabilities."
)
SCHEME_HOW = (
    "If its interval lies right of zero, the scheme ranks significantly better than the model."
)

open_page(
    "Partition",
    "The rows are divided into leaves in which the model is more or less reliable than elsewhere; "
    "each leaf gets its own calibration.",
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
        how="Cross-fitted on validation and calibration rows; the test rows are not used. "
        + (CHOSEN_HOW if recommended else SCHEME_HOW),
    )
    with st.expander("Table of candidates"):
        draw_table(choice.candidates, CANDIDATES, NO_STRENGTH)
    show_tree_words(choice)
grown = grown_words(partition, leaves, None if choice is None else choice.chosen)
leaf_chart(
    tree_figure(partition, leaf),
    key="partition_tree",
    alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
    how="Read from the top: each indent adds one condition. Leaves far from the base rate show the "
    f"heterogeneity that an over-confident model under-uses.{grown}",
)
st.subheader(f"{len(partition.leaves)} leaves", anchor=False)
leaf_rows(leaves, key="partition_leaves", columns=leaf_columns(leaves), undefined=NO_ROWS)
counted = f"rows of class {plain(flow.shown)}" if flow.classes else "positive rows"
st.caption(
    f"n: rows; %: share of {counted}. Each split says where missing values go; rare and unseen "
    "categories count as missing."
)
st.download_button(
    "Download this partition (JSON)",
    partition.to_json(),
    "partition.json",
    "application/json",
    on_click="ignore",
    icon=":material/download:",
)
