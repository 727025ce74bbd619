"""Edit the tree by hand: prune a branch, merge two leaves, divide a leaf; the lift follows."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from hetcal.data.columns import column_kind, fewest_category_rows
from hetcal.errors import HetcalError
from hetcal.partitions.editing import divided, merged, pruned, sibling
from hetcal.partitions.encoding import encode_names
from hetcal.partitions.partition import Partition
from hetcal.results.words import interval_in_words, measured_on
from pages.shared.display.messages import plain, show_error
from pages.shared.flow.flow import Flow, current_flow
from pages.shared.frame import need_evaluation
from pages.shared.jobs import Unfinished
from pages.shared.state import ALL_ROWS, current_run, kept, undo, update, workspace

EDITED = "edited the tree"
LIFT = "lift_before_edit"  # of the session
LOOKED = (
    "An edited tree has maps that are fitted on calibration rows, as in Algorithm 1. The lift is "
    "that of test rows. Whoever edits until it is large has fitted the test rows, too: "
    "expect less on new rows."
)
NO_NEIGHBOUR = "The other side of the split above this leaf is a branch, not a leaf."
ONLY_NEIGHBOURS = (
    "Only the two leaves of one split can be merged, as every leaf has one way down the tree and "
    "one rule. To merge leaves farther apart, choose the split above them: all its leaves become "
    "one."
)


def edit_tree(flow: Flow, leaf: int) -> None:
    """Offer to change the tree at the chosen leaf or branch, and say what that did to the lift."""
    names = set(flow.table.X.columns)
    if not all(each.name in names for each in flow.partition.features):
        return  # units of a layer have no values that a person could choose
    with st.expander("Edit the tree", icon=":material/edit:", expanded=_is_edited()):
        if _is_edited():
            _say_lift(flow)
        if leaf == ALL_ROWS:
            st.markdown("Choose a leaf or a split, in the picture or in the sidebar, to change it.")
        elif leaf < ALL_ROWS:
            _offer_pruning(flow, leaf)
        else:
            _offer_merging(flow, leaf)
            _offer_splitting(flow, leaf)
        if "edit_error" in st.session_state:
            show_error(st.session_state.pop("edit_error"))


def _is_edited() -> bool:
    used = workspace().partition
    return used is not None and used.edited


def _say_lift(flow: Flow) -> None:
    """Say what the edited tree gains, what the one before did, and offer the way back."""
    if flow.scores is None:
        st.markdown("Once the rows have scores, the lift of this tree stands here.")
    else:
        found = need_evaluation().whole.evaluation
        lift, before = found.lift, st.session_state.get(LIFT)
        moved = "" if before is None else f" Before the latest edit it was {before:+.4f}."
        where = measured_on(found.rows, found.groups)
        st.markdown(
            f"With this tree the lift is **{lift.auc:+.4f}** on {where}, "
            f"{interval_in_words(lift)}.{moved}"
        )
        st.caption(LOOKED)
    past = current_run().past
    if past and past[-1][0] == EDITED:
        st.button("Undo the latest edit", icon=":material/undo:", on_click=_undo)


def _lift(flow: Flow) -> float | None:
    """Return the lift so far; None where it is not known yet."""
    try:
        return None if flow.scores is None else flow.whole.evaluation.lift.auc
    except (HetcalError, Unfinished):
        return None


def _undo() -> None:
    st.session_state.pop(LIFT, None)
    undo()


def _offer_pruning(flow: Flow, branch: int) -> None:
    count = len(flow.partition.members(branch))
    st.button(
        f"Make these {count} leaves one",
        icon=":material/content_cut:",
        on_click=_edit,
        args=(lambda tree: pruned(tree, branch),),
    )


def _offer_merging(flow: Flow, leaf: int) -> None:
    other = sibling(flow.partition, leaf)
    if other is not None:
        st.button(
            f"Merge with leaf {other}",
            icon=":material/merge:",
            help=plain(flow.partition.names[other]),
            on_click=_edit,
            args=(lambda tree: merged(tree, leaf, other),),
        )
    st.caption(ONLY_NEIGHBOURS if other is not None else f"{NO_NEIGHBOUR} {ONLY_NEIGHBOURS}")


def _offer_splitting(flow: Flow, leaf: int) -> None:
    """Offer to divide a leaf on a column: at a number, or by categories."""
    train, X = flow.split.train, flow.table.X
    usable = [name for name in X if column_kind(X[name]) in ("number", "category")]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = st.selectbox("Divide it by", usable, width=240, **kept("edit_column"))
        column = X[name].iloc[train]
        if column_kind(column) == "number":
            middle = float(np.nanmedian(column.to_numpy(dtype=np.float64, na_value=np.nan)))
            value = st.number_input(
                "Up to this value", value=middle, width=200, format="%g", key=f"edit_at_{name}"
            )
        else:
            value = st.multiselect(
                "These values on one side",
                encode_names(column, fewest_category_rows(len(column)))[1].categories,
                width=320,
                key=f"edit_of_{name}",
            )
        st.button(
            "Divide the leaf",
            icon=":material/call_split:",
            disabled=isinstance(value, list) and not value,
            on_click=_divide,
            args=(leaf, name, value),
        )


def _divide(leaf: int, name: str, value: float | list[str]) -> None:
    flow = current_flow()
    train, table = flow.split.train, flow.table
    rows = table.X.iloc[train], (table.y[train] == 1).astype(int), table.weight_of(train)
    _edit(lambda tree: divided(tree, leaf, (name, value), *rows))


def _edit(change: Callable[[Partition], Partition]) -> None:
    """Use the changed tree in place of the one before; that can be undone.

    A button that kept a flow would keep its table.
    """
    flow = current_flow()
    try:
        tree = change(flow.partition)
    except HetcalError as error:
        st.session_state["edit_error"] = error
        return
    st.session_state[LIFT] = _lift(flow)
    update(what=EDITED, partition=tree, leaf=ALL_ROWS)
