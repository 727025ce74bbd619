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
    values = _values(trace)
    if trace.hoverinfo == "skip" or values["x"] is None or values["y"] is None:
        return
    axes = {each: getattr(trace, f"{each}axis") or each for each in ("x", "y")}
    x, y = (
        _named(values[each], layout.get(f"{each}axis{name[1:]}", {})) for each, name in axes.items()
    )
    first = {"series": plain_text(trace.name) or None, "panel": int(axes["x"][1:] or 1)}
    words, (low, high) = _words(trace), _ends(trace)
    if trace.type == "heatmap":
        for (i, j), value in np.ndenumerate(trace.z):
            own = None if words is None else plain_text(words[i][j])
            yield first | {"x": x[j], "y": y[i], "value": value, "words": own}
        return
    for i, place in enumerate(zip(x, y, strict=True)):
        if None not in place:  # which is the gap between two lines of one trace
            bar = {} if low is None else {"low": low[i], "high": high[i]}
            own = None if words is None else plain_text(words[i])
            yield first | dict(zip("xy", place, strict=True)) | bar | {"words": own}


def _values(trace: Any) -> dict[str, Any]:
    """Return the places of the marks; cells of a map are counted if they have none."""
    values = {"x": trace.x, "y": trace.y}
    if trace.type != "heatmap":
        return values
    counts = zip("xy", np.shape(trace.z)[::-1], strict=True)
    return {each: range(n) if values[each] is None else values[each] for each, n in counts}


def _words(trace: Any) -> Any:
    """Return the words of each mark on hover, where every mark has its own."""
    found = trace.hovertext if trace.hovertext is not None else trace.text
    return None if found is None or isinstance(found, str) else found


def _ends(trace: Any) -> tuple[Any, Any]:
    """Return the ends of the error bars, along the axis that has them."""
    for axis in ("x", "y"):
        bars = getattr(trace, f"error_{axis}", None)
        if bars is not None and bars.array is not None:
            middle = np.asarray(getattr(trace, axis), dtype=np.float64)
            below = bars.array if bars.arrayminus is None else bars.arrayminus
            return middle - np.asarray(below), middle + np.asarray(bars.array)
    return None, None


def _named(values: Any, axis: Mapping[str, Any]) -> list[Any]:
    """Replace places on an axis by the names that are written there."""
    ticks, names = axis.get("tickvals"), axis.get("ticktext")
    known = {} if ticks is None or names is None else dict(zip(ticks, names, strict=True))
    return [plain_text(str(known[each])) if each in known else each for each in values]


def _title(axis: Mapping[str, Any]) -> str:
    return plain_text(axis.get("title", {}).get("text"))


def plain_text(text: str | None) -> str:
    """Take the marks of HTML out of a text.

    >>> plain_text("<b>age &lt; 30</b><br>n = 5")
    'age < 30; n = 5'
    """
    return unescape(TAG.sub("", (text or "").replace("<br>", "; ")))
