"""Newer rows against what the maps expect of them."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.figures.base import (
    NO_NAMES,
    axis_name,
    colour,
    draw,
    joining_lines,
    leaf_marks,
    leaf_name,
    names_axis,
    scatter,
)


def watch_figure(
    leaves: pd.DataFrame, changed: Collection[int] = (), names: Mapping[int, str] = NO_NAMES
) -> go.Figure:
    """Draw mean probability and share of positive labels of all rows, then of each leaf.

    `leaves` is that of `hetcal.watch.check.Labelled`; the names of changed leaves are bold.
    """
    shown = leaves[leaves["rows"] > 0]
    words = [_words(row) for row in shown.itertuples()]
    places = list(range(len(shown)))
    marks = [
        scatter(
            x=shown[column].tolist(),
            y=places,
            name=name,
            mode="markers",
            marker={
                "symbol": "circle-open" if column == "expected" else "circle",
                "size": 13,
                "color": colour(ink),
                "line": {"width": 3 if column == "expected" else 0},
            },
            **leaf_marks(shown["leaf"].tolist(), words),
        )
        for column, name, ink in (
            ("expected", "expected (mean probability after)", "after"),
            ("rate", "positive labels", "positive"),
        )
    ]
    labels = [axis_name(leaf, leaf in changed, names) for leaf in shown["leaf"]]
    x = {"title": "share of newer rows", "tickformat": ".0%"}
    gaps = joining_lines(shown[["expected", "rate"]].to_numpy().tolist())
    return draw([gaps, *marks], 100 + 30 * len(shown), x=x, y=names_axis(labels))


def _words(row: Any) -> str:
    return (
        f"{leaf_name(row.leaf, chosen=True)}: {row.status}<br>{row.rate:.1%} of {row.rows:,} "
        f"labels are positive, {row.expected:.1%} were expected<br>on the test rows "
        f"{row.rate_reference:.1%}, {row.expected_reference:.1%} expected"
    )
