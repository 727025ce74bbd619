"""The figure of slopes and intercepts: how far each leaf relies on the model or on the tree."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from hetcal.calibration_figures import map_words
from hetcal.figures import Part, colour, draw, leaf_marks, scatter, translucent
from hetcal.label_places import Mark, axis_ranges, label_places
from hetcal.leaf_map import LeafMap
from hetcal.map_shapes import Line

NORMAL_95 = 1.96  # standard errors to each side of a 95 % interval
FEW = 5  # leaves that one hover box describes
CROSS, DIAMOND, HOLLOW = 12, 13, 22  # pixels of the markers of the model, all rows and fallbacks

Places = Mapping[int, str | None]
"""Where the label of each leaf is; None where there is no room for it."""


def slope_intercept_figure(
    pooled: LeafMap, maps: Sequence[LeafMap], selected: int | None = None
) -> go.Figure:
    """Draw slope against intercept of each leaf with 95 % intervals.

    A leaf without a map of its own has a hollow marker; the uncalibrated model is at slope 1
    and intercept 0. Non-linear maps are not drawn. A leaf whose label has no room is named on
    hover only.
    """
    maps = [each for each in maps if isinstance(each.shape, Line)]
    own = [each for each in maps if each.fallback is None]
    fallback = [each for each in maps if each.fallback is not None]
    linear = [pooled] if isinstance(pooled.shape, Line) else []
    sizes = _sizes(own)
    labelled = _labelled(own, fallback, selected, sizes)
    drawn = [*labelled.values(), Mark(1, 0, CROSS), *(_mark(each, DIAMOND) for each in linear)]
    x, y = axis_ranges(drawn)
    places = dict(zip(labelled, label_places(drawn, x, y), strict=False))
    traces: list[Part] = [_model_marker()]
    if own:
        traces.append(_own_markers(own, selected, sizes, places))
    if fallback:
        traces.append(_fallback_markers(fallback, selected, places))
    traces.extend(_pooled_marker(each) for each in linear)
    return draw(
        traces,
        440,
        x={"title": "slope (1: unchanged)", "range": x},
        y={"title": "intercept (logit)", "range": y},
    )


def _sizes(maps: Sequence[LeafMap]) -> dict[int, float]:
    """Return the diameters of the leaves' markers, whose areas grow with the rows."""
    largest = max((each.rows for each in maps), default=1)
    return {each.leaf: 6 + 12 * (each.rows / max(largest, 1)) ** 0.5 for each in maps}


def _labelled(
    own: Sequence[LeafMap],
    fallback: Sequence[LeafMap],
    selected: int | None,
    sizes: Mapping[int, float],
) -> dict[int, Mark]:
    """Return the markers with a label: the selected leaf first, then leaves by their rows.

    Of the leaves that share the pooled map the first has the label of all.
    """
    in_order = sorted(own, key=lambda each: (each.leaf != selected, -each.rows))
    marks = {each.leaf: _mark(each, sizes[each.leaf], str(each.leaf)) for each in in_order}
    if fallback:
        marks[fallback[0].leaf] = _mark(fallback[0], HOLLOW, _together(fallback, None))
    return marks


def _mark(leaf_map: LeafMap, size: float, label: str = "") -> Mark:
    # A leaf with the pooled map has no bars of its own.
    errors = (0.0, 0.0) if leaf_map.fallback else (leaf_map.slope_se, leaf_map.intercept_se)
    across, upright = (0.0 if math.isnan(each) else NORMAL_95 * each for each in errors)
    return Mark(leaf_map.slope, leaf_map.intercept, size, across, upright, label)


def _model_marker() -> Part:
    return scatter(
        x=[1.0],
        y=[0.0],
        name="uncalibrated",
        mode="markers",
        marker={"symbol": "x", "size": CROSS, "color": colour("before")},
        hovertemplate="uncalibrated: slope 1, intercept 0<extra></extra>",
    )


def _own_markers(
    maps: Sequence[LeafMap], selected: int | None, sizes: Mapping[int, float], places: Places
) -> Part:
    trace = _markers(maps, selected)
    known = any(not math.isnan(each.slope_se) for each in maps)
    return trace | {
        "name": "leaf, 95 % interval" if known else "leaf",
        "text": [_number(each, selected) if places[each.leaf] else "" for each in maps],
        "textposition": [places[each.leaf] or "top right" for each in maps],
        "marker": trace["marker"]
        | {"color": translucent("after", 0.75), "size": [sizes[each.leaf] for each in maps]},
        "error_x": _interval([each.slope_se for each in maps]),
        "error_y": _interval([each.intercept_se for each in maps]),
    }


def _fallback_markers(maps: Sequence[LeafMap], selected: int | None, places: Places) -> Part:
    """Draw hollow markers; all lie on the pooled map, so they share one label and hover box."""
    trace = _markers(maps, selected)
    place = places[maps[0].leaf]
    words = "<br>".join(map_words(each) for each in maps[:FEW])
    return trace | {
        "name": "leaf with the pooled map",
        "text": [_together(maps, selected) if place else "", *[""] * (len(maps) - 1)],
        "textposition": place or "top right",
        "hovertext": [words + _more(maps)] * len(maps),
        "marker": trace["marker"] | {"color": "rgba(0,0,0,0)", "size": HOLLOW},
    }


def _markers(maps: Sequence[LeafMap], selected: int | None) -> dict[str, Any]:
    chosen = [each.leaf == selected for each in maps]
    return scatter(
        x=[each.slope for each in maps],
        y=[each.intercept for each in maps],
        mode="markers+text",
        marker={
            "line": {
                "width": [4 if is_chosen else 1.5 for is_chosen in chosen],
                "color": [colour("selected" if is_chosen else "after") for is_chosen in chosen],
            },
        },
        **leaf_marks([each.leaf for each in maps], [map_words(each) for each in maps]),
    )


def _number(leaf_map: LeafMap, selected: int | None) -> str:
    return f"<b>{leaf_map.leaf}</b>" if leaf_map.leaf == selected else str(leaf_map.leaf)


def _together(maps: Sequence[LeafMap], selected: int | None) -> str:
    """Name the first few leaves that use the pooled map."""
    return ", ".join(_number(each, selected) for each in maps[:FEW]) + _more(maps)


def _more(maps: Sequence[LeafMap]) -> str:
    return ", …" if len(maps) > FEW else ""


def _pooled_marker(pooled: LeafMap) -> Part:
    return scatter(
        x=[pooled.slope],
        y=[pooled.intercept],
        name="pooled map",
        mode="markers",
        marker={"symbol": "diamond", "size": DIAMOND, "color": colour("pooled")},
        error_x=_interval([pooled.slope_se]),
        error_y=_interval([pooled.intercept_se]),
        hovertext=[map_words(pooled, "Pooled map")],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _interval(standard_errors: Sequence[float]) -> Part:
    return {"array": [NORMAL_95 * each for each in standard_errors], "width": 0, "thickness": 1.2}
