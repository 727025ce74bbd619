"""Controls that several pages share, above all the choice of a leaf."""

import math
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from hetcal.cells.sketch import SKETCHED
from hetcal.partitions.partition import Partition
from hetcal.results.words import DEFINITIONS, p_in_words
from pages.shared.display.messages import plain, unbroken
from pages.shared.display.table_sizes import Columns, fitted, heights
from pages.shared.display.tables import NO_SCORE, scored_columns
from pages.shared.state import ALL_ROWS, choice, choose_leaf, leaf_choice, update, workspace

HEAD_ROWS = 8  # of a table that is too long to be shown
DASH = "–"
"""Stands for a number that is not defined."""


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


def class_picker(classes: tuple[str, ...]) -> None:
    """Offer the classes in the sidebar, if any; pages show the chosen one against all others."""
    if not classes:
        return
    if workspace().class_shown not in classes:
        update(class_shown=classes[0])
    with st.sidebar:
        st.divider()
        st.selectbox(
            "Class shown on every page",
            classes,
            help="Pages show one class against all others; Results begins with all classes "
            "together.",
            **choice("class_shown"),
        )


def leaf_name(leaf: int) -> str:
    """Name a leaf as every page does."""
    return "All rows" if leaf == ALL_ROWS else f"Leaf {leaf}"


def shown(value: float, form: str) -> str:
    """Write a number, or a dash where it is not defined."""
    return DASH if math.isnan(value) else format(value, form)


def one_of(label: str, options: tuple[str, ...], key: str) -> str:
    """Offer a few ways to draw; the choice lasts across pages."""
    return st.segmented_control(
        label, options, default=options[0], required=True, key=key, persist_state="session"
    )


def cards(*numbers: tuple[str, str] | tuple[str, str, str]) -> None:
    """Draw numbers side by side: label, value and, where a word needs it, an explanation."""
    with st.container(horizontal=True):  # unlike columns, it wraps before a number is cut off
        for label, value, *more in numbers:
            st.metric(label, value, help=more[0] if more else None, border=True, height="stretch")


def definitions(*terms: str) -> None:
    """Offer what the numbers of a page mean, one click away."""
    with st.popover("What the numbers mean", icon=":material/menu_book:"):
        for term in terms:
            st.markdown(f"**{term}.** {DEFINITIONS[term]}")


def say_computed_on(told: str) -> None:
    """Say what the numbers were computed on; in place of a sketch all rows can be had."""
    st.caption(plain(told))
    if told == SKETCHED or workspace().all_rows:
        st.toggle(
            "Compute on all rows",
            help="Gives exact numbers. Every change of the maps then takes several seconds for a "
            "million test rows.",
            **choice("all_rows"),
        )


def chart(figure: go.Figure, key: str, alt: str, how: str) -> None:
    """Draw a figure, with a text for those who cannot see it and one line on how to read it."""
    st.plotly_chart(figure, key=key, alt=alt)
    how_to_read(how)


def leaf_chart(figure: go.Figure, key: str, alt: str, how: str) -> None:
    """Draw a figure in which a click on a leaf chooses it."""
    clicked = partial(_figure_clicked, key)
    st.plotly_chart(figure, key=key, on_select=clicked, selection_mode="points", alt=alt)
    how_to_read(f"{how} Click a leaf to choose it.")


def how_to_read(text: str) -> None:
    """Add the one line that says how to read what stands above it."""
    st.caption(f":material/lightbulb: {unbroken(text)}")


def draw_table(
    table: pd.DataFrame, columns: Columns | None = None, undefined: str = "", **options: Any
) -> None:
    """Draw a table; what is not defined is a dash, and one line says why.

    Parameters
    ----------
    table : DataFrame
        Columns that are named after rates are written in percent, and p-values are never 0.
    columns : dict, optional
        The columns to draw, and how.
    undefined : str
        Why a number can be missing.
    options
        For `st.dataframe`.
    """
    order = list(table) if columns is None else [name for name in columns if name in table]
    columns = None if columns is None else fitted(columns, table)
    written = {name: "{:.1%}" for name in order if name.startswith("rate_")}
    written |= {name: p_in_words for name in order if name == "p"}
    st.dataframe(
        table.style.format(written, na_rep=DASH) if written else table,
        hide_index=True,
        placeholder=DASH,
        column_order=order,
        column_config=columns,
        **heights(columns or {}, table),
        **options,
    )
    if undefined and table[order].isna().any(axis=None):
        st.caption(f"{DASH} {undefined}")


def scored_head(scored: pd.DataFrame) -> None:
    """Draw the first scored rows, and say what their columns hold."""
    draw_table(scored.head(HEAD_ROWS), scored_columns(scored), NO_SCORE)
    if "score" in scored:
        how_to_read("Score: the logit. Before and after: the probability of a positive label.")
    else:
        how_to_read(
            "Before and after: the probability of each class. Top: the most probable class."
        )


def leaf_rows(table: pd.DataFrame, key: str, columns: Columns, undefined: str = "") -> None:
    """Draw a table with one row per leaf, in which a click on a row chooses it."""
    draw_table(
        table,
        columns,
        undefined,
        key=key,
        on_select=partial(_row_clicked, key, tuple(table["leaf"])),
        selection_mode="single-row",
    )


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
