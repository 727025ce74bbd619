"""The figure of over-confidence: what each leaf loses between train and test."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.columns import counted
from hetcal.figures import (
    NOT_DIMMED,
    Part,
    colour,
    draw,
    leaf_name,
    scatter,
    translucent,
    wrapped_text,
)

ROLES = ("train", "test")


def overconfidence_figure(diagnosis: pd.DataFrame, selected: int | None = None) -> go.Figure:
    """Draw train and test AUC of all rows, then of each leaf, the most over-confident first.

    Parameters
    ----------
    diagnosis : DataFrame
        The table of `hetcal.overconfidence.diagnose`: `leaf` (0 for all rows),
        `rows_train`, `rows_test`, `auc_train`, `auc_test`, `rank`, `sentence`.
    selected : int or None
        The leaf whose name stands out.
    """
    ranked = diagnosis.sort_values("rank")
    places = list(range(len(ranked)))
    words = [_diagnosis_words(row) for row in ranked.itertuples()]
    marks = [
        scatter(
            x=ranked[f"auc_{role}"].tolist(),
            y=places,
            name=f"{role} AUC",
            mode="markers",
            customdata=ranked["leaf"].tolist(),
            hovertext=words,
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "symbol": "circle-open" if role == "train" else "circle",
                "size": 13,
                "color": colour(role),
                "line": {"width": 3 if role == "train" else 0},
            },
            **NOT_DIMMED,
        )
        for role in ROLES
    ]
    names = [leaf_name(leaf, leaf == selected) for leaf in ranked["leaf"]]
    rows = {"tickvals": places, "ticktext": names, "range": [len(places) - 0.4, -0.6]}
    return draw(
        [_gap_lines(ranked), *marks],
        100 + 30 * len(ranked),
        x={"title": "AUC"},
        y={**rows, "showgrid": False},
    )


def _gap_lines(ranked: pd.DataFrame) -> Part:
    """Join train and test AUC of each leaf."""
    x: list[float | None] = []
    y: list[float | None] = []
    for place, areas in enumerate(ranked[["auc_train", "auc_test"]].to_numpy().tolist()):
        x += [*areas, None]
        y += [place, place, None]
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
