"""What is applied to the rows of a leaf: the map or the bands, and the curves before and after."""

import pandas as pd
import streamlit as st

from hetcal.data.columns import counted
from hetcal.figures.results import reliability_figure, roc_figure
from hetcal.figures.rows import (
    APPLIED_HOW,
    MULTIPLES_HOW,
    applied_map_figure,
    applied_multiples_figure,
)
from hetcal.partitions.nodes import LEFT_OUT
from pages.shared.display.columns import APPLIED, NO_TEST_ROWS
from pages.shared.display.messages import plain
from pages.shared.display.tables import leaf_rows
from pages.shared.display.widgets import (
    chart,
    definitions,
    how_to_read,
    leaf_chart,
    leaf_name,
    mark_panels,
)
from pages.shared.flow.applied import applied_inside, applied_of, curves_inside, has_maps
from pages.shared.flow.flow import Flow
from pages.shared.state import ALL_ROWS

ONE_CLASS = "The test rows of this leaf have one label only, so there is no ROC curve."
HOLM = "P-values of leaves are corrected for their number by Holm's method."
NO_ROWS = "No test row is in this leaf."


def named_leaf(flow: Flow, leaf: int) -> str:
    """Name what a section is about, with the rule of a leaf."""
    if leaf == ALL_ROWS:
        return leaf_name(leaf)
    return plain(flow.partition.names[leaf])


def whole_rule(flow: Flow, leaf: int) -> str | None:
    """Return the rule of a leaf whose name leaves conditions out; a title has it as its help."""
    if leaf <= ALL_ROWS or LEFT_OUT not in flow.partition.names[leaf]:
        return None
    return plain(flow.partition.leaves[leaf - 1].rule)


def group_note(flow: Flow) -> str:
    """Say that p-values of leaves count rows where these belong to groups."""
    named = flow.saved is None and flow.table.roles.group is not None
    return " They count rows, not groups, and so look too certain." if named else ""


def show_applied(flow: Flow, leaf: int) -> None:
    """Show what is done to the probabilities of a leaf, and the table of all leaves."""
    with st.spinner("Comparing the test rows before and after"):
        applied = applied_of(flow)
    members = flow.partition.members(leaf)
    title = f"What is applied · {named_leaf(flow, leaf)}"
    st.subheader(title, anchor=False, help=whole_rule(flow, leaf))
    found, own_map = applied_inside(flow, leaf)
    st.markdown(_applied_words(flow, found, leaf))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**After against before**")
        if own_map is not None:
            chart(
                applied_map_figure(own_map),
                key="calibration_applied",
                alt=f"Probability after against probability before, {leaf_name(leaf)}",
                how=APPLIED_HOW,
            )
        else:
            st.caption(NO_ROWS)
    with right:
        show_reliability(flow, leaf, "calibration_reliability")
    if applied.drawn < applied.rows:
        st.caption(
            f"Bands come from {applied.drawn:,} of {counted(applied.rows, 'test row')}, spread "
            "evenly; the table counts all rows."
        )
    if not has_maps(flow):
        st.subheader("Every leaf on the same axes", anchor=False)
        leaf_chart(
            applied_multiples_figure(applied.maps, names=flow.partition.names),
            key="calibration_leaves",
            alt="Probability after against probability before in every leaf",
            how=MULTIPLES_HOW,
        )
        mark_panels("calibration_leaves", applied.maps, members)
    rules = {each.id: each.rule for each in flow.partition.leaves}
    table = applied.leaves.assign(
        rule=[rules.get(each, "all rows") for each in applied.leaves["leaf"]]
    ).merge(flow.leaf_tests, on="leaf", how="left")
    leaf_rows(table, "calibration_applied_table", APPLIED, members, NO_TEST_ROWS)
    how_to_read(f"p below 0.05: the probabilities of the leaf are off. {HOLM}{group_note(flow)}")
    definitions(
        "Slope and intercept",
        "Fitted slope",
        "Applied slope",
        "Slope needed",
        "Standard error",
        "Is it calibrated? (p)",
        "Cumulative difference",
    )


def _applied_words(flow: Flow, found: pd.Series, leaf: int) -> str:
    if not found["rows"]:
        return NO_ROWS
    rows = counted(int(found["rows"]), "test row")
    moved = (
        f"On {rows} the mean probability goes from {found['mean_before']:.1%} to "
        f"**{found['mean_after']:.1%}**; {found['positive_rate']:.1%} are positive."
    )
    share = f"{found['explained']:.0%}"
    if has_maps(flow) and (leaf > ALL_ROWS or not flow.run.divided):
        return moved
    if has_maps(flow):
        return f"{moved} Every leaf has its own map, so several leaves together have a band."
    return (
        f"{moved} This is not one map: rows with the same score get different probabilities. The "
        f"score alone explains {share} of the variance of the logit after."
    )


def show_leaf_curves(flow: Flow, leaf: int, key: str) -> None:
    """Show ROC and reliability before and after, of the test rows of a leaf or of all rows."""
    with st.spinner("Evaluating the test rows"):
        curves = curves_inside(flow, leaf)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**ROC**")
        if curves.roc:
            chart(
                roc_figure(curves.roc),
                key=f"{key}_roc",
                alt=f"ROC curves before and after, {leaf_name(leaf)}",
                how=ROC_HOW,
            )
        else:
            st.caption(ONE_CLASS if curves.reliability else NO_ROWS)
    with right:
        show_reliability(flow, leaf, f"{key}_reliability")


def show_reliability(flow: Flow, leaf: int, key: str) -> None:
    """Show reliability before and after, of the test rows of a leaf or of all rows."""
    curves = curves_inside(flow, leaf)
    st.markdown("**Reliability**")
    if not curves.reliability:
        st.caption(NO_ROWS)
        return
    chart(
        reliability_figure(curves.reliability),
        key=key,
        alt=f"Observed frequency against predicted probability before and after, {leaf_name(leaf)}",
        how=RELIABILITY_HOW,
    )


ROC_HOW = (
    "Higher is better: more true positives at the same false positive rate. Dotted line: random "
    "ranking."
)
RELIABILITY_HOW = (
    "On the dotted line, a predicted 30 % happens 30 % of the time. Bars: 95 % intervals."
)
