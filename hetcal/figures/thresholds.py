"""What a threshold costs, before and after."""

from collections.abc import Sequence

import plotly.graph_objects as go

from hetcal.data.columns import counted
from hetcal.figures.base import Part, colour, draw, number, on_hover, scatter
from hetcal.metrics.thresholds import CostCurve

COST_HOW = (
    "Lower is better. Diamonds: the cheapest thresholds of these rows; dotted line: the threshold "
    "that you chose."
)


def cost_figure(curves: Sequence[CostCurve], threshold: float) -> go.Figure:
    """Draw the mean cost of a row against the threshold; a curve's name gives its colour."""
    line = {"dash": "dot", "width": 1.5, "color": colour("quiet")}
    ends = {"x0": threshold, "x1": threshold, "y0": 0, "y1": 1, "yref": "y domain"}
    return draw(
        [*map(_line, curves), *map(_cheapest, curves)],
        360,
        x={"title": "threshold (probability)", "range": [0, 1]},
        y={"title": "expected cost of a row", "rangemode": "tozero"},
        shapes=[{"type": "line", **ends, "line": line}],
    )


def _line(curve: CostCurve) -> Part:
    return scatter(
        x=curve.threshold,
        y=curve.cost,
        name=curve.name,
        mode="lines",
        line={"width": 2.5, "color": colour(curve.name)},
        hovertemplate="threshold %{x:.3f}<br>cost of a row %{y:.4f}<br>"
        f"n = {counted(curve.rows, 'test row')}<extra>{curve.name}</extra>",
    )


def _cheapest(curve: CostCurve) -> Part:
    words = (
        f"{curve.name}: cheapest at {curve.cheapest:.3f}<br>cost of a row {number(curve.lowest)}"
        f"<br>n = {counted(curve.rows, 'test row')}"
    )
    return scatter(
        x=[curve.cheapest],
        y=[curve.lowest],
        mode="markers",
        showlegend=False,
        marker={
            "symbol": "diamond",
            "size": 13,
            "color": colour(curve.name),
            "line": {"width": 2, "color": "white"},
        },
        **on_hover([words]),
    )
