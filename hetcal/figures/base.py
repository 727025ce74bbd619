"""What all figures share: colours, layout and short texts."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

import plotly.graph_objects as go

from hetcal.errors import without_controls

Part = Mapping[str, Any]
"""A part of a figure, as in Plotly's figure reference."""

# Okabe and Ito's colours, which are safe for colour-blind readers and readable on white and on
# near-black. One thing keeps one colour in every figure.
PALETTE: Mapping[str, str] = {
    "before": "#0072B2",
    "pooled": "#009E73",
    "tree": "#CC79A7",
    "after": "#D55E00",
    "negative": "#56B4E9",
    "positive": "#E69F00",
    "train": "#8C8C8C",
    "test": "#0072B2",
    "validation": "#0072B2",
    "selected": "#CC79A7",
    "quiet": "#8C8C8C",
}
# Below, at and above the base rate.
DIVERGING = (PALETTE["before"], "#B9B9B9", PALETTE["after"])
LONG_WORD = re.compile(r"(\S{5})\S{4,}(\S{9})")
AXIS_LINE, AXIS_NAME = 36, 56  # characters of a leaf's name on one line beside a chart, or on two
PANEL_LINE = 20  # and on a line above one of four small panels in a narrow window
# The most points that one figure sends to the browser.
MAX_POINTS = 2000
AXIS: Part = {"automargin": True, "zeroline": False}
# Of two rates: one is as long as the other, however wide the chart is.
SQUARE_X: Part = {"constrain": "domain"}
SQUARE_Y: Part = {"constrain": "domain", "scaleanchor": "x"}
SQUARE_MARGIN: Part = {"l": 20, "r": 20, "t": 50}
# A click selects a point; Plotly would fade all others.
NOT_DIMMED: Part = {
    "selected": {"marker": {"opacity": 1}},
    "unselected": {"marker": {"opacity": 1}},
}


def draw(
    traces: Sequence[Part],
    height: int = 400,
    *,
    x: Part | None = None,
    y: Part | None = None,
    margin: Part | None = None,
    title_lines: int = 0,
    **layout: Any,
) -> go.Figure:
    """Draw traces with the common layout; text colours are the page's, and so is the width.

    `x` and `y` are what the axes have on top of `AXIS`, `margin` replaces the common margins, and
    `title_lines` are lines of text between the legend and the top panels. Everything is given at
    once: adding to a figure bit by bit takes Plotly ten times as long. The margins hold what most
    axes and legends need: for more, Plotly makes room by drawing all a second time.
    """
    frame = {
        "height": height,
        "margin": {"l": 70, "r": 16, "t": 42 + 19 * title_lines, "b": 67, **(margin or {})},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            # Above the plot, Plotly would put it too low when a window becomes wider.
            "y": 1,
            "yanchor": "top",
            "yref": "container",
            "title": {"text": ""},
        },
        "xaxis": {**AXIS, **(x or {})},
        "yaxis": {**AXIS, **(y or {})},
    }
    return go.Figure({"data": list(traces), "layout": frame | layout})


def scatter(**trace: Any) -> dict[str, Any]:
    """Return a trace of points or lines."""
    return {"type": "scatter", **trace}


def bars(**trace: Any) -> dict[str, Any]:
    """Return a trace of bars."""
    return {"type": "bar", **trace}


