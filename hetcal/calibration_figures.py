"""Figures of the calibration maps, one map of score to probability per leaf."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.columns import counted
from hetcal.figures import MAX_POINTS, NOT_DIMMED, Part, colour, draw, scatter, translucent
from hetcal.leaf_map import LeafMap
from hetcal.map_shapes import Affine

# A 95 % interval is this many standard errors to each side.
NORMAL_95 = 1.96
FEW = 5  # leaves that one hover box describes


def maps_figure(
    pooled: LeafMap,
    maps: Sequence[LeafMap],
    selected: int | None,
    score_range: tuple[float, float],
) -> go.Figure:
    """Draw the calibrated probability against the score, one line per leaf.

    Parameters
    ----------
    pooled : LeafMap
        The map fitted on all leaves together.
    maps : sequence of LeafMap
        The map of each leaf.
    selected : int or None
        The leaf whose map stands out.
    score_range : (float, float)
        The lowest and highest logit drawn.
    """
    scores = np.linspace(*score_range, min(101, MAX_POINTS // (len(maps) + 2)))
    quiet = [each for each in maps if each.leaf != selected]
    quiet_lines = [_quiet_line(each, scores, first=each is quiet[0]) for each in quiet]
    as_it_is = scatter(
        x=scores,
        y=expit(scores),
        name="as the model says",
        mode="lines",
        line={"dash": "dot", "width": 2.5, "color": colour("before")},
        hovertemplate="score %{x:.2f}<br>probability %{y:.3f} as the model says<extra></extra>",
    )
    thick = {"width": 4, "color": colour("selected")}
    chosen = [
        _line(each, scores, f"Leaf {selected}", thick) for each in maps if each.leaf == selected
    ]
    dashed = {"dash": "dash", "width": 2.5, "color": colour("pooled")}
    for_all = _line(pooled, scores, "one map for all rows", dashed)
    return draw(
        [*quiet_lines, as_it_is, *chosen, for_all],
        440,
        x={"title": "score of the model (logit)"},
        y={"title": "calibrated probability", "range": [0, 1]},
    )


def slope_intercept_figure(
    pooled: LeafMap, maps: Sequence[LeafMap], selected: int | None = None
) -> go.Figure:
    """Draw slope against intercept of each leaf with 95 % intervals.

    A leaf without a map of its own has a hollow marker; the model as it is sits
    at slope 1 and intercept 0. Maps that are not straight have no place here.
    """
    maps = [each for each in maps if isinstance(each.shape, Affine)]
    as_it_is = scatter(
        x=[1.0],
        y=[0.0],
        name="as the model says",
        mode="markers",
        marker={"symbol": "x", "size": 12, "color": colour("before")},
        hovertemplate="as the model says: slope 1, intercept 0<extra></extra>",
    )
    own = [each for each in maps if each.fallback is None]
    fallback = [each for each in maps if each.fallback is not None]
    largest = max((each.rows for each in maps), default=1)
    traces: list[Part] = [as_it_is]
    if own:
        traces.append(_own_markers(own, selected, largest))
    if fallback:
        traces.append(_fallback_markers(fallback, selected, largest))
    if isinstance(pooled.shape, Affine):
        traces.append(_pooled_marker(pooled))
    return draw(traces, 440, x={"title": "slope (1: as it is)"}, y={"title": "intercept (logit)"})


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
        f"{_map_words(leaf_map, named)}<extra></extra>",
    )


def _quiet_line(leaf_map: LeafMap, scores: Floats, *, first: bool) -> Part:
    """Draw a leaf that is not selected; one legend entry stands for all of them."""
    thin = {"width": 1.5, "color": translucent("quiet", 0.7)}
    line = _line(leaf_map, scores, "leaves", thin)
    return {**line, "legendgroup": "leaves", "showlegend": first}


def _own_markers(maps: Sequence[LeafMap], selected: int | None, largest: int) -> Part:
    trace = _markers(maps, selected, largest)
    return trace | {
        "name": "leaf, 95 % interval",
        "marker": trace["marker"] | {"color": translucent("after", 0.75)},
        "error_x": _interval([each.slope_se for each in maps]),
        "error_y": _interval([each.intercept_se for each in maps]),
    }


def _fallback_markers(maps: Sequence[LeafMap], selected: int | None, largest: int) -> Part:
    """Draw hollow markers; all lie on the pooled map, so they share one label and hover box."""
    trace = _markers(maps, selected, largest)
    together = "<br>".join(_map_words(each) for each in maps[:FEW])
    more = ", …" if len(maps) > FEW else ""
    return trace | {
        "name": "leaf that uses the map for all rows",
        "text": [", ".join(trace["text"][:FEW]) + more, *[""] * (len(maps) - 1)],
        "hovertext": [together + more] * len(maps),
        "marker": trace["marker"] | {"color": "rgba(0,0,0,0)", "size": 22},
    }


def _markers(maps: Sequence[LeafMap], selected: int | None, largest: int) -> dict[str, Any]:
    chosen = [each.leaf == selected for each in maps]
    return scatter(
        x=[each.slope for each in maps],
        y=[each.intercept for each in maps],
        mode="markers+text",
        text=[f"<b>{each.leaf}</b>" if each.leaf == selected else str(each.leaf) for each in maps],
        textposition="top right",
        customdata=[each.leaf for each in maps],
        hovertext=[_map_words(each) for each in maps],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "size": [8 + 16 * (each.rows / max(largest, 1)) ** 0.5 for each in maps],
            "line": {
                "width": [4 if is_chosen else 1.5 for is_chosen in chosen],
                "color": [colour("selected" if is_chosen else "after") for is_chosen in chosen],
            },
        },
        **NOT_DIMMED,
    )


def _pooled_marker(pooled: LeafMap) -> Part:
    return scatter(
        x=[pooled.slope],
        y=[pooled.intercept],
        name="one map for all rows",
        mode="markers",
        marker={"symbol": "diamond", "size": 13, "color": colour("pooled")},
        error_x=_interval([pooled.slope_se]),
        error_y=_interval([pooled.intercept_se]),
        hovertext=[_map_words(pooled, "One map for all rows")],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _interval(standard_errors: Sequence[float]) -> Part:
    return {"array": [NORMAL_95 * each for each in standard_errors], "width": 0, "thickness": 1.2}


def _map_words(leaf_map: LeafMap, name: str | None = None) -> str:
    words = (
        f"<b>{name or f'Leaf {leaf_map.leaf}'}</b><br>"
        f"n = {counted(leaf_map.rows, 'calibration row')}"
        f"<br>{_shape_words(leaf_map)}"
    )
    if leaf_map.fallback is not None:
        words += f"<br>uses the map for all rows: {leaf_map.fallback}"
    return words


def _shape_words(leaf_map: LeafMap) -> str:
    if isinstance(leaf_map.shape, Affine):
        return f"slope {leaf_map.slope:.3f}, intercept {leaf_map.intercept:+.3f}"
    return leaf_map.shape.words
