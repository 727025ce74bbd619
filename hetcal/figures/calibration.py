"""Figures of the maps: probability against score, and slope against intercept of each leaf."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.special import expit

from hetcal.arrays import Bools, Floats
from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.calibrators.shapes import Line
from hetcal.data.columns import counted
from hetcal.figures.base import (
    MAX_POINTS,
    Part,
    colour,
    draw,
    leaf_marks,
    on_hover,
    scatter,
    translucent,
)
from hetcal.results.plane import REACH, ellipse


def maps_figure(
    pooled: LeafMap,
    maps: Sequence[LeafMap],
    selected: Collection[int],
    score_range: tuple[float, float],
) -> go.Figure:
    """Draw the calibrated probability against the score from the lowest to the highest logit.

    There is a line for the pooled map and for each leaf; those of selected leaves stand
    out.
    """
    scores = np.linspace(*score_range, min(101, MAX_POINTS // (len(maps) + 2)))
    quiet = [each for each in maps if each.leaf not in selected]
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
    marked = [each for each in maps if each.leaf in selected]
    name = f"Leaf {marked[0].leaf}" if len(marked) == 1 else "chosen leaves"
    chosen = [
        {**_line(each, scores, name, thick), "showlegend": each is marked[0]} for each in marked
    ]
    dashed = {"dash": "dash", "width": 2.5, "color": colour("pooled")}
    for_all = _line(pooled, scores, "pooled map", dashed)
    return draw(
        [*quiet_lines, uncalibrated, *chosen, for_all],
        440,
        x={"title": "score of the model (logit)"},
        y={"title": "calibrated probability", "range": [0, 1]},
        margin={"t": 50},
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
    """Draw a leaf that is not selected; all of them share one legend entry."""
    thin = {"width": 1.5, "color": translucent("quiet", 0.7)}
    line = _line(leaf_map, scores, "leaves", thin)
    return {**line, "legendgroup": "leaves", "showlegend": first}


def map_words(leaf_map: LeafMap, name: str | None = None) -> str:
    """Describe the map of a leaf in a hover box."""
    shape = f"slope {leaf_map.slope:.3f}, intercept {leaf_map.intercept:+.3f}"
    if not isinstance(leaf_map.shape, Line):
        shape = leaf_map.shape.words
    of_scheme = isinstance(leaf_map.shape, Line) and math.isnan(leaf_map.slope_se)
    # Maps of a scheme are fitted on more than calibration rows.
    n = "" if of_scheme else f"n = {counted(leaf_map.rows, 'calibration row')}<br>"
    words = f"<b>{name or f'Leaf {leaf_map.leaf}'}</b><br>{n}{shape}"
    if leaf_map.fallback is not None:
        words += f"<br>pooled slope: {leaf_map.fallback}"
    return words


Range = tuple[float, float]
PLACES = {
    "top right": (1, -1),
    "bottom right": (1, 1),
    "top left": (-1, -1),
    "bottom left": (-1, 1),
    "top center": (0, -1),
    "bottom center": (0, 1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
}
"""Plotly's names of the places around a marker, and where they are; y grows downwards."""

FRAMES = ((420.0, 310.0), (280.0, 250.0))
"""Pixels between the axes: in a wide and in a narrow window."""

SIGN_WIDTH, LINE_HEIGHT = 7.5, 13.0  # pixels of a label's text


@dataclass(frozen=True)
class Mark:
    """A marker: its place, diameter in pixels, half the lengths of its bars, and its label."""

    x: float
    y: float
    size: float
    bar_x: float = 0.0
    bar_y: float = 0.0
    label: str = ""


def axis_ranges(marks: Sequence[Mark]) -> tuple[Range, Range]:
    """Return the ranges of both axes that show all bars, with room for labels.

    >>> axis_ranges([Mark(1, 0, 12, bar_x=0.5), Mark(2, 0, 12)])
    ((0.35, 2.15), (-0.1, 0.1))
    """
    across = _range([each.x for each in marks], [each.bar_x for each in marks])
    return across, _range([each.y for each in marks], [each.bar_y for each in marks])


