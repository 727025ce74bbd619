"""What a figure shows, as a table: one way for all of them."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

TAG = re.compile(r"<[^>]*>")


def figure_table(figure: go.Figure) -> pd.DataFrame:
    """List the marks of a figure; lines that only guide the eye are left out.

    Returns
    -------
    DataFrame
        One row per mark: `series`, its name in the legend; `panel`, counted from 1, where there are
        several; both places, named by the titles of the axes, or `x` and `y` where panels differ;
        `value` of a coloured cell; `low` and `high`, the ends of an error bar; `words` on hover.
        Columns without an entry are left out.
    """
    layout = figure.to_dict()["layout"]
    marks = [mark for trace in figure.data for mark in _marks(trace, layout)]
    table = pd.DataFrame(marks).dropna(axis=1, how="all")
    if table.empty or (table["panel"] > 1).any():
        return table
    names = {axis: _title(layout.get(f"{axis}axis", {})) or axis for axis in ("x", "y")}
    return table.drop(columns="panel").rename(columns=names)


def _marks(trace: Any, layout: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the marks of a trace."""
    if trace.hoverinfo == "skip" or trace.x is None or trace.y is None:
        return
    axes = {each: getattr(trace, f"{each}axis") or each for each in ("x", "y")}
    panel = int(axes["x"][1:] or 1)
    places = {
        each: _named(getattr(trace, each), layout.get(f"{each}axis{name[1:]}", {}))
        for each, name in axes.items()
    }
    first = {"series": plain_text(trace.name) or None, "panel": panel}
    words = _words(trace)
    if trace.type == "heatmap":
        for i, row in enumerate(trace.z):
            for j, value in enumerate(row):
                own = None if words is None else plain_text(words[i][j])
                place = {"x": places["x"][j], "y": places["y"][i]}
                yield first | place | {"value": value, "words": own}
        return
    bars = [_ends(trace, each) for each in ("x", "y")]
    low, high = next((each for each in bars if each is not None), (None, None))
    for i, (x, y) in enumerate(zip(places["x"], places["y"], strict=True)):
        if x is None or y is None:  # the gap between two lines of one trace
            continue
        mark = first | {"x": x, "y": y}
        if low is not None and high is not None:
            mark |= {"low": low[i], "high": high[i]}
        yield mark | {"words": None if words is None else plain_text(words[i])}


def _words(trace: Any) -> Any:
    """Return the words of each mark on hover, where every mark has its own."""
    found = trace.hovertext if trace.hovertext is not None else trace.text
    return None if found is None or isinstance(found, str) else found


def _ends(trace: Any, axis: str) -> tuple[Any, Any] | None:
    """Return the ends of the error bars along an axis."""
    bars = getattr(trace, f"error_{axis}", None)
    if bars is None or bars.array is None:
        return None
    middle = np.asarray(getattr(trace, axis), dtype=np.float64)
    below = bars.array if bars.arrayminus is None else bars.arrayminus
    return middle - np.asarray(below), middle + np.asarray(bars.array)


def _named(values: Any, axis: Mapping[str, Any]) -> list[Any]:
    """Replace places on an axis by the names that are written there."""
    ticks, names = axis.get("tickvals"), axis.get("ticktext")
    known = {} if ticks is None or names is None else dict(zip(ticks, names, strict=True))
    return [plain_text(known[each]) if each in known else each for each in values]


def _title(axis: Mapping[str, Any]) -> str:
    return plain_text(axis.get("title", {}).get("text"))


def plain_text(text: str | None) -> str:
    """Take the marks of HTML out of a text.

    >>> plain_text("<b>age &lt; 30</b><br>n = 5")
    'age < 30; n = 5'
    """
    return unescape(TAG.sub("", (text or "").replace("<br>", "; ")))
