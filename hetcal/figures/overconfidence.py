"""The figure of over-confidence: train and test AUC of each leaf."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.data.columns import counted
from hetcal.figures.base import (
    Part,
    colour,
    draw,
    leaf_marks,
    leaf_name,
    names_axis,
    scatter,
    translucent,
    wrapped_text,
)

ROLES = ("train", "test")


def overconfidence_figure(diagnosis: pd.DataFrame, selected: int | None = None) -> go.Figure:
    """Draw train and test AUC of all rows, then of each leaf, the most over-confident first.

    `diagnosis` is what `hetcal.results.overconfidence.diagnose` returns; the name of the selected
    leaf is bold.
    """
    ranked = diagnosis.sort_values("rank")
    words = [_diagnosis_words(row) for row in ranked.itertuples()]
    marks = [
        scatter(
            x=ranked[f"auc_{role}"].tolist(),
            y=list(range(len(ranked))),
            name=f"{role} AUC",
            mode="markers",
            marker={
                "symbol": "circle-open" if role == "train" else "circle",
                "size": 13,
                "color": colour(role),
                "line": {"width": 3 if role == "train" else 0},
            },
            **leaf_marks(ranked["leaf"].tolist(), words),
        )
        for role in ROLES
    ]
    names = [leaf_name(leaf, leaf == selected) for leaf in ranked["leaf"]]
    height = 100 + 30 * len(ranked)
    return draw([_gap_lines(ranked), *marks], height, x={"title": "AUC"}, y=names_axis(names))


def _gap_lines(ranked: pd.DataFrame) -> Part:
    """Join train and test AUC of each leaf."""
    areas = ranked[["auc_train", "auc_test"]].to_numpy().tolist()
    x = [each for pair in areas for each in (*pair, None)]
    y = [each for place in range(len(areas)) for each in (place, place, None)]
    return scatter(
        x=x,
        y=y,
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
        line={"width": 3, "color": translucent("quiet", 0.6)},
    )


def _diagnosis_words(row: Any) -> str:
    return (
        f"{leaf_name(row.leaf, chosen=True)}<br>{wrapped_text(row.sentence)}"
        f"<br>n = {counted(row.rows_train, 'train row')}, {counted(row.rows_test, 'test row')}"
    )
