"""A threshold: who is called positive before and after, what errors cost, who changes side."""

import streamlit as st

from hetcal.cells.cells import Cells
from hetcal.figures.thresholds import COST_HOW, cost_figure
from hetcal.metrics.thresholds import (
    Costs,
    changed_sides,
    decision_table,
    sides_in_words,
)
from hetcal.results.words import DEFINITIONS
from pages.shared.display.applied import NO_ROWS, named_leaf
from pages.shared.display.columns import DECISIONS, NOBODY, SIDES
from pages.shared.display.tables import draw_table, leaf_rows
from pages.shared.display.widgets import chart, leaf_name
from pages.shared.flow.applied import cost_curves, inside
from pages.shared.flow.flow import Flow
from pages.shared.state import ALL_ROWS, kept

THRESHOLD = "results_threshold"


def show_threshold(flow: Flow, leaf: int) -> None:
    """Let the user set a threshold and costs, and show what they do to a leaf or to all rows."""
    st.subheader(f"A threshold and its costs · {named_leaf(flow, leaf)}", anchor=False)
    own = inside(flow, leaf)
    if not own.before.rows.sum():
        st.caption(NO_ROWS)
        return
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with controls:
        costs = _costs()
    before, after = curves = cost_curves(flow, leaf, costs)
    with controls:
        threshold = st.slider(
            "Threshold",
            0.0,
            1.0,
            0.5,
            0.01,
            width=260,
            help="Rows with at least this probability are called positive.",
            **kept(THRESHOLD),
        )
        st.button(
            f"Cheapest after: {after.cheapest:.2f}",
            icon=":material/savings:",
            on_click=_use,
            args=(after.cheapest,),
        )
    st.markdown(
        f"If probabilities are right, **{costs.threshold:.2f}** is the cheapest threshold for "
        f"these costs. On these test rows it is {before.cheapest:.2f} before (cost of a row "
        f"{before.lowest:.4f}) and {after.cheapest:.2f} after ({after.lowest:.4f})."
    )
    left, right = st.columns([2, 3], gap="medium")
    with left:
        chart(
            cost_figure(curves, threshold),
            key="results_costs",
            alt=f"Expected cost of a row against the threshold, {leaf_name(leaf)}",
            how=COST_HOW,
        )
    with right:
        _show_decisions(own.before, own.after, threshold, costs)
        _show_sides(flow, leaf, own.before, own.after, threshold)


def _costs() -> Costs:
    """Offer what errors cost."""
    alarm, miss = (
        st.number_input(
            label,
            0.0,
            1e9,
            1.0,
            format="%g",
            width=180,
            help=DEFINITIONS["Expected cost"],
            **kept(f"results_{name}"),
        )
        for label, name in (("Cost of a false alarm", "alarm"), ("Cost of a miss", "miss"))
    )
    return Costs(alarm, miss)


def _use(threshold: float) -> None:
    st.session_state[THRESHOLD] = round(threshold, 2)


def _show_decisions(before: Cells, after: Cells, threshold: float, costs: Costs) -> None:
    schemes = {"before": before, "after": after}
    table = decision_table(schemes, dict.fromkeys(schemes, threshold), costs)
    draw_table(table, DECISIONS, NOBODY)
    was, now = table["cost"]
    moved = f"falls by {(was - now) / was:.1%}" if now < was else f"rises by {now - was:.4f}"
    changed = "does not change" if was == now else moved
    weighted = "" if before.counted else " Counts are sums of weights."
    st.markdown(f"At {threshold:.2f} the expected cost of a row {changed}.{weighted}")


def _show_sides(flow: Flow, leaf: int, before: Cells, after: Cells, threshold: float) -> None:
    leaves = [each.id for each in flow.partition.leaves]
    sides = changed_sides(before, after, threshold, leaves)
    st.markdown(sides_in_words(sides))
    if leaf <= ALL_ROWS and sides.drop(columns="leaf").to_numpy().any():
        with st.expander("Who changes side, leaf by leaf"):
            moved = sides[sides.drop(columns="leaf").any(axis=1)]
            named = moved.assign(rule=moved["leaf"].map(flow.partition.names).fillna("All rows"))
            leaf_rows(named, "results_sides", SIDES, flow.partition.members(leaf))
