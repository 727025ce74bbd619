"""Partition: which scheme is used, what others would give, and the leaves of the rows."""

import streamlit as st

from hetcal.figures.tree import tree_figure
from pages.shared.controls.editing import edit_tree
from pages.shared.controls.partition import (
    grown_words,
    partition_controls,
    show_tree_words,
    undecided,
)
from pages.shared.display.columns import NO_ROWS, leaf_columns
from pages.shared.display.messages import plain, warn_of_score
from pages.shared.display.results import (
    draw_ladder,
    offer_comparison,
    scheme_in_words,
    standing,
)
from pages.shared.display.tables import leaf_rows
from pages.shared.display.widgets import leaf_chart, leaf_picker
from pages.shared.frame import (
    need_evaluation,
    need_partition,
    need_scores,
    need_table,
    open_page,
)
from pages.shared.links import next_page

open_page(
    "Partition",
    "What is done with the score: **calibration**, a map of it in every leaf of the rows; "
    "**correction**, the score plus curves of the columns; or a **second model** beside it.",
)
flow = need_table()
partition_controls(flow)
missing = undecided()
if missing is not None:
    st.info(missing, icon=":material/touch_app:")
    st.stop()
if flow.reads_scores:
    need_scores(flow)
    warn_of_score(flow.score_findings)

flow = need_partition()
choice, partition, leaves = flow.choice, flow.partition, flow.leaves
leaf = leaf_picker(partition)

if choice is not None:
    flow = need_evaluation()
    title = "The scheme"
    if flow.climbable:
        taken = flow.settings.take == choice.chosen
        title = f"{'Taken' if taken else standing(flow).capitalize()}: {scheme_in_words(choice)}"
    st.subheader(title, anchor=False)
    st.markdown(plain(choice.why))
    draw_ladder(flow, "partition_ladder")
    offer_comparison(flow, "partition_ladder")
    show_tree_words(choice)
grown = grown_words(partition, leaves, None if choice is None else choice.chosen)
leaf_chart(
    tree_figure(partition, leaf),
    key="partition_tree",
    alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
    how="Read from the top: each indent adds one condition; a click on a split shows its leaves "
    "together. Leaves far from the base rate show the heterogeneity that an over-confident model "
    f"under-uses.{grown}",
)
edit_tree(flow, leaf)
st.subheader(f"{len(partition.leaves)} leaves", anchor=False)
leaf_rows(leaves, "partition_leaves", leaf_columns(leaves), partition.members(leaf), NO_ROWS)
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
next_page("pages/overconfidence.py", "Over-confidence")