def _range(middles: Sequence[float], halves: Sequence[float]) -> Range:
    low = min(middle - half for middle, half in zip(middles, halves, strict=True))
    high = max(middle + half for middle, half in zip(middles, halves, strict=True))
    room = 0.1 * (high - low) or 0.1
    return low - room, high + room


def label_places(marks: Sequence[Mark], x: Range, y: Range) -> list[str | None]:
    """Choose one of `PLACES` for each label, those of the first marks first; None without room.

    No label lies on a marker, on another label or outside the ranges `x` and `y` of the axes, in
    a wide and in a narrow window. Of the free places it takes the one with the fewest bars.
    """
    windows = [_boxes(marks, x, y, frame) for frame in FRAMES]
    taken = [markers for markers, _, _ in windows]
    chosen: list[str | None] = []
    for i, mark in enumerate(marks):
        free, crossed = np.full(len(PLACES), bool(mark.label)), np.zeros(len(PLACES))
        for frame, (_, bars, labels), others in zip(FRAMES, windows, taken, strict=True):
            inside = (labels[i, :, :2] >= 0).all(axis=1) & (labels[i, :, 2:] <= frame).all(axis=1)
            free &= inside & ~_overlap(labels[i], others).any(axis=1)
            crossed += _overlap(labels[i], bars).sum(axis=1)
        best = int(np.argmin(np.where(free, crossed, np.inf)))
        chosen.append(list(PLACES)[best] if free.any() else None)
        if free.any():
            placed = [labels[i, best] for _, _, labels in windows]
            taken = [np.vstack(both) for both in zip(taken, placed, strict=True)]
    return chosen


def _boxes(
    marks: Sequence[Mark], x: Range, y: Range, frame: Range
) -> tuple[Floats, Floats, Floats]:
    """Return markers, bars and labels in one window, these by mark and place.

    A box is left, top, right and bottom in pixels.
    """
    scale = np.array([frame[0] / (x[1] - x[0]), frame[1] / (y[1] - y[0])])
    middle = np.array([[each.x - x[0], y[1] - each.y] for each in marks]) * scale
    radius = np.array([[each.size / 2] * 2 for each in marks])
    half = np.array([[each.bar_x, each.bar_y] for each in marks]) * scale
    bars = [np.hstack([middle - each, middle + each]) for each in (half * [1, 0], half * [0, 1])]
    sizes = np.array([[SIGN_WIDTH * len(each.label), LINE_HEIGHT] for each in marks])[:, None]
    # As Plotly does: a little beyond the edge of the marker, in each direction.
    shift = radius[:, None] / 0.8 + 1 + sizes / 2
    centre = middle[:, None] + np.array(list(PLACES.values())) * shift
    labels = np.dstack([centre - sizes / 2, centre + sizes / 2])
    return np.hstack([middle - radius, middle + radius]), np.vstack(bars), labels


def _overlap(boxes: Floats, others: Floats) -> Bools:
    """Return which boxes overlap which others."""
    one, two = boxes[:, None], others[None]
    return np.asarray(((one[..., :2] < two[..., 2:]) & (two[..., :2] < one[..., 2:])).all(axis=2))


NORMAL_95 = 1.96  # standard errors to each side of a 95 % interval
CROSS, DIAMOND = 12, 13  # pixels of the markers of the model and of all rows

Places = Mapping[int, str | None]
"""Where the label of each leaf is; None where there is no room for it."""


@dataclass(frozen=True)
class Between:
    """What lies around the maps: the network, the rates of the leaves, and the way between."""

    plane: pd.DataFrame  # what `hetcal.results.plane.leaf_plane` returns
    share: float  # of the way from the network (0) to the rates of the leaves (1)


