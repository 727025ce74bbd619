"""Figures of the paper's Section 3, and the same question asked of a run."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.figures.base import Panels, Part, colour, draw, on_hover, scatter, translucent

LABELS = ("negative", "positive")
REACH = 9.0  # of the logit that is drawn


def bells_figure(densities: pd.DataFrame, height: int = 430) -> go.Figure:
    """Draw the logits of both labels in both leaves: truth filled, train rows as lines.

    `densities` is what `hetcal.results.example.leaf_densities` returns.
    """
    panels = Panels(2, below=60 / height)
    traces = [
        {**_bell(part, label, rows, first=leaf == 1), **panels.axes_of(1 - leaf)}
        for (leaf, label, rows), part in densities.groupby(["leaf", "label", "rows"])
    ]
    titles = [
        panels.title(place, f"Leaf x = {1 - place}", 13, left=True) for place in range(panels.count)
    ]
    axes = panels.axes(
        {"title": "score of the network (logit)", "range": [-REACH, REACH]},
        {"title": "density", "range": [0, 1.1 * float(densities["density"].max())]},
        same_heights=True,
    )
    return draw(traces, height, title_lines=2, annotations=titles, **axes)


def _bell(part: pd.DataFrame, label: int, rows: str, first: bool) -> Part:
    name = LABELS[label]
    truth = rows == "truth"
    words = [
        f"{name} label, {'new rows' if truth else 'train rows'}<br>logit {x:+.2f}, density {y:.3f}"
        for x, y in zip(part["logit"], part["density"], strict=True)
    ]
    style: dict[str, Any] = {"fill": "tozeroy", "fillcolor": translucent(name, 0.35)}
    return scatter(
        x=part["logit"].tolist(),
        y=part["density"].tolist(),
        name=f"{name}, {'new rows' if truth else 'train rows'}",
        mode="lines",
        line={"color": colour(name), "width": 1 if truth else 2, "dash": None if truth else "dot"},
        showlegend=first,
        **(style if truth else {}),
        **on_hover(words),
    )


def weight_figure(
    areas: pd.DataFrame,
    marks: Sequence[tuple[str, str, float, float]],
    title: str,
    height: int = 380,
) -> go.Figure:
    """Draw the AUC against a weight.

    Parameters
    ----------
    areas : DataFrame
        `weight`, and a column of AUCs for each curve, called by its name, which gives its colour;
        that of train rows is a dotted line.
    marks : sequence of (name, thing, weight, AUC)
        Points, in the colour of a thing, with their names beside them: that of the last above.
    title : str
        What the weight is of.
    height : int, default=380
        In pixels.
    """
    weights = areas["weight"].tolist()
    curves = [
        scatter(
            x=weights,
            y=areas[name].tolist(),
            name=name,
            mode="lines",
            line={"color": colour(name), "dash": "dot" if name == "train rows" else None},
            **on_hover([_at(name, *each) for each in zip(weights, areas[name], strict=True)]),
        )
        for name in areas.columns.drop("weight")
    ]
    points = [
        scatter(
            x=[x],
            y=[y],
            name=name,
            mode="markers+text",
            text=[name],
            textposition=_beside(share, above=len(marks) > 1 and name == marks[-1][0]),
            showlegend=False,
            marker={
                "size": 13,
                "color": colour(thing),
                "symbol": "circle" if thing in ("before", "after") else "circle-open",
                "line": {"width": 3},
            },
            **on_hover([_at(name, x, y)]),
        )
        for name, thing, x, y in marks
        for share in [(x - weights[0]) / (weights[-1] - weights[0])]
    ]
    axes = {"x": {"title": title}, "y": {"title": "AUC"}}
    return draw([*curves, *points], height, title_lines=1, **axes)


def _beside(share: float, *, above: bool) -> str:
    """Place a name beside a mark that is this share of the way to the right, off a rising curve."""
    if above:
        return "top left" if share > 0.1 else "top right"
    return "bottom right" if share < 0.7 else "bottom left"


def _at(name: str, weight: float, area: float) -> str:
    return f"{name}<br>weight {weight:.2f}, AUC {area:.4f}"
