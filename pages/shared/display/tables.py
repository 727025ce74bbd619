"""Tables whose columns are wide enough, and whose rows are high enough, that no text is cut."""

from collections.abc import Collection
from functools import partial
from math import ceil
from textwrap import wrap
from typing import Any

import pandas as pd
import streamlit as st

from hetcal.figures.base import translucent
from hetcal.results.words import p_in_words
from pages.shared.display.columns import NO_SCORE, WIDE_RULE, Columns, scored_columns
from pages.shared.display.widgets import DASH, how_to_read
from pages.shared.state import ALL_ROWS, update

HEAD_ROWS = 8  # of a table that is too long to be shown

SIGNS = {" ijlI.,:;'|!": 3.3, "frt()[]-_": 4.8, "mwMW": 10.8}
SIGN_WIDTHS = {sign: width for signs, width in SIGNS.items() for sign in signs}  # pixels
OTHER_WIDTH = 7.2  # of any other sign
PADDING = 16  # pixels on both sides of the text in a cell
LINE_HEIGHT = 20
WRAPPED = 65  # pixels: Streamlit breaks lines in rows from this height on
RULE_LINES = 3  # of the longest rule, above which its column is wide
MOST_LINES = 8  # of a text, as far as it is seen without a double click
HEAD_HEIGHT = 38  # pixels, with the frame
SHOWN_ROWS = 10.4  # the part of a row shows that there are more


def draw_table(
    table: pd.DataFrame,
    columns: Columns | None = None,
    undefined: str = "",
    marked: Collection[int] = (),
    **options: Any,
) -> None:
    """Draw a table or some of its columns; `undefined` says why a number can be missing.

    Columns named after rates are written in percent, and a p-value is never 0. The rows of the
    `marked` leaves are shaded.
    """
    order = list(table) if columns is None else [name for name in columns if name in table]
    columns = None if columns is None else fitted(columns, table)
    written = {name: "{:.1%}" for name in order if name.startswith("rate_")}
    written |= {name: p_in_words for name in order if name == "p" or name.startswith("p_")}
    st.dataframe(
        _styled(table, written, marked),
        hide_index=True,
        placeholder=DASH,
        column_order=order,
        column_config=columns,
        **heights(columns or {}, table),
        **options,
    )
    if undefined and table[order].isna().any(axis=None):
        st.caption(f"{DASH} {undefined}")


def _styled(table: pd.DataFrame, written: dict[str, Any], marked: Collection[int]) -> Any:
    if not written and not marked:
        return table
    styled = table.style.format(written, na_rep=DASH)
    shade = f"background-color: {translucent('selected', 0.2)}"

    def shaded(row: pd.Series) -> list[str]:
        return [shade if row["leaf"] in marked else ""] * len(row)

    return styled.apply(shaded, axis=1) if marked else styled


def scored_head(scored: pd.DataFrame) -> None:
    """Draw the first scored rows, and say what their columns hold."""
    draw_table(scored.head(HEAD_ROWS), scored_columns(scored), NO_SCORE)
    if "score" in scored:
        how_to_read("Score: the logit. Before and after: the probability of a positive label.")
    else:
        how_to_read(
            "Before and after: the probability of each class. Top: the most probable class."
        )


def leaf_rows(
    table: pd.DataFrame,
    key: str,
    columns: Columns,
    chosen: Collection[int],
    undefined: str = "",
) -> None:
    """Draw a table with one row per leaf, in which a click on a row chooses it.

    The `chosen` leaves are shaded, and one that is chosen alone is ticked; none is all rows.
    """
    ticked = tuple(chosen) or (ALL_ROWS,)
    leaves = table["leaf"].tolist()
    rows = [leaves.index(ticked[0])] if len(ticked) == 1 and ticked[0] in leaves else []
    st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    draw_table(
        table,
        columns,
        undefined,
        marked=chosen,
        key=key,
        on_select=partial(_clicked, key, tuple(table["leaf"])),
        selection_mode="single-row",
    )


def _clicked(key: str, leaves: tuple[int, ...]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    update(leaf=int(leaves[rows[0]]) if rows else ALL_ROWS)


def fitted(columns: Columns, table: pd.DataFrame) -> Columns:
    """Narrow the column of rules where all of them are short, and widen it for very long ones."""
    if "rule" not in columns or table.empty:
        return columns
    longest, width = max(table["rule"], key=_text_width), columns["rule"]["width"]
    if _lines_of(longest, width - PADDING) > RULE_LINES:
        width = max(width, WIDE_RULE)
    width = min(width, max(60, PADDING + ceil(_text_width(longest))))
    return columns | {"rule": st.column_config.TextColumn("rule", width=width)}


def heights(columns: Columns, table: pd.DataFrame) -> dict[str, int]:
    """Return the heights of a table and of its rows, where long texts take more than one line.

    It shows as many rows without scrolling as a table does whose texts are short.
    """
    lines = _lines(columns, table)
    if lines <= 1:
        return {}
    row = max(WRAPPED, PADDING + LINE_HEIGHT * min(lines, MOST_LINES))
    return {"row_height": row, "height": HEAD_HEIGHT + int(row * min(len(table), SHOWN_ROWS))}


def _lines(columns: Columns, table: pd.DataFrame) -> int:
    """Return the number of lines of the longest text in a column whose width is given."""
    widths = {name: column["width"] for name, column in columns.items() if name in table}
    return max(
        (
            _lines_of(text, width - PADDING)
            for name, width in widths.items()
            if isinstance(width, int) and pd.api.types.is_string_dtype(table[name])
            for text in table[name].dropna()
        ),
        default=1,
    )


def _lines_of(text: str, room: int) -> int:
    width = _text_width(text)
    return 1 if width <= room else len(wrap(text, int(len(text) * room / width)))


def _text_width(text: str) -> float:
    return sum(SIGN_WIDTHS.get(sign, OTHER_WIDTH) for sign in text)
