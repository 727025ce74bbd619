"""What all figures share: colours, the frame around the data, and short words for long texts."""

import math
from collections.abc import Mapping
from html import escape

import plotly.graph_objects as go

# Okabe and Ito's colours, which readers with any colour vision tell apart. One thing keeps
# one colour in every figure. Each is readable on white and on near-black.
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
# The most points that one figure sends to the browser.
MAX_POINTS = 2000
# A click selects a point; Plotly would fade all the others, which still have to be read.
NOT_DIMMED: Mapping[str, object] = {
    "selected": {"marker": {"opacity": 1}},
    "unselected": {"marker": {"opacity": 1}},
}


def new_figure(height: int = 400) -> go.Figure:
    """Start a figure that takes its text and background colours from the page.

    Parameters
    ----------
    height : int, default=400
        Height in pixels; the width is the page's.
    """
    figure = go.Figure()
    set_frame(figure, height)
    return figure


def set_frame(figure: go.Figure, height: int, title_lines: int = 0) -> None:
    """Give a figure the common height, margins and the legend above the plot.

    Parameters
    ----------
    figure : Figure
        Changed in place.
    height : int
        Height in pixels.
    title_lines : int, default=0
        Lines of text above the top panels that the legend has to clear.
    """
    above = 10 + 19 * title_lines
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 30 + above, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1 + above / (height - 100),
            "yanchor": "bottom",
            "title": {"text": ""},
        },
    )
    figure.update_xaxes(automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False)


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
    kept = text if len(text) <= length else text[: length - 1].rstrip(" ,") + "…"
    return escape(kept, quote=False)


def wrapped_text(text: str, length: int = 60) -> str:
    """Break a long text into lines for a hover box and make it safe to draw.

    >>> wrapped_text("one two three", 8)
    'one two<br>three'
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > length:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(escape(line, quote=False) for line in lines)


def leaf_name(leaf: int, chosen: bool = False) -> str:
    """Name a leaf, in bold if it is chosen; leaf 0 is all rows.

    >>> leaf_name(3), leaf_name(0, chosen=True)
    ('Leaf 3', '<b>All rows</b>')
    """
    name = f"Leaf {leaf}" if leaf else "All rows"
    return f"<b>{name}</b>" if chosen else name


def number(value: float, *, sign: bool = False) -> str:
    """Write a number with four decimals; one that is not defined is a dash.

    >>> number(0.5), number(0.25, sign=True), number(float("nan"))
    ('0.5000', '+0.2500', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:+.4f}" if sign else f"{value:.4f}"


def add_reference(figure: go.Figure, x: float | None = None, y: float | None = None) -> None:
    """Draw a dotted line across the plot, behind the data."""
    line = {"dash": "dot", "width": 1.5, "color": PALETTE["quiet"]}
    if x is not None:
        figure.add_vline(x=x, line=line, layer="below")
    if y is not None:
        figure.add_hline(y=y, line=line, layer="below")