def slope_intercept_figure(
    pooled: LeafMap,
    maps: Sequence[LeafMap],
    selected: Collection[int] = (),
    between: Between | None = None,
) -> go.Figure:
    """Draw slope against intercept of each leaf with 95 % intervals.

    A leaf with the pooled slope has a hollow marker; the uncalibrated model is at slope 1 and
    intercept 0. Non-linear maps are not drawn. A leaf whose label has no room is named on
    hover only. With `between`, the 95 % regions of maps of the leaves' calibration rows alone take
    the place of bars, and the rates of the leaves are at slope 0.
    """
    maps = [each for each in maps if isinstance(each.shape, Line)]
    own = [each for each in maps if each.fallback is None]
    fallback = [each for each in maps if each.fallback is not None]
    linear = [pooled] if isinstance(pooled.shape, Line) else []
    sizes = _sizes(maps)
    labelled = _labelled(maps, selected, sizes)
    drawn = [*labelled.values(), Mark(1, 0, CROSS), *(_mark(each, DIAMOND) for each in linear)]
    around = [] if between is None else _around(between)
    x, y = axis_ranges([*drawn, *around])
    places = dict(zip(labelled, label_places([*drawn, *around], x, y), strict=False))
    uncalibrated = scatter(
        x=[1.0],
        y=[0.0],
        name="uncalibrated" if between is None else "network as it is",
        mode="markers",
        marker={"symbol": "x", "size": CROSS, "color": colour("before")},
        hovertemplate="uncalibrated: slope 1, intercept 0<extra></extra>",
    )
    own_markers = [_own_markers(own, selected, sizes, places)] if own else []
    fallbacks = [_fallback_markers(fallback, selected, sizes, places)] if fallback else []
    leaves = [*own_markers, *fallbacks]
    behind: list[Part] = []
    if between is not None:
        behind = _way(between, selected)
        bare = {"error_x": None, "error_y": None}
        leaves = [{**each, **bare, "name": each["name"].split(",")[0]} for each in leaves]
    return draw(
        [*behind, uncalibrated, *leaves, *map(_pooled_marker, linear)],
        440,
        x={"title": "slope (1: unchanged)", "range": x},
        y={"title": "intercept (logit)", "range": y},
        title_lines=0 if between is None else 1,
    )


SQUARE, DOT = 8, 7  # pixels of the markers of the rates, and of what lies on the way
MOST_ROUND = 1500  # points of all ellipses
MOST_ELLIPSES = 16  # with more leaves only that of the chosen one can be told from the others


def _around(between: Between) -> list[Mark]:
    """Return the marks of the rates and of the ellipses, which need room."""
    plane = between.plane
    known = plane.dropna()
    across, up = (REACH * np.sqrt(known[f"{each}_variance"]) for each in ("slope", "intercept"))
    regions = zip(known["slope"], known["intercept"], across, up, strict=True)
    rates = [Mark(0.0, rate, SQUARE) for rate in plane["rate"]]
    return [*rates, *(Mark(x, y, 0.0, wide, high) for x, y, wide, high in regions)]


def _way(between: Between, selected: Collection[int]) -> list[Part]:
    """Draw ellipses, the lines from the network to the rates, both ends, and where one is."""
    plane, share = between.plane, between.share
    leaves, rates = plane["leaf"].tolist(), plane["rate"].tolist()
    known = plane.dropna()
    chosen = known["leaf"].isin(selected)
    ends = [each for rate in rates for each in ((1.0, 0.0), (0.0, rate), (None, None))]
    lines = scatter(
        x=[x for x, _ in ends],
        y=[y for _, y in ends],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"width": 1, "color": translucent("quiet", 0.35)},
    )
    words = [
        f"<b>Leaf {each.leaf}</b><br>n = {counted(each.rows, 'calibration row')}<br>leaf rate "
        f"only: slope 0, intercept {each.rate:+.3f}"
        for each in plane.itertuples()
    ]
    square = {"symbol": "square", "size": SQUARE, "color": colour("quiet")}
    dot = {"size": DOT, "color": translucent("quiet", 0.8)}
    common = {"mode": "markers", **leaf_marks(leaves, words)}
    on_way = scatter(
        x=[1 - share] * len(plane),
        y=[share * rate for rate in rates],
        name=f"{share:.0%} of the way",
        marker=dot,
        **common,
    )
    rate_marks = scatter(x=[0.0] * len(plane), y=rates, name="leaf rate only", marker=square)
    return [
        lines,
        _ellipses(known[~chosen & (len(known) <= MOST_ELLIPSES)], "after", 1.0),
        _ellipses(known[chosen], "selected", 2.5),
        rate_marks | common,
        on_way,
    ]


