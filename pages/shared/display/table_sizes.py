"""How wide the columns of tables are, and how high their rows, so that no text is cut."""

from math import ceil
from textwrap import wrap
from typing import Any

import pandas as pd
import streamlit as st

Columns = dict[str, Any]

SIGNS = {" ijlI.,:;'|!": 3.3, "frt()[]-_": 4.8, "mwMW": 10.8}
SIGN_WIDTHS = {sign: width for signs, width in SIGNS.items() for sign in signs}  # pixels
OTHER_WIDTH = 7.2  # of any other sign
PADDING = 16  # pixels on both sides of the text in a cell
LINE_HEIGHT = 20
WRAPPED = 65  # pixels: Streamlit breaks lines in rows from this height on
MOST_LINES = 8  # of a text, as far as it is seen without a double click
HEAD_HEIGHT = 38  # pixels, with the frame
SHOWN_ROWS = 10.4  # the part of a row tells that there are more
RULE_WIDTH = 390  # pixels: about three questions of a tree, which is how deep it is by default
WIDE_RULE = 490  # where a table has few other columns


def fitted(columns: Columns, table: pd.DataFrame) -> Columns:
    """Narrow the column of rules where all of them are short."""
    if "rule" not in columns or table.empty:
        return columns
    longest = PADDING + ceil(max(map(_text_width, table["rule"])))
    width = min(columns["rule"]["width"], max(60, longest))
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
