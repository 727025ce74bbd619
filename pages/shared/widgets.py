"""Controls that several pages share, above all the choice of a leaf."""

import math
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from hetcal.partition import Partition
from pages.shared.messages import plain
from pages.shared.state import ALL_ROWS, choose_leaf, leaf_choice, workspace

ROLE_NAMES = {"train": "train", "validation": "valid.", "calibration": "calib.", "test": "test"}


def leaf_picker(partition: Partition) -> int:
    """Offer the leaves in the sidebar; return the chosen one, 0 for all rows."""
    rules = {leaf.id: leaf.rule for leaf in partition.leaves}
    if workspace().leaf not in rules:
        choose_leaf(ALL_ROWS)
    with st.sidebar:
        st.divider()
        st.selectbox(
            "Leaf shown on every page",
            [ALL_ROWS, *rules],
            format_func=leaf_name,
            help="Or click a leaf in a picture, or a row of a leaf table.",
            **leaf_choice(),
        )
        leaf = workspace().leaf
        if leaf != ALL_ROWS:
            st.caption(plain(rules[leaf]))
    return leaf


def leaf_name(leaf: int) -> str:
    """Name a leaf as every page does."""
    return "All rows" if leaf == ALL_ROWS else f"Leaf {leaf}"


def shown(value: float, form: str) -> str:
    """Write a number, or a dash where it is not defined."""
    return "–" if math.isnan(value) else format(value, form)


def clickable_figure(figure: go.Figure, key: str, alt: str) -> None:
    """Draw a figure in which a click on a leaf chooses it."""
    st.plotly_chart(
        figure, key=key, on_select=partial(_figure_clicked, key), selection_mode="points", alt=alt
    )


def leaf_rows(table: pd.DataFrame, key: str, columns: dict[str, Any]) -> None:
    """Draw a table with one row per leaf, in which a click on a row chooses it."""
    rates = [name for name in table.columns if name.startswith("rate_")]
    st.dataframe(
        table.style.format("{:.1%}", subset=rates, na_rep="–") if rates else table,
        key=key,
        hide_index=True,
        column_order=list(columns),
        column_config=columns,
        on_select=partial(_row_clicked, key, tuple(table["leaf"])),
        selection_mode="single-row",
    )


def role_columns() -> dict[str, Any]:
    """Describe the columns `rows_<role>` and `rate_<role>` of a leaf table."""
    number = st.column_config.NumberColumn
    return {
        f"{kind}_{role}": number(f"{name} {'n' if kind == 'rows' else '%'}", width=62, format=form)
        for role, name in ROLE_NAMES.items()
        for kind, form in (("rows", "localized"), ("rate", None))
    }


def _figure_clicked(key: str) -> None:
    points = st.session_state[key]["selection"]["points"]
    leaf = _leaf_of(points[0]) if points else ALL_ROWS
    choose_leaf(leaf)


def _leaf_of(point: dict[str, Any]) -> int:
    data = point.get("customdata", ALL_ROWS)
    if isinstance(data, dict):
        data = data["0"]
    return int(data[0] if isinstance(data, list | tuple) else data)


def _row_clicked(key: str, leaves: tuple[int, ...]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    choose_leaf(int(leaves[rows[0]]) if rows else ALL_ROWS)