def heat_map(
    values: Sequence[Sequence[float]], reach: float, unit: str, words: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Return a trace of coloured cells, row by row; grey is zero, colours end at `reach`."""
    return {
        "type": "heatmap",
        "z": values,
        "zmin": -reach,
        "zmax": reach,
        "colorscale": [[i / 2, ink] for i, ink in enumerate(DIVERGING)],
        "colorbar": {"title": {"text": unit}, "thickness": 12, "outlinewidth": 0},
        "xgap": 1,
        "ygap": 1,
        **on_hover(words),
    }


def on_hover(words: Sequence[str] | Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return what a trace has that shows these words on hover; those of a grid row by row."""
    return {"hovertext": words, "hovertemplate": "%{hovertext}<extra></extra>"}


def leaf_marks(leaves: Sequence[int], words: Sequence[str]) -> dict[str, Any]:
    """Return what marks of leaves have: a click selects the leaf, hovering shows the words."""
    return {"customdata": leaves, **on_hover(words), **NOT_DIMMED}


def interval(
    low: Iterable[float], middle: Iterable[float], high: Iterable[float], **style: Any
) -> dict[str, Any]:
    """Return the error bars from `low` to `high` around `middle`."""
    ends = list(zip(low, middle, high, strict=True))
    return {
        "array": [top - mid for _, mid, top in ends],
        "arrayminus": [mid - bottom for bottom, mid, _ in ends],
        **style,
    }


def names_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return a vertical axis with a name at each of the places 0, 1, …, from the top."""
    places = list(range(len(names)))
    ends = [len(places) - 0.4, -0.6]
    return {"tickvals": places, "ticktext": names, "range": ends, "showgrid": False}


def joining_lines(pairs: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return lines that join two marks at each of the places 0, 1, … of `names_axis`."""
    return scatter(
        x=[each for pair in pairs for each in (*pair, None)],
        y=[each for place in range(len(pairs)) for each in (place, place, None)],
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
        line={"width": 3, "color": translucent("quiet", 0.6)},
    )


def colour(name: str) -> str:
    """Return the colour of a thing; what has none is grey.

    >>> colour("before"), colour("something else")
    ('#0072B2', '#8C8C8C')
    """
    return PALETTE.get(name, PALETTE["quiet"])


def translucent(name: str, opacity: float) -> str:
    """Return the colour of a thing with an opacity.

    >>> translucent("before", 0.5)
    'rgba(0,114,178,0.5)'
    """
    red, green, blue = (int(colour(name)[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def short_text(text: str, length: int) -> str:
    """Shorten a text with '…' and make it safe to draw; Plotly reads texts as HTML.

    >>> short_text("job is <admin> or student", 15)
    'job is &lt;admin&gt;…'
    """
    text = without_controls(text)
    kept = text if len(text) <= length else text[: length - 1].rstrip(" ,") + "…"
    return escape(kept, quote=False)


def wrapped_text(text: str, length: int = 60) -> str:
    """Break a long text into lines for a hover box and make it safe to draw.

    >>> wrapped_text("one two three", 8)
    'one two<br>three'
    """
    plain = without_controls(" ".join(text.split()))
    lines = textwrap.wrap(plain, length, break_long_words=False, break_on_hyphens=False)
    return "<br>".join(escape(line, quote=False) for line in lines)


NO_NAMES: Mapping[int, str] = {}


def leaf_name(
    leaf: int,
    chosen: bool = False,
    names: Mapping[int, str] = NO_NAMES,
    length: int = AXIS_NAME,
) -> str:
    """Name a leaf, in bold if it is chosen; 0 is all rows, and below 0 are branches.

    Of a name that is too long, long words lose their middle, then the rule loses its first
    conditions: the last tells the leaf from its neighbour, and its number is what tables have, too.

    >>> leaf_name(3), leaf_name(0, chosen=True), leaf_name(3, names={3: "age ≤ 30 (3)"})
    ('Leaf 3', '<b>All rows</b>', 'age ≤ 30 (3)')
    >>> leaf_name(3, names={3: "two years · age ≤ 30 (3)"}, length=16)
    '… age ≤ 30 (3)'
    >>> leaf_name(3, names={3: "number_of_calls_in_month_007 ≤ 30 (3)"}, length=26)
    'numbe…month_007 ≤ 30 (3)'
    >>> leaf_name(3, names={3: "two years · … · age ≤ 30 (3)"}, length=24)
    '… age ≤ 30 (3)'
    """
    name = f"Leaf {leaf}" if leaf > 0 else f"Branch {-leaf}" if leaf else "All rows"
    if leaf in names:
        rule, _, end = names[leaf].rpartition(" (")
        name = f"{_short_rule(without_controls(rule), length - len(end) - 2)} ({end}"
    return f"<b>{name}</b>" if chosen else name


def short_words(rule: str, length: int) -> str:
    """Take out the middle of long words, as of a column's name, if a rule is too long.

    >>> short_words("number_of_calls_in_month_007 ≤ 30", 20), short_words("age ≤ 30", 20)
    ('numbe…month_007 ≤ 30', 'age ≤ 30')
    """
    return LONG_WORD.sub(r"\1…\2", rule) if len(rule) > length else rule


def _short_rule(rule: str, length: int) -> str:
    rule = short_words(rule, length)
    if len(rule) > length:
        kept = rule[2 - length :]
        kept = kept.partition(" · ")[2] or kept.partition(" ")[2] or kept
        rule = f"… {kept.removeprefix('… · ')}"
    return escape(rule, quote=False)


def axis_name(leaf: int, chosen: bool = False, names: Mapping[int, str] = NO_NAMES) -> str:
    """Name a leaf beside an axis, on two lines if need be.

    >>> axis_name(1, names={1: "monthly · tenure ≤ 12 · usage_6 ≤ 0.095 (1)"})
    'monthly · tenure ≤ 12 ·<br>usage_6 ≤ 0.095 (1)'
    """
    return _two_lines(leaf_name(leaf, chosen, names), AXIS_LINE)


def panel_name(leaf: int, names: Mapping[int, str] = NO_NAMES, chosen: bool = False) -> str:
    """Name a leaf above a small panel, on two lines if need be.

    >>> panel_name(1, {1: "two years · monthly_fee ≤ 49.11 (1)"})
    'two years ·<br>monthly_fee ≤ 49.11 (1)'
    """
    return _two_lines(leaf_name(leaf, chosen, names, 2 * PANEL_LINE), PANEL_LINE)


def _two_lines(name: str, length: int) -> str:
    """Break a name that is longer than a line at the space nearest to its middle.

    >>> _two_lines("<b>age &gt; 30 (2)</b>", 12), _two_lines("age &gt; 30 (2)", 11)
    ('<b>age &gt; 30 (2)</b>', 'age &gt;<br>30 (2)')
    """
    gaps = [place for place, sign in enumerate(name) if sign == " "]
    seen = unescape(name.removeprefix("<b>").removesuffix("</b>"))
    if len(seen) <= length or not gaps:
        return name
    # A break after a dot keeps a condition whole.
    gap = min(gaps, key=lambda place: abs(place - len(name) / 2) - 8 * (name[place - 1] == "·"))
    return f"{name[:gap]}<br>{name[gap + 1 :]}"


def number(value: float, *, sign: bool = False) -> str:
    """Write a number with four decimals; one that is not defined is a dash.

    >>> number(0.5), number(-0.00001, sign=True), number(float("nan"))
    ('0.5000', '+0.0000', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:+z.4f}" if sign else f"{value:z.4f}"


def unmoved(values: Sequence[float]) -> Part:
    """Return the range of an axis of changes that are all zero; otherwise Plotly finds it.

    >>> unmoved([0.0, 0.0]), unmoved([0.0, 0.2])
    ({'range': [-0.01, 0.01]}, {})
    """
    return {} if any(values) else {"range": [-0.01, 0.01]}


def zero_line() -> Part:
    """Return the shape of a dotted vertical line at 0, behind the data."""
    ends = {"x0": 0, "x1": 0, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    line = {"dash": "dot", "width": 1.5, "color": PALETTE["quiet"]}
    return {"type": "line", **ends, "layer": "below", "line": line}


@dataclass(frozen=True)
class Panels:
    """A grid of panels, numbered from 0 at the top left."""

    count: int
    across: int = 1  # panels in a row
    beside: float = 0.0  # free space between columns, as a share of the width
    below: float = 0.0  # and between rows, as a share of the height

    @property
    def down(self) -> int:
        """Number of rows."""
        return -(-self.count // self.across)

    def axes_of(self, panel: int) -> dict[str, str]:
        """Name the axes of a panel, as its traces do."""
        return {axis: _named(axis[0], panel) for axis in ("xaxis", "yaxis")}

    def axes(self, x: Part, y: Part, *, same_heights: bool) -> dict[str, Any]:
        """Lay out the axes, given what all of them have.

        All panels share the horizontal scale; with `same_heights`, also the vertical one.
        """
        axes: dict[str, Any] = {}
        for panel in range(self.count):
            names, (across, up) = self.axes_of(panel), self._spans(panel)
            lowest, first = panel + self.across >= self.count, panel % self.across == 0
            x_matches = "x" if panel else None
            y_matches = "y" if panel and same_heights else None
            across_axis = {"anchor": names["yaxis"], "domain": across, "matches": x_matches}
            upright_axis = {"anchor": names["xaxis"], "domain": up, "matches": y_matches}
            axes[_named("xaxis", panel)] = _outer(x, lowest) | across_axis
            axes[_named("yaxis", panel)] = _outer(y, first or not same_heights) | upright_axis
        return axes

    def title(self, panel: int, text: str, size: float, *, left: bool) -> dict[str, Any]:
        """Write above a panel, at its left edge or in its middle."""
        across, up = self._spans(panel)
        return {
            "text": text,
            "x": across[0] if left else sum(across) / 2,
            "xanchor": "left" if left else "center",
            "y": up[1],
            "yanchor": "bottom",
            "xref": "paper",
            "yref": "paper",
            "showarrow": False,
            "font": {"size": size},
        }

    def _spans(self, panel: int) -> tuple[list[float], list[float]]:
        row, column = divmod(panel, self.across)
        width = (1 - self.beside * (self.across - 1)) / self.across
        height = (1 - self.below * (self.down - 1)) / self.down
        left, bottom = column * (width + self.beside), (self.down - 1 - row) * (height + self.below)
        return [left, min(left + width, 1.0)], [bottom, min(bottom + height, 1.0)]


def _named(axis: str, panel: int) -> str:
    """Name an axis of a panel; the first has no number.

    >>> _named("x", 0), _named("xaxis", 1)
    ('x', 'xaxis2')
    """
    return f"{axis}{panel + 1}" if panel else axis


def _outer(axis: Part, outside: bool) -> dict[str, Any]:
    shown = dict(axis) if outside else {**axis, "title": None}
    return {**AXIS, **shown, "showticklabels": outside}
