"""Why this row: any row of the table, from its score step by step to its probability."""

from functools import partial

import pandas as pd
import streamlit as st

from hetcal.data.columns import counted
from hetcal.errors import HetcalError
from hetcal.figures.rows import WATERFALL_HOW, waterfall_figure
from hetcal.results.applied import MOST_ROWS
from hetcal.runs.rows import OF_TABLE, ROW_ORDERS, chosen_rows, sorted_rows, with_columns
from hetcal.runs.run import Run
from pages.shared.display.applied import named_leaf, whole_rule
from pages.shared.display.columns import STEPS, listed_columns
from pages.shared.display.messages import plain, show_error
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import chart, downloads, how_to_read
from pages.shared.flow.applied import rows_of, steps_of
from pages.shared.flow.flow import Flow
from pages.shared.state import bound, kept

# Of the session: (row, leaf), (page, leaf) and the number of draws.
SHOWN, PAGE, SEED = "row_shown", "row_page", "row_seed"
PAGE_ROWS = 50
MOST_COLUMNS = 8  # of the table's own
BY_COLUMN = "by a column"
OWN_COLUMNS = {
    "before": "probability before",
    "after": "probability after",
    "change": "logit change",
    "loss_before": "loss before",
    "loss": "loss after",
    "row": "row",
}
LIST_HEIGHT = 250  # pixels


def show_why(flow: Flow, leaf: int) -> None:
    """Let the user find a row, and show what led to its probability."""
    title = f"Why this row · {named_leaf(flow, leaf)}"
    st.subheader(title, anchor=False, help=whole_rule(flow, leaf))
    if flow.saved is not None:
        st.caption("A saved run has no rows. Open its table to look at single rows.")
        return
    run = flow.run
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with controls:
        found, by = _found(flow, leaf)
    page = _page(leaf, len(found))
    listed = found.iloc[PAGE_ROWS * page :].head(PAGE_ROWS).reset_index(drop=True)
    row = _shown_row(run, leaf, listed)
    if row is None:
        st.caption("No row fits. Clear the search, or choose another leaf.")
        return
    with controls:
        st.number_input(
            "Row number",
            1,
            run.table.rows,
            step=1,
            width=160,
            help="Any row of the table, counted from 1.",
            **bound("row_number", row + 1, partial(_typed, leaf)),
        )
    if run.split.test.size > MOST_ROWS:
        tests = counted(run.split.test.size, "test row")
        st.caption(f"The list looks at {MOST_ROWS:,} of {tests}, spread evenly.")
    _draw_list(run, listed, leaf, by)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _draw_pager(leaf, page, len(found))
        downloads({"rows.csv": lambda: with_columns(run, found).to_csv(index=False)}, key="rows")
    _explain(flow, row)


def _found(flow: Flow, leaf: int) -> tuple[pd.DataFrame, str]:
    """Offer ways to find rows; return the rows found, and the column by which they are sorted."""
    order = st.segmented_control(
        "Test rows",
        (*ROW_ORDERS, BY_COLUMN),
        default=ROW_ORDERS[0],
        format_func=str.capitalize,
        required=True,
        wrap=True,
        on_change=_forget,
        **kept("row_order"),
    )
    by, descending = _sorting(flow.run) if order == BY_COLUMN else ("", False)
    if order == "random":
        st.button("Draw others", icon=":material/casino:", on_click=_draw_others)
    text = st.text_input(
        "Search",
        placeholder="a value, or column = value",
        help="Part of a category's name or a number, in any column or in the one named.",
        width=240,
        on_change=_forget,
        **kept("row_search"),
    )
    seed = st.session_state.get(SEED, 0)
    rows, members = rows_of(flow, text.strip()), flow.partition.members(leaf)
    if not by:
        return chosen_rows(rows, order, members, seed), by
    inside = chosen_rows(rows, "as in the table", members)
    return sorted_rows(flow.run, inside, by, descending=descending), by


def _sorting(run: Run) -> tuple[str, bool]:
    """Offer the columns to sort by; return the chosen one, and whether the largest come first."""
    own = [f"{OF_TABLE}{name}" for name in (run.table.roles.label, *_read_first(run))]
    by = st.selectbox(
        "Column",
        [*OWN_COLUMNS, *own],
        format_func=_column_label,
        width=220,
        on_change=_forget,
        **kept("row_column"),
    )
    downwards = st.toggle("Largest first", True, on_change=_forget, **kept("row_descending"))
    return by, downwards


