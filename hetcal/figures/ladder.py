"""The ladder: every scheme that was tried, what it gives, and what the network adds to it."""

import math
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.choices import plain_name
from hetcal.data.columns import counted, row_count
from hetcal.figures.base import (
    NOT_DIMMED,
    Part,
    colour,
    draw,
    interval,
    names_axis,
    number,
    on_hover,
    scatter,
    translucent,
    wrapped_text,
)
from hetcal.results.words import p_in_words

LADDER_HOW = (
    "Further right ranks better; bars are 95 % intervals of the lift. The thin line to the hollow "
    "mark, the same scheme without the network, is what the network adds to that scheme: to one "
    "that reads no columns, all that it ranks. An arrow gives its value where that lies further "
    "left than the axis reaches. At the right, the lift and the change of the log-loss, below 0 "
    "where probabilities get better; how many numbers were fitted, the fewer the easier to check, "
    "and the time to fit and compare the scheme here."
)
LINE = 26  # characters of a name that fit into a narrow window
LINE_HEIGHT = 15  # pixels
COLUMNS = (("lift,<br>log-loss", 60), ("network<br>adds", 120), ("numbers,<br>time", 182))
"""Heads of the numbers at the right, and the pixels from the axes to their right edge."""


def ladder_figure(candidates: pd.DataFrame, measure: str = "AUC") -> go.Figure:
    """Draw every scheme that was tried as a rung, the simplest at the top.

    A rung has its value of `measure` with the 95 % interval of its lift, and hollow that of the
    same scheme without the network; a value far to the left is an arrow at the edge with the value
    beside it, at the end of a dotted line. Marks carry the names of schemes, so that a click can
    take one.

    Parameters
    ----------
    candidates : DataFrame
        The table of `hetcal.schemes.choice.Choice`.
    measure : str, default="AUC"
        What lifts are measured in.
    """
    rungs = candidates.reset_index(drop=True)
    shift = rungs["auc"] - rungs["lift"]  # from a lift to the value of the measure
    rungs = rungs.assign(alone=shift + rungs["without"])
    ends = _range(rungs, shift)
    edge = ends[0] + 0.04 * (ends[1] - ends[0])  # where values far to the left are
    words = [_hover(rung, measure) for rung in rungs.to_dict("records")]
    labels = [_label(rung) for rung in rungs.to_dict("records")]
    row = 12 + LINE_HEIGHT * max(1 + each.count("<br>") for each in labels)
    return draw(
        [*_lines(rungs, edge), *_marks(rungs, words), _hollow(rungs, edge, words)],
        125 + row * len(rungs),
        x={"title": f"{measure}, cross-fitted", "range": ends, "tickformat": ".6~f", "nticks": 5},
        y=names_axis(labels),
        margin={"r": COLUMNS[-1][1], "t": 75},
        showlegend=False,
        shapes=[_as_it_is(float(shift.iloc[0]))],
        annotations=[_legend(bool((rungs["alone"] < edge).any())), *_columns(rungs)],
    )


def _range(rungs: pd.DataFrame, shift: pd.Series) -> list[float]:
    """Return a range with all intervals, and with schemes without the network if not far off."""
    low, high = float((shift + rungs["low"]).min()), float((shift + rungs["high"]).max())
    low, high = min(low, float(rungs["auc"].min())), max(high, float(rungs["auc"].max()))
    span = max(high - low, 0.01)
    alone = rungs["alone"].dropna()
    near = alone[alone > low - span]
    left, right = min([low, *near]), max([high, *near])
    room = 0.08 * max(right - left, span)
    arrows = len(alone) > len(near)
    return [left - (3 if arrows else 1) * room, right + room]


def _lines(rungs: pd.DataFrame, left: float) -> list[Part]:
    """Join each scheme with itself without the network, dotted where that is beyond the edge."""
    known, beyond = rungs["alone"].notna(), rungs["alone"] < left
    return [
        scatter(
            x=[x for each in some.itertuples() for x in (max(each.alone, left), each.auc, None)],
            y=[place for i in some.index for place in (i, i, None)],
            mode="lines",
            line={"width": 1.5, "dash": dash, "color": translucent("quiet", 0.7)},
            hoverinfo="skip",
            showlegend=False,
        )
        for some, dash in ((rungs[known & ~beyond], "solid"), (rungs[known & beyond], "dot"))
        if len(some)
    ]


def _marks(rungs: pd.DataFrame, words: Sequence[str]) -> list[Part]:
    as_it_is = rungs["kind"] == "none"
    groups = (
        ("your model", as_it_is & ~rungs["chosen"], "before"),
        ("in use", rungs["chosen"], "after"),
        ("not chosen", ~rungs["chosen"] & ~as_it_is & rungs["allowed"], "quiet"),
        ("not by default", ~rungs["chosen"] & ~as_it_is & ~rungs["allowed"], "quiet"),
    )
    return [
        _mark(rungs[inside], name, thing, [words[i] for i in rungs.index[inside]])
        for name, inside, thing in groups
        if inside.any()
    ]


def _mark(rungs: pd.DataFrame, name: str, thing: str, words: Sequence[str]) -> Part:
    ink = colour(thing) if name != "not by default" else translucent(thing, 0.5)
    return scatter(
        x=rungs["auc"].tolist(),
        y=rungs.index.tolist(),
        name=name,
        mode="markers",
        marker={
            "size": [13 if each else 11 for each in rungs["chosen"]],
            "symbol": ["diamond" if each else "circle" for each in rungs["chosen"]],
            "color": ink,
            "opacity": 1,
            "line": {"width": 0},
        },
        error_x=interval(
            rungs["low"], rungs["lift"], rungs["high"], thickness=2, width=4, color=ink
        ),
        customdata=rungs["name"].tolist(),
        **on_hover(words),
        **NOT_DIMMED,
    )