def _ellipses(plane: pd.DataFrame, name: str, width: float) -> Part:
    points = min(48, max(12, MOST_ROUND // max(len(plane), 1)))
    rounds = [ellipse(leaf, points) for _, leaf in plane.iterrows()]
    return scatter(
        x=[each for slope, _ in rounds for each in (*slope, None)],
        y=[each for _, intercept in rounds for each in (*intercept, None)],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"width": width, "color": translucent(name, 0.6)},
    )


def _sizes(maps: Sequence[LeafMap]) -> dict[int, float]:
    """Return the diameters of the leaves' markers, whose areas grow with the rows."""
    largest = max((each.rows for each in maps), default=1)
    return {each.leaf: 6 + 12 * (each.rows / max(largest, 1)) ** 0.5 for each in maps}


def _labelled(
    maps: Sequence[LeafMap], selected: Collection[int], sizes: Mapping[int, float]
) -> dict[int, Mark]:
    """Return the markers with a label: the selected leaves first, then leaves by their rows."""
    in_order = sorted(maps, key=lambda each: (each.leaf not in selected, -each.rows))
    return {each.leaf: _mark(each, sizes[each.leaf], str(each.leaf)) for each in in_order}


def _mark(leaf_map: LeafMap, size: float, label: str = "") -> Mark:
    # The pooled slope has its bar at the pooled map.
    errors = 0.0 if leaf_map.fallback else leaf_map.slope_se, leaf_map.intercept_se
    across, upright = (0.0 if math.isnan(each) else NORMAL_95 * each for each in errors)
    return Mark(leaf_map.slope, leaf_map.intercept, size, across, upright, label)


def _own_markers(
    maps: Sequence[LeafMap], selected: Collection[int], sizes: Mapping[int, float], places: Places
) -> Part:
    known = any(not math.isnan(each.slope_se) for each in maps)
    return _markers(maps, selected, sizes, places, translucent("after", 0.75)) | {
        "name": "leaf, 95 % interval" if known else "leaf",
        "error_x": _interval([each.slope_se for each in maps]),
    }


def _fallback_markers(
    maps: Sequence[LeafMap], selected: Collection[int], sizes: Mapping[int, float], places: Places
) -> Part:
    hollow = _markers(maps, selected, sizes, places, "rgba(0,0,0,0)")
    return hollow | {"name": "leaf with the pooled slope"}


def _markers(
    maps: Sequence[LeafMap],
    selected: Collection[int],
    sizes: Mapping[int, float],
    places: Places,
    fill: str,
) -> dict[str, Any]:
    chosen = [each.leaf in selected for each in maps]
    return scatter(
        x=[each.slope for each in maps],
        y=[each.intercept for each in maps],
        mode="markers+text",
        text=[_number(each, selected) if places[each.leaf] else "" for each in maps],
        textposition=[places[each.leaf] or "top right" for each in maps],
        marker={
            "color": fill,
            "size": [sizes[each.leaf] for each in maps],
            "line": {
                "width": [4 if is_chosen else 1.5 for is_chosen in chosen],
                "color": [colour("selected" if is_chosen else "after") for is_chosen in chosen],
            },
        },
        error_y=_interval([each.intercept_se for each in maps]),
        **leaf_marks([each.leaf for each in maps], [map_words(each) for each in maps]),
    )


def _number(leaf_map: LeafMap, selected: Collection[int]) -> str:
    return f"<b>{leaf_map.leaf}</b>" if leaf_map.leaf in selected else str(leaf_map.leaf)


def _pooled_marker(pooled: LeafMap) -> Part:
    return scatter(
        x=[pooled.slope],
        y=[pooled.intercept],
        name="pooled map",
        mode="markers",
        marker={"symbol": "diamond", "size": DIAMOND, "color": colour("pooled")},
        error_x=_interval([pooled.slope_se]),
        error_y=_interval([pooled.intercept_se]),
        **on_hover([map_words(pooled, "Pooled map")]),
    )


def _interval(standard_errors: Sequence[float]) -> Part:
    return {"array": [NORMAL_95 * each for each in standard_errors], "width": 0, "thickness": 1.2}
