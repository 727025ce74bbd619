"""The partition: a tree grown on the training rows, or one saved earlier."""

import streamlit as st

from hetcal.tree_figure import tree_figure
from hetcal.tree_partition import default_min_leaf
from pages.shared.compute import Flow
from pages.shared.frame import need_table, open_page, shown_errors
from pages.shared.progress import shown_progress
from pages.shared.state import setting, update, workspace
from pages.shared.tables import LEAVES
from pages.shared.uploads import loaded_partition
from pages.shared.widgets import leaf_chart, leaf_picker, leaf_rows

PAPER_LEAVES = (1000, 2000)
LEAF_SIZES = (25, 50, 100, 250, 500, *PAPER_LEAVES, 5000)

open_page(
    "Partition",
    "A small tree divides the rows into leaves in which the label is more, or less, common "
    "than overall. It is grown on the **training rows** only.",
)
flow = need_table()

fixed = workspace().partition is not None
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    st.slider("Greatest depth", 1, 6, width=280, disabled=fixed, **setting("max_depth"))
    st.selectbox(
        "Smallest leaf (training rows)",
        LEAF_SIZES,
        None,
        format_func=lambda size: f"{size:,}" + (" (paper)" if size in PAPER_LEAVES else ""),
        placeholder=f"{default_min_leaf(len(flow.split.train)):,} (by table size)",
        width=260,
        disabled=fixed,
        **setting("min_leaf"),
    )
    if fixed:
        st.button("Grow a tree instead", on_click=update, kwargs={"partition": None})
    else:
        with st.popover("Load a partition", icon=":material/upload_file:"):
            loaded_partition()
if fixed:
    st.info("A loaded partition takes the place of the tree.", icon=":material/upload_file:")

with shown_errors(), shown_progress() as progress:
    flow = Flow(workspace(), progress)
    partition, leaves = flow.partition, flow.leaves
leaf = leaf_picker(partition)

leaf_chart(
    tree_figure(partition, leaf),
    key="partition_tree",
    alt="Tree of the partition: split rules, and for each leaf its rows and positive rate",
    how="Read from the top: each indent asks one more question. Leaves far from the base rate are "
    "the heterogeneity that an over-confident model under-uses.",
)
st.subheader(f"{len(partition.leaves)} leaves", anchor=False)
leaf_rows(leaves, key="partition_leaves", columns=LEAVES)
st.caption(
    "n: rows; %: share of positive rows. A missing value goes to the side that the split says; "
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
