"""Figures of what a scheme does to rows: one row step by step, and the rows of a leaf."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.special import expit, logit

from hetcal.data.columns import counted, row_count
from hetcal.figures.base import (
    AXIS,
    MAX_POINTS,
    NO_NAMES,
    SQUARE_MARGIN,
    SQUARE_X,
    SQUARE_Y,
    Panels,
    Part,
    colour,
    draw,
    leaf_marks,
    names_axis,
    number,
    on_hover,
    panel_name,
    scatter,
    short_text,
    translucent,
    wrapped_text,
)

WATERFALL_HOW = (
    "From the score at the top each step moves the logit right (more probable) or left; the last "
    "mark is the probability after. The axis at the top has the probabilities."
)
APPLIED_HOW = (
    "The line is the mean probability after for rows with the same probability before, the band "
    "holds 80 % of them; a band without width is one map. Dotted: unchanged."
)
MULTIPLES_HOW = (
    "One panel for each leaf, all on the same axes: before to the right, after upwards. Wide "
    "bands: rows with the same score get different probabilities."
)
MOST_STEPS = 12
ACROSS = 4  # panels in a row
RARE = (0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
PROBABILITIES = (*RARE, 0.5, *(1 - each for each in RARE[::-1]))


def waterfall_figure(steps: pd.DataFrame, most: int = MOST_STEPS) -> go.Figure:
    """Draw the way of one row from its score to the probability after.

    Steps that have no room are joined, the smallest ones.

    Parameters
    ----------
    steps : DataFrame
        As `hetcal.results.why.why_row` returns it: `name`, `value`, `change`, `logit`,
        `probability`.
    most : int, default=12
        Steps between the first and the last that are drawn at most.
    """
    shown = joined_steps(steps, most)
    inner, places = shown.iloc[1:-1], list(range(1, len(shown) - 1))
    ends = _range(shown)
    words = [_step_words(step) for step in shown.to_dict("records")]
    passed = shown["logit"].tolist()
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": inner["change"].tolist(),
        "base": [after - step for after, step in zip(passed[1:-1], inner["change"], strict=True)],
        "y": places,
        "width": 0.5,
        "marker": {"color": translucent("quiet", 0.5), "line": {"width": 0}},
        **on_hover(words[1:-1]),
    }
    tips = scatter(
        x=inner["logit"].tolist(),
        y=places,
        mode="markers+text",
        marker={
            "symbol": [
                "triangle-right" if each >= 0 else "triangle-left" for each in inner["change"]
            ],
            "size": 10,
            "color": colour("quiet"),
        },
        text=[f"{each:+.2f}" for each in inner["change"]],
        textposition=["middle right" if each >= 0 else "middle left" for each in inner["change"]],
        **on_hover(words[1:-1]),
    )
    labels = [_step_label(step) for step in shown.to_dict("records")]
    labels[0], labels[-1] = f"<b>{labels[0]}</b>", f"<b>{labels[-1]}</b>"
    ticks = _probabilities(ends)
    return draw(
        [_connectors(passed), bars, tips, *_ends(shown, words)],
        105 + 30 * len(shown),
        x={"title": "logit", "range": ends},
        y=names_axis(labels),
        xaxis2={
            **AXIS,
            "title": "probability",
            "overlaying": "x",
            "matches": "x",
            "side": "top",
            "showgrid": False,
            "tickvals": [float(logit(each)) for each in ticks],
            "ticktext": [f"{100 * each:g} %" for each in ticks],
        },
        showlegend=False,
        margin={"t": 15},
    )


def joined_steps(steps: pd.DataFrame, most: int) -> pd.DataFrame:
    """Join the smallest steps between the first and the last into one before the last."""
    inner = steps.iloc[1:-1]
    if len(inner) <= most:
        return steps.reset_index(drop=True)
    large = inner["change"].abs().rank(ascending=False, method="first") < most
    small = inner[~large]
    rest = {
        "name": f"{counted(len(small), 'other step')}",
        "value": "",
        "change": float(small["change"].sum()),
    }
    table = pd.concat(
        [steps.iloc[:1], inner[large], pd.DataFrame([rest]), steps.iloc[-1:]], ignore_index=True
    )
    passed = table["change"].cumsum()
    return table.assign(logit=passed, probability=expit(passed))


def _range(steps: pd.DataFrame) -> list[float]:
    """Return the ends of the axis, with room for the numbers at the tips."""
    low, high = float(steps["logit"].min()), float(steps["logit"].max())
    room = max(0.2 * (high - low), 0.25)
    return [low - room, high + room]


def _probabilities(ends: Sequence[float]) -> list[float]:
    """Return round probabilities inside the axis that have room beside each other."""
    found: list[float] = []
    for each in PROBABILITIES:
        place = logit(each)
        clear = not found or place - logit(found[-1]) >= (ends[1] - ends[0]) / 6
        if clear and ends[0] <= place <= ends[1]:
            found.append(each)
    return found


def _connectors(passed: Sequence[float]) -> Part:
    """Join the end of each step with the begin of the next."""
    x = [point for each in passed[:-1] for point in (each, each, None)]
    y = [point for i in range(len(passed) - 1) for point in (i, i + 1, None)]
    line = {"width": 1, "color": translucent("quiet", 0.8)}
    return scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _ends(steps: pd.DataFrame, words: Sequence[str]) -> list[Part]:
    """Mark the score before and the result, on the axis of probabilities."""
    return [
        scatter(
            x=[float(steps["logit"].iloc[place])],
            y=[place % len(steps)],
            xaxis="x2",
            mode="markers+text",
            marker={"size": 14, "color": colour(name), "symbol": symbol},
            text=[f" {_percent(float(steps['probability'].iloc[place]))} "],
            textposition=_side(steps, place),
            **on_hover([words[place]]),
        )
        for place, name, symbol in ((0, "before", "circle"), (-1, "after", "diamond"))
    ]


def _side(steps: pd.DataFrame, place: int) -> str:
    """Write on the side where the axis has more room."""
    left, right = _range(steps)
    return "middle right" if steps["logit"].iloc[place] < (left + right) / 2 else "middle left"


def _percent(probability: float) -> str:
    """Write a probability; one next to 0 or 1 is never written as such.

    >>> _percent(0.1234), _percent(0.00004)
    ('12.3 %', '0.004 %')
    """
    edge = min(probability, 1 - probability)
    digits = min(max(1, -math.floor(math.log10(100 * edge))), 8) if edge > 0 else 1
    return f"{100 * probability:.{digits}f} %"


def _step_label(step: dict[str, Any]) -> str:
    if not step["value"]:
        return short_text(step["name"], 30)
    return f"{short_text(step['name'], 20)}: {short_text(step['value'], 14)}"


def _step_words(step: dict[str, Any]) -> str:
    value = f"<br>{wrapped_text(step['value'])}" if step["value"] else ""
    return (
        f"<b>{wrapped_text(step['name'])}</b>{value}"
        f"<br>{number(step['change'], sign=True)} logit"
        f"<br>then logit {step['logit']:.4f}, probability {step['probability']:.4f}"
    )


def applied_map_figure(points: pd.DataFrame) -> go.Figure:
    """Draw the probability after against the one before, with the spread of the rows.

    `points` is what `hetcal.results.applied.applied_map` returns.
    """
    reach, ordered = _reach([points]), points.sort_values("before")
    return draw(
        [_unchanged(), *_band(ordered, 0.25), *_middle(ordered)],
        460,
        x={"title": "probability before", "range": [0, reach], **SQUARE_X},
        y={"title": "probability after", "range": [0, reach], **SQUARE_Y},
        margin=SQUARE_MARGIN,
    )


def applied_multiples_figure(
    maps: Mapping[int, pd.DataFrame],
    selected: Collection[int] = (),
    names: Mapping[int, str] = NO_NAMES,
) -> go.Figure:
    """Draw what is applied in every leaf, one small panel each on the same axes.

    `maps` are those of `hetcal.results.applied.Applied`; titles of selected leaves are bold.
    """
    shown = {leaf: points for leaf, points in maps.items() if leaf}
    across = min(ACROSS, max(len(shown), 1))
    down = max(1, -(-len(shown) // across))
    inside = 190 * down
    panels = Panels(len(shown), across, beside=0.03, below=(58 / inside) if down > 1 else 0.0)
    reach = _reach(list(shown.values()))
    across_axis = {"title": "before", "range": [0, reach]}
    axes = panels.axes(across_axis, {"title": "after", "range": [0, reach]}, same_heights=True)
    titles = [
        panels.title(i, panel_name(leaf, names, leaf in selected), 12, left=False)
        for i, leaf in enumerate(shown)
    ]
    points_of_traces = 3 * sum(map(len, shown.values()))
    every = max(1, -(-points_of_traces // (MAX_POINTS - 2 * len(shown))))
    traces = [
        {**trace, **panels.axes_of(i)}
        for i, (leaf, points) in enumerate(shown.items())
        for trace in _small(leaf, points.iloc[::every])
    ]
    return draw(
        traces,
        inside + 90,
        **axes,
        annotations=titles,
        showlegend=False,
        margin={"t": 40},
    )


def _small(leaf: int, points: pd.DataFrame) -> Iterator[Part]:
    yield _unchanged()
    yield from _band(points, 0.3)
    words = [f"<b>Leaf {leaf}</b><br>{_bin_words(each)}" for each in points.to_dict("records")]
    yield _mean(points) | {"marker": {"size": 4}, **leaf_marks([leaf] * len(points), words)}


def _reach(each: Sequence[pd.DataFrame]) -> float:
    """Return the end of both axes, which holds all points."""
    highest = [
        points[["before", "high", "mean"]].to_numpy().max() for points in each if len(points)
    ]
    return min(1.0, 1.05 * float(np.max([*highest, 0.05])))


def _band(points: pd.DataFrame, opacity: float) -> list[Part]:
    return [
        scatter(
            x=points["before"].tolist(),
            y=points[name].tolist(),
            name="80 % of the rows",
            mode="lines",
            line={"width": 0},
            fillcolor=translucent("after", opacity),
            hoverinfo="skip",
            showlegend=name == "high",
            **more,
        )
        for name, more in (("low", {}), ("high", {"fill": "tonexty"}))
    ]


def _middle(points: pd.DataFrame) -> list[Part]:
    """Draw the median and the mean."""
    median = scatter(
        x=points["before"].tolist(),
        y=points["middle"].tolist(),
        name="median",
        mode="lines",
        line={"width": 1.5, "dash": "dash", "color": colour("after")},
        hoverinfo="skip",
    )
    words = on_hover([_bin_words(each) for each in points.to_dict("records")])
    return [median, {**_mean(points), **words}]


def _mean(points: pd.DataFrame) -> dict[str, Any]:
    return scatter(
        x=points["before"].tolist(),
        y=points["mean"].tolist(),
        name="mean after",
        mode="lines+markers",
        line={"width": 2.5, "color": colour("after")},
        marker={"size": 6},
    )


def _unchanged() -> Part:
    return scatter(
        x=[0, 1],
        y=[0, 1],
        name="unchanged",
        mode="lines",
        line={"dash": "dot", "width": 1.5, "color": colour("quiet")},
        hoverinfo="skip",
        showlegend=False,
    )


def _bin_words(point: dict[str, Any]) -> str:
    return (
        f"before {point['before']:.3f}<br>mean after {point['mean']:.3f}"
        f"<br>10, 50, 90 % of rows: {point['low']:.3f}, {point['middle']:.3f}, {point['high']:.3f}"
        f"<br>n = {row_count(int(point['n']))}"
    )