def _hollow(rungs: pd.DataFrame, left: float, words: Sequence[str]) -> Part:
    known = rungs[rungs["alone"].notna()]
    beyond = known["alone"] < left
    return scatter(
        x=known["alone"].clip(lower=left).tolist(),
        y=known.index.tolist(),
        name="without the network",
        mode="markers+text",
        cliponaxis=False,
        text=known["alone"].map(number).where(beyond, "").tolist(),
        textposition="top right",
        textfont={"size": 12, "color": colour("quiet")},
        marker={
            "symbol": ["triangle-left-open" if each else "circle-open" for each in beyond],
            "size": 14,
            "color": colour("quiet"),
            "line": {"width": 2},
        },
        customdata=known["name"].tolist(),
        **on_hover([words[i] for i in known.index]),
        **NOT_DIMMED,
    )


def _as_it_is(value: float) -> Part:
    """Return a dotted line at the model as it is, to compare all rungs with."""
    ends = {"x0": value, "x1": value, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    line = {"dash": "dot", "width": 1.5, "color": colour("before")}
    return {"type": "line", **ends, "layer": "below", "line": line}


def _label(rung: dict[str, Any]) -> str:
    lines = wrap(plain_name(rung["name"]), LINE, max_lines=2, placeholder="…")
    name = f"<b>{'<br>'.join(map(escape, lines))}</b>"
    notes = [rung["kind"]] if rung["kind"] != "none" else []
    if rung["chosen"]:
        notes.append("<b>in use</b>")
    elif not rung["allowed"]:
        notes.append("not by default")
    below = f'<br><span style="font-size:12px">{" · ".join(notes)}</span>'
    return name + below if notes else name


def _legend(arrows: bool) -> Part:
    """Explain the marks in one line; Plotly's own legend is no wider than the axes."""
    marks = [
        ("before", "●", "your model"),
        ("after", "◆", "in use"),
        ("quiet", "●", "other rungs"),
        ("quiet", "○", "without the network"),
    ]
    if arrows:
        marks.append(("quiet", "◁", "the same, off the axis"))
    words = "   ".join(
        f'<span style="color:{colour(name)};font-size:16px">{sign}</span> {text}'
        for name, sign, text in marks
    )
    return _text(words, COLUMNS[-1][1], y=1, yref="paper", yanchor="bottom", yshift=42)


def _columns(rungs: pd.DataFrame) -> list[Part]:
    """Write the numbers of each rung at the right of the axes."""
    head, place = {"y": 1, "yref": "paper", "yanchor": "bottom"}, {"yanchor": "middle"}
    written = [_text(name, right, **head) for name, right in COLUMNS]
    for i, rung in enumerate(rungs.to_dict("records")):
        half = (rung["adds_high"] - rung["adds_low"]) / 2
        apart = "" if math.isnan(half) else f"<br>± {half:.4f}"
        cells = (
            f"{number(rung['lift'], sign=True)}<br>{number(0 - rung['loss_fall'], sign=True)}",
            number(rung["adds"], sign=True) + apart,
            f"{rung['numbers']:,.0f}<br>{_seconds(rung['seconds'])}",
        )
        for (_, right), cell in zip(COLUMNS, cells, strict=True):
            bold = f"<b>{cell}</b>" if rung["chosen"] else cell
            written.append(_text(bold, right, y=i, yref="y", **place))
    return written


def _text(text: str, right: int, **place: Any) -> Part:
    edge = {"x": 1, "xref": "paper", "xanchor": "right", "xshift": right, "align": "right"}
    return {"text": text, **edge, **place, "showarrow": False, "font": {"size": 12}}


def _seconds(seconds: float) -> str:
    """Write a time in a few characters, safe to draw.

    >>> _seconds(0.02), _seconds(3.14), _seconds(75)
    ('&lt; 0.1 s', '3.1 s', '75 s')
    """
    if math.isnan(seconds):
        return "–"
    if seconds < 0.1:
        return escape("< 0.1 s") if seconds else "0 s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _hover(rung: dict[str, Any], measure: str) -> str:
    lines = [
        f"<b>{escape(plain_name(rung['name']))}</b>"
        + ("" if rung["kind"] == "none" else f", a {rung['kind']}"),
        wrapped_text(rung["words"]),
        f"{measure} {number(rung['auc'])}, lift {number(rung['lift'], sign=True)}"
        f" ({_between(rung['low'], rung['high'])})",
    ]
    if not math.isnan(rung["alone"]):
        lines += [
            f"without the network {number(rung['alone'])}",
            f"the network adds {number(rung['adds'], sign=True)}"
            f" ({_between(rung['adds_low'], rung['adds_high'])}),"
            f" p-value {escape(p_in_words(rung['adds_p']))}",
        ]
    lines += [
        f"log-loss {number(rung['log_loss'])}, lower by {number(rung['loss_fall'], sign=True)}"
        f" ± {number(1.96 * rung['loss_se'])}",
        f"{counted(int(rung['numbers']), 'number')} decide, {_seconds(rung['seconds'])}",
        f"n = {row_count(int(rung['rows']))}, cross-fitted",
    ]
    if not rung["allowed"]:
        lines.append("the settings do not recommend it by themselves")
    return "<br>".join(lines)


def _between(low: float, high: float) -> str:
    return f"{number(low, sign=True)} to {number(high, sign=True)}"
