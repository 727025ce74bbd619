"""Every measure of the test rows with its interval, and the check of roles."""

import math

import pandas as pd
import streamlit as st

from hetcal.results.measures import MEASURES
from hetcal.results.roles import check_roles
from hetcal.results.words import p_in_words
from pages.shared.display.columns import BEFORE_AFTER
from pages.shared.display.messages import plain, without_options
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import DASH, how_to_read
from pages.shared.flow.flow import Flow

MARKS = {
    "holds": ("green", "check"),
    "open": ("orange", "priority_high"),
    "fails": ("red", "close"),
}


def show_measures(flow: Flow) -> None:
    """Show every measure before and after, each with its interval."""
    st.subheader("Every measure, with its interval · all rows", anchor=False)
    with st.spinner("Drawing the test rows again for the intervals"):
        found = flow.run.measures
    rows = [
        {
            "measure": MEASURES[name],
            "before": _with_interval(each, "before"),
            "after": _with_interval(each, "after"),
            "change": _with_interval(each, "change", "+z.4f"),
        }
        for name, each in found.iterrows()
    ]
    draw_table(pd.DataFrame(rows), BEFORE_AFTER, height="content")
    how_to_read(
        "Intervals: 95 %, by a paired bootstrap of the test rows. A binned calibration error need "
        "not fall when leaves are calibrated separately: gaps that cancelled out in a bin of all "
        "rows may show. The log-loss tells."
    )


def _with_interval(measured: pd.Series, what: str, form: str = ".4f") -> str:
    """Write a number with its interval, or with its p-value if it has one."""
    value, low, high = (measured[f"{what}{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value):
        return DASH
    if not math.isnan(low):
        return f"{value:{form}} ({low:{form}} to {high:{form}})"
    p = measured.get(f"p_{what}", math.nan)
    return f"{value:{form}}" if math.isnan(p) else f"{value:{form}} (p-value {p_in_words(p)})"


def show_roles(flow: Flow) -> None:
    """Show in one line whether rows that judge the model have been seen before."""
    if flow.saved is not None:
        return
    group, loaded = flow.table.roles.group, flow.workspace.partition is not None
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("**Roles**", width="content")
        for each in check_roles(flow.whole.findings, group, loaded=loaded):
            colour, icon = MARKS[each.level]
            st.markdown(
                f":{colour}-badge[:material/{icon}: {each.words}]",
                help=plain(without_options(each.reason)),
                width="content",
            )
