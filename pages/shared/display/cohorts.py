"""Leaves, branches and cohorts side by side; a cohort is described by conditions on columns."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from hetcal.errors import HetcalError
from hetcal.figures.results import reliability_figure
from hetcal.results.curves import group_reliability
from hetcal.runs.cohorts import EXAMPLE, group_table
from pages.shared.display.applied import NO_ROWS, RELIABILITY_HOW
from pages.shared.display.columns import GROUPS, ONE_LABEL
from pages.shared.display.messages import plain, show_error
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import chart, leaf_name
from pages.shared.flow.applied import group_inside
from pages.shared.flow.flow import Flow, current_flow
from pages.shared.state import ALL_ROWS, bound, kept, update, workspace

ACROSS = 2  # charts in a row
Group = int | str


def show_compared(flow: Flow, leaf: int) -> None:
    """Let the user pin leaves and describe cohorts, and show them side by side."""
    st.subheader("Compare leaves and cohorts", anchor=False)
    pinned = _pinned(flow)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        leaves = (ALL_ROWS, *flow.partition.names)
        cohorts = tuple(each for each in workspace().compared if isinstance(each, str))
        st.multiselect(
            "Pinned",
            [*leaves, *(cohorts if flow.saved is None else ())],
            format_func=partial(_name, flow.partition.names),
            placeholder="Choose leaves, branches or all rows",
            width=440,
            **bound("compared", pinned, _pin),
        )
        if leaf not in pinned:
            st.button(
                f"Pin {leaf_name(leaf).lower()}",
                icon=":material/keep:",
                on_click=_pin,
                args=((*pinned, leaf),),
            )
        if flow.saved is None:
            st.text_input(
                "Add a cohort",
                placeholder=EXAMPLE,
                width=300,
                help="Conditions joined by 'and': a column, one of <=, >=, <, >, =, !=, and a "
                "value, or 'missing'. Cohorts are kept with the run.",
                on_change=_add_cohort,
                **kept("new_cohort"),
            )
    if "cohort_error" in st.session_state:
        show_error(st.session_state.pop("cohort_error"))
    if len(pinned) < 2:
        st.caption("Pin two or more of them to see them side by side.")
    if pinned:
        _draw(flow, pinned)


def _name(names: Mapping[int, str], group: Group) -> str:
    return group if isinstance(group, str) else names.get(group, leaf_name(ALL_ROWS))


def _pinned(flow: Flow) -> tuple[Group, ...]:
    """Return what is pinned, without leaves that the tree no longer has or unknown columns."""
    return tuple(each for each in workspace().compared if _known(flow, each))


def _known(flow: Flow, group: Group) -> bool:
    if isinstance(group, int):
        return group == ALL_ROWS or group in flow.partition.names
    if flow.saved is not None:
        return False
    try:
        group_inside(flow, group)
    except HetcalError:
        return False
    return True


def _pin(groups: tuple[Group, ...]) -> None:
    update(compared=tuple(groups))


def _add_cohort() -> None:
    """Keep a cohort that was typed, or say what is wrong with it."""
    text = st.session_state["new_cohort"].strip()
    if not text:
        return
    try:
        group_inside(current_flow(), text)  # a widget that kept a flow would keep its table
    except HetcalError as error:
        st.session_state["cohort_error"] = error
        return
    st.session_state["new_cohort"] = ""
    _pin(tuple(dict.fromkeys((*workspace().compared, text))))


def _draw(flow: Flow, pinned: tuple[Group, ...]) -> None:
    names = flow.partition.names
    groups = {_name(names, each): group_inside(flow, each) for each in pinned}
    draw_table(group_table(groups), GROUPS, ONE_LABEL)
    named = list(groups.items())
    for first in range(0, len(named), ACROSS):
        for place, (name, cells) in zip(
            st.columns(ACROSS, gap="medium"), named[first : first + ACROSS], strict=False
        ):
            with place:
                st.markdown(f"**{plain(name)}**")
                if not cells[0].rows.sum():
                    st.caption(NO_ROWS)
                    continue
                chart(
                    reliability_figure(group_reliability(*cells)),
                    key=f"compared_{name}",
                    alt=f"Observed frequency against predicted probability, {name}",
                    how=RELIABILITY_HOW,
                )
