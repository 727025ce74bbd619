"""The figure of the calibration maps: probability against score, leaf by leaf."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.columns import counted
from hetcal.figures import MAX_POINTS, Part, colour, draw, scatter, translucent
from hetcal.leaf_map import LeafMap
from hetcal.map_shapes import Line


def maps_figure(
    pooled: LeafMap,
    maps: Sequence[LeafMap],
    selected: int | None,
    score_range: tuple[float, float],
) -> go.Figure:
    """Draw the calibrated probability against the score from the lowest to the highest logit.

    There is a line for the pooled map and for each leaf; that of the selected leaf stands out.
    """
    scores = np.linspace(*score_range, min(101, MAX_POINTS // (len(maps) + 2)))
    quiet = [each for each in maps if each.leaf != selected]
    quiet_lines = [_quiet_line(each, scores, first=each is quiet[0]) for each in quiet]
    uncalibrated = scatter(
        x=scores,
        y=expit(scores),
        name="uncalibrated",
        mode="lines",
        line={"dash": "dot", "width": 2.5, "color": colour("before")},
        hovertemplate="score %{x:.2f}<br>probability %{y:.3f}, uncalibrated<extra></extra>",
    )
    thick = {"width": 4, "color": colour("selected")}
    chosen = [
        _line(each, scores, f"Leaf {selected}", thick) for each in maps if each.leaf == selected
    ]
    dashed = {"dash": "dash", "width": 2.5, "color": colour("pooled")}
    for_all = _line(pooled, scores, "pooled map", dashed)
    return draw(
        [*quiet_lines, uncalibrated, *chosen, for_all],
        440,
        x={"title": "score of the model (logit)"},
        y={"title": "calibrated probability", "range": [0, 1]},
    )


def _line(leaf_map: LeafMap, scores: Floats, name: str, line: Part) -> Part:
    named = None if leaf_map.leaf else name
    return scatter(
        x=scores,
        y=expit(leaf_map.logit(scores)),
        name=name,
        mode="lines",
        line=line,
        customdata=[leaf_map.leaf] * len(scores),
        hovertemplate="score %{x:.2f}<br>probability %{y:.3f}<br>"
        f"{map_words(leaf_map, named)}<extra></extra>",
    )


def _quiet_line(leaf_map: LeafMap, scores: Floats, *, first: bool) -> Part:
    """Draw a leaf that is not selected; one legend entry stands for all of them."""
    thin = {"width": 1.5, "color": translucent("quiet", 0.7)}
    line = _line(leaf_map, scores, "leaves", thin)
    return {**line, "legendgroup": "leaves", "showlegend": first}


def map_words(leaf_map: LeafMap, name: str | None = None) -> str:
    """Describe the map of a leaf in a hover box."""
    words = (
        f"<b>{name or f'Leaf {leaf_map.leaf}'}</b><br>"
        f"n = {counted(leaf_map.rows, 'calibration row')}"
        f"<br>{_shape_words(leaf_map)}"
    )
    if leaf_map.fallback is not None:
        words += f"<br>uses the pooled map: {leaf_map.fallback}"
    return words


def _shape_words(leaf_map: LeafMap) -> str:
    if isinstance(leaf_map.shape, Line):
        return f"slope {leaf_map.slope:.3f}, intercept {leaf_map.intercept:+.3f}"
    return leaf_map.shape.words
