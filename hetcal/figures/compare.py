"""Finished runs on one picture."""

import plotly.graph_objects as go

from hetcal.figures.base import PALETTE, Part, colour, draw, number, scatter, short_text
from hetcal.metrics.curves import RocCurve
from hetcal.results.compare import RunComparison

# Colours of runs, in their order; blue is the score before.
COLOURS = tuple(PALETTE[name] for name in ("after", "pooled", "tree", "positive", "negative"))
DASHES = ("solid", "dash", "dashdot")  # when all colours are used
LONGEST = 32  # characters of the name of a run


def compare_figure(comparison: RunComparison) -> go.Figure:
    """Draw the ROC curves of all runs, and dotted those of the score before calibration.

    A score before that all runs have is drawn once, in its own colour; else each has the colour of
    its run.
    """
    once = len(comparison.before) < len(comparison.curves)
    before = [
        _curve(curve, colour("before") if once else _colour(place), "dot", 1.5)
        for place, curve in enumerate(comparison.before)
    ]
    after = [
        _curve(curve, _colour(place), DASHES[place // len(COLOURS) % len(DASHES)], 2.5)
        for place, curve in enumerate(comparison.curves)
    ]
    random = scatter(
        x=[0, 1],
        y=[0, 1],
        name="random ranking",
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"dash": "dot", "width": 1.5, "color": colour("quiet")},
    )
    of_class = ""
    if comparison.shown is not None:
        of_class = f" of '{short_text(comparison.shown, LONGEST)}' against all others"
    return draw(
        [random, *before, *after],
        460,
        x={"title": f"false positive rate{of_class}", "range": [0, 1]},
        y={"title": "true positive rate", "range": [0, 1.005]},
    )


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _curve(curve: RocCurve, line_colour: str, dash: str, width: float) -> Part:
    name = short_text(curve.name, LONGEST)
    return scatter(
        x=curve.false_positive_rate,
        y=curve.true_positive_rate,
        customdata=curve.threshold,
        name=f"{name} · AUC {number(curve.auc)}",
        mode="lines",
        line={"width": width, "dash": dash, "color": line_colour},
        hovertemplate="threshold T %{customdata:.4f}<br>true positive rate %{y:.3f}<br>"
        f"false positive rate %{{x:.3f}}<br>n = {curve.rows:,}<extra>{name}</extra>",
    )