def _column_label(column: str) -> str:
    """Name a column to sort by; of two with one label only the last could be chosen."""
    name = column.removeprefix(OF_TABLE)
    return OWN_COLUMNS.get(column, f"{name} (table)" if name in OWN_COLUMNS.values() else name)


def _page(leaf: int, rows: int) -> int:
    """Return the page of the list that is shown, from 0; another leaf begins with the first."""
    page, turned_for = st.session_state.get(PAGE, (0, leaf))
    return min(page, (rows - 1) // PAGE_ROWS) if turned_for == leaf and rows else 0


def _draw_pager(leaf: int, page: int, rows: int) -> None:
    """Say which rows of a long list are shown, and offer those before and after."""
    first, last = PAGE_ROWS * page, min(PAGE_ROWS * (page + 1), rows)
    for label, other, there in (
        ("Previous rows", page - 1, first > 0),
        ("Next rows", page + 1, last < rows),
    ):
        if rows > PAGE_ROWS:
            st.button(label, disabled=not there, on_click=_turn, args=(leaf, other))
    st.caption(f"{first + 1:,} to {last:,} of {counted(rows, 'row')}", width="content")


def _turn(leaf: int, page: int) -> None:
    _forget()
    st.session_state[PAGE] = page, leaf


def _shown_row(run: Run, leaf: int, listed: pd.DataFrame) -> int | None:
    """Return the row that was clicked or typed for this leaf; otherwise the first of the list."""
    row, chosen_for = st.session_state.get(SHOWN, (None, leaf))
    if row is not None and chosen_for == leaf and row < run.table.rows:
        return row
    return None if listed.empty else int(listed["row"].iloc[0])


def _draw_list(run: Run, listed: pd.DataFrame, leaf: int, by: str) -> None:
    if listed.empty:
        return
    at = listed["row"].to_numpy()
    table, roles = run.table, run.table.roles
    names = sorted(_read_first(run), key=lambda name: f"{OF_TABLE}{name}" != by)[:MOST_COLUMNS]
    own = table.X[names].iloc[at].reset_index(drop=True).add_prefix(OF_TABLE)
    label = table.frame[roles.label].iloc[at].astype(str).to_numpy()
    shown = listed.assign(row=at + 1, label=label).join(own)
    key = "row_list"
    draw_table(
        shown,
        listed_columns(shown),
        key=key,
        height=LIST_HEIGHT,
        on_select=partial(_clicked, key, tuple(at.tolist()), leaf),
        selection_mode="single-row",
    )
    how_to_read(
        "Click a row to explain it. "
        f"'{BY_COLUMN.capitalize()}' sorts all rows, the head of a column only those in sight."
    )


def _read_first(run: Run) -> list[str]:
    """Name the columns of features, those that decide first."""
    read = {each.name for each in run.partition.features}
    if run.choice is not None:
        read |= run.choice.scheme.column_names
    return sorted(run.table.X.columns, key=lambda name: str(name) not in read)


def _explain(flow: Flow, row: int) -> None:
    run = flow.run
    try:
        steps = steps_of(flow, row)
    except HetcalError as error:
        show_error(error)
        return
    first, last = steps["probability"].iloc[0], steps["probability"].iloc[-1]
    label = plain(str(run.table.frame[run.table.roles.label].iloc[row]))
    st.markdown(
        f"**Row {row + 1:,}** (leaf {run.leaf[row]}): {first:.1%} before, **{last:.1%} after**; "
        f"its label is {label}."
    )
    chart(
        waterfall_figure(steps),
        key="row_steps",
        alt=f"Steps from the score of row {row + 1} to its probability after",
        how=WATERFALL_HOW,
    )
    with st.expander("The steps as a table"):
        draw_table(steps, STEPS)


def _clicked(key: str, rows: tuple[int, ...], leaf: int) -> None:
    selected = st.session_state[key]["selection"]["rows"]
    if selected:
        st.session_state[SHOWN] = rows[selected[0]], leaf
    else:
        _forget()


def _typed(leaf: int, number: int) -> None:
    st.session_state[SHOWN] = number - 1, leaf


def _draw_others() -> None:
    st.session_state[SEED] = st.session_state.get(SEED, 0) + 1
    _forget()


def _forget() -> None:
    for name in (SHOWN, PAGE):
        st.session_state.pop(name, None)
