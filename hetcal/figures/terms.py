"""Figures of a correction by terms: what each column, and each pair of columns, adds."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go

from hetcal.arrays import Bools, Floats, Ints
from hetcal.data.columns import row_count
from hetcal.figures.base import (
    MAX_POINTS,
    NOT_DIMMED,
    Panels,
    Part,
    bars,
    colour,
    draw,
    heat_map,
    on_hover,
    scatter,
    short_text,
    translucent,
    wrapped_text,
)
from hetcal.partitions.nodes import Feature, number_words, short_number
from hetcal.partitions.terms import Axis, Curve, Pair, Terms

CURVES_HOW = (
    "Above zero the column raises the probability of a row, below it lowers it; +0.7 logit doubles "
    "the odds. Bands: 95 % intervals. Grey: rows. Percent: share of what all terms do."
)
PAIR_HOW = (
    "What two values together add beyond what each adds alone: orange raises the probability, blue "
    "lowers it, grey changes nothing. Cells without rows are empty."
)
NORMAL_95 = 1.96  # standard errors to each side of a 95 % interval
STRIP = 0.12  # height of the strip of rows, as a share of the axis
APART = 0.08  # free space before entries of other and missing values, as a share of the known ones
ACROSS = 3  # small panels in a row
MOST_NAMES, MOST_SMALL_NAMES = 40, 7  # categories that have room in a figure and in a small panel
TRACES = 5  # of one curve
HIDDEN = "rgba(0,0,0,0)"
PAIR_LABELS = 7, 40  # entries with room for their names, below and beside a heat map
TICKS = 4  # cuts that are written at a step curve
SMALL = 11.5  # size of the letters over small panels

Span = tuple[float, float]


def logit_span(terms: Terms) -> Span:
    """Return the ends of a logit axis that all terms share.

    It holds zero, all values, and of bands what is not longer than half of all values.
    """
    each = [(term.values.ravel(), NORMAL_95 * term.error.ravel()) for term in terms.terms]
    values = np.concatenate([[0.0], *(value for value, _ in each)])
    error = np.concatenate([[0.0], *(half for _, half in each)])
    low, high = float(values.min()), float(values.max())
    most = 0.5 * (high - low) or 0.1
    return (
        max(low - most, float((values - error).min())),
        min(high + most, float((values + error).max())),
    )


def odds_words(logit: float) -> str:
    """Say what a change of the logit does to the odds.

    >>> odds_words(0.5), odds_words(-0.5)
    ('+0.50 logit = 1.6 times the odds', '-0.50 logit = 0.61 times the odds')
    """
    times = short_number(float(np.exp(np.clip(logit, -700, 700))), 2)
    return f"{logit:+.2f} logit = {times} times the odds"


def curve_figure(curve: Curve, span: Span) -> go.Figure:
    """Draw what one column adds to the logit, with 95 % bands, on a logit axis with these ends."""
    drawn = _Drawn(curve, MOST_NAMES)
    return draw(
        list(_curve_traces(drawn, span)),
        400,
        x={"title": short_text(curve.name, 60), **_across(drawn, 24, TICKS)},
        y={"title": "added to the logit", "range": _padded(span)},
        shapes=[_level_line("x", "y")],
        showlegend=False,
        bargap=0,
        margin={"t": 15},
    )


def curves_figure(terms: Terms, most: int = 12) -> go.Figure:
    """Draw the columns that matter most as small panels on one logit axis.

    A title says which share of the variance of all terms, pairs included, is the column's own,
    and with a plus how many categories have no room. Curves of many steps leave room for fewer
    than `most`.
    """
    shown, span = _most_important(terms, most), logit_span(terms)
    across = min(ACROSS, max(len(shown), 1))
    down = max(1, -(-len(shown) // across))
    inside = 225 * down
    panels = Panels(len(shown), across, beside=0.04, below=(85 / inside) if down > 1 else 0.0)
    logit_axis = {"title": "added to the logit", "range": _padded(span)}
    axes = panels.axes({}, logit_axis, same_heights=True)
    for i, (_, drawn) in enumerate(shown):
        axes["xaxis" + panels.axes_of(i)["xaxis"][1:]] |= {
            "matches": None,
            "showticklabels": True,
            "automargin": i + across >= len(shown),
            "tickfont": {"size": 10},
            **_across(drawn, 9, 3),
        }
    titles = [
        panels.title(i, _panel_title(share, drawn), SMALL, left=True)
        for i, (share, drawn) in enumerate(shown)
    ]
    traces = [
        {**trace, **panels.axes_of(i)}
        for i, (_, drawn) in enumerate(shown)
        for trace in _curve_traces(drawn, span)
    ]
    return draw(
        traces,
        inside + 60,
        **axes,
        annotations=titles,
        shapes=[_level_line(*panels.axes_of(i).values()) for i in range(len(shown))],
        showlegend=False,
        bargap=0,
        margin={"t": 25, "b": 10},
    )


def _most_important(terms: Terms, most: int) -> list[tuple[float, "_Drawn"]]:
    """Return the curves to draw with their shares, the most important first."""
    variance = terms.importance**2
    shares = variance / (variance.sum() or 1.0)
    curves = [
        (float(shares[i]), _Drawn(term, MOST_SMALL_NAMES))
        for i in np.argsort(-shares, kind="stable")
        if isinstance(term := terms.terms[i], Curve)
    ][:most]
    points = np.cumsum([TRACES * drawn.entries.size for _, drawn in curves])
    return curves[: max(1, int((points <= MAX_POINTS).sum()))]


def pair_figure(pair: Pair, span: Span) -> go.Figure:
    """Draw what two columns add together as a heat map; grey is zero.

    The colours reach as far as the ends of `span`, such as `logit_span` of all pairs.
    """
    reach = max(abs(each) for each in span)
    kept = [_kept_entries(axis, pair.rows.sum(axis=1 - i)) for i, axis in enumerate(pair.axes)]
    cells = np.ix_(*kept)
    values, error, rows = pair.values[cells], pair.error[cells], pair.rows[cells]
    labels = [[axis.labels[i] for i in each] for axis, each in zip(pair.axes, kept, strict=True)]
    words = [
        [
            f"{wrapped_text(pair.first.feature.name)}: {wrapped_text(first)}"
            f"<br>{wrapped_text(pair.second.feature.name)}: {wrapped_text(second)}"
            f"<br>{_entry_words(values[i, j], error[i, j], rows[i, j])}"
            for i, first in enumerate(labels[0])
        ]
        for j, second in enumerate(labels[1])
    ]
    heat = heat_map(np.where(rows.T > 0, values.T, np.nan).tolist(), reach, "logit", words)
    sides = [
        {
            "title": short_text(axis.feature.name, 40),
            "tickvals": list(range(0, len(names), -(-len(names) // most))),
            "ticktext": [short_text(name, 16) for name in names[:: -(-len(names) // most)]],
            "showgrid": False,
        }
        for axis, names, most in zip(pair.axes, labels, PAIR_LABELS, strict=True)
    ]
    return draw([heat], 150 + max(200, 26 * len(labels[1])), x=sides[0], y=sides[1])


@dataclass(frozen=True)
class _Drawn:
    """A curve with a place for each entry that is shown."""

    curve: Curve
    most: int  # categories

    @property
    def axis(self) -> Axis:
        return self.curve.axis

    @property
    def number(self) -> bool:
        return self.axis.feature.kind == "number"

    @cached_property
    def entries(self) -> Ints:
        """Entries from left to right: of categories the largest value first, others at the end."""
        kept = _kept_entries(self.axis, self.curve.rows)
        known, special = kept[kept < self.axis.known], kept[kept >= self.axis.known]
        if not self.number:
            large = np.argsort(-self.curve.rows[known], kind="stable")[: self.most]
            known = known[np.sort(large)]
            known = known[np.argsort(-self.curve.values[known], kind="stable")]
        return np.append(known, special)

    @property
    def special(self) -> Bools:
        """Which of the entries are for other or missing values."""
        return self.entries >= self.axis.known

    @property
    def left_out(self) -> int:
        """Categories without room."""
        return 0 if self.number else self.axis.known - int((~self.special).sum())

    @cached_property
    def edges(self) -> Floats:
        """Ends of the known entries: at their cuts, or of equal widths where cuts are uneven."""
        cuts, known = self.axis.cuts, int((~self.special).sum())
        if not self.number or cuts.size < 3 or _uneven(cuts):
            return np.arange(known + 1, dtype=np.float64)
        end = 0.06 * (cuts[-1] - cuts[0])
        return np.array([cuts[0] - end, *cuts, cuts[-1] + end])

    @cached_property
    def centres(self) -> Floats:
        """Middle of every entry; those of others are set apart, as wide as a tenth of the axis."""
        width, end = self.special_width, self.edges[-1]
        first = end + APART * (end - self.edges[0]) + width / 2
        apart = first + width * np.arange(self.special.sum())
        return np.append((self.edges[1:] + self.edges[:-1]) / 2, apart)

    @property
    def special_width(self) -> float:
        """Width of an entry for others."""
        span = float(self.edges[-1] - self.edges[0])
        return 0.1 * span if self.number else 1.0

    @property
    def widths(self) -> Floats:
        """Width of every entry."""
        return np.append(np.diff(self.edges), np.full(self.special.sum(), self.special_width))

    def ticks(self, length: int, cuts: int) -> tuple[list[float], list[str]]:
        """Return where something is written below the axis, and what."""
        names = [short_text(self.axis.labels[i], length) for i in self.entries]
        if not self.number:
            return self.centres.tolist(), names
        special = np.flatnonzero(self.special)
        inner, count = self.edges[1:-1], cuts - min(special.size, 1)
        middles = (np.arange(count) + 0.5) / count
        wanted = self.edges[0] + (self.edges[-1] - self.edges[0]) * middles
        near = sorted({int(np.abs(inner - each).argmin()) for each in wanted if inner.size})
        written = [_cut_words(float(self.axis.cuts[i]), self.axis.feature) for i in near]
        places = [*(inner[i] for i in near), *self.centres[special]]
        return places, [*written, *(names[i] for i in special)]


def _uneven(cuts: Floats) -> bool:
    """Return whether most cuts are so close together that they could not be told apart."""
    gaps = np.diff(cuts)
    return bool(np.median(gaps) < 0.3 * gaps.mean())


def _cut_words(cut: float, feature: Feature) -> str:
    if abs(cut) >= 1000:
        return f"{cut:,.0f}"
    return number_words(cut, feature) if feature.whole else short_number(cut, 3)


def _kept_entries(axis: Axis, rows: Ints) -> Ints:
    """Return all entries but those for other and missing values that no row had."""
    every = np.arange(axis.entries)
    return every[(every < axis.known) | (rows > 0)]


def _across(drawn: _Drawn, length: int, cuts: int) -> dict[str, Any]:
    places, names = drawn.ticks(length, cuts)
    ends = drawn.centres + drawn.widths / 2
    first = float(drawn.edges[0])
    return {
        "tickvals": places,
        "ticktext": names,
        "range": [first, float(ends[-1])] if ends.size else None,
        "showgrid": False,
        "tickangle": 0 if drawn.number else -50,
    }


def _curve_traces(drawn: _Drawn, span: Span) -> Iterator[Part]:
    curve, entries, centres = drawn.curve, drawn.entries, drawn.centres
    values, half = curve.values[entries], NORMAL_95 * curve.error[entries]
    rows = curve.rows[entries]
    yield _strip(drawn, rows, _padded(span))
    dots = np.ones(entries.size, dtype=bool)
    if drawn.number:
        dots = drawn.special
        yield from _steps(drawn.edges, values[~dots], half[~dots])
    words = [
        f"<b>{wrapped_text(curve.name)}</b>: {wrapped_text(curve.axis.labels[entry])}"
        f"<br>{_entry_words(value, curve.error[entry], row)}"
        for entry, value, row in zip(entries, values, rows, strict=True)
    ]
    yield scatter(
        x=centres.tolist(),
        y=values.tolist(),
        mode="markers",
        # Points of a step curve are there to hover over and to click.
        marker={"size": 8, "color": [colour("after") if dot else HIDDEN for dot in dots]},
        error_y={
            "array": np.where(dots, half, 0.0).tolist(),
            "color": translucent("after", 0.6),
            "thickness": 2,
            "width": 0,
        },
        customdata=[curve.name] * entries.size,
        **on_hover(words),
        **NOT_DIMMED,
    )


def _steps(edges: Floats, values: Floats, half: Floats) -> Iterator[Part]:
    """Draw a step curve and its band."""
    for level, line in ((values - half, {}), (values + half, {"fill": "tonexty"})):
        yield scatter(
            x=edges.tolist(),
            y=[*level, level[-1]],
            mode="lines",
            line={"shape": "hv", "width": 0},
            fillcolor=translucent("after", 0.25),
            hoverinfo="skip",
            **line,
        )
    yield scatter(
        x=edges.tolist(),
        y=[*values, values[-1]],
        mode="lines",
        line={"shape": "hv", "width": 2.5, "color": colour("after")},
        hoverinfo="skip",
    )


def _strip(drawn: _Drawn, rows: Ints, ends: Span) -> Part:
    """Draw where the rows are, at the bottom of the axes; areas grow with the rows."""
    density = rows / drawn.widths
    height = STRIP * (ends[1] - ends[0]) * density / (density.max() or 1)
    return bars(
        x=drawn.centres.tolist(),
        y=height.tolist(),
        width=drawn.widths.tolist(),
        base=ends[0],
        marker={"color": translucent("quiet", 0.45), "line": {"width": 0}},
        hoverinfo="skip",
        **NOT_DIMMED,
    )


def _padded(span: Span) -> Span:
    """Leave room for the strip of rows below."""
    room = span[1] - span[0]
    return span[0] - (STRIP + 0.04) * room, span[1] + 0.04 * room


def _level_line(x: str, y: str) -> Part:
    ends = {"x0": 0, "x1": 1, "y0": 0, "y1": 0, "xref": f"{x} domain", "yref": y}
    line = {"dash": "dot", "width": 1.5, "color": colour("quiet")}
    return {"type": "line", **ends, "layer": "below", "line": line}


def _entry_words(value: float, error: float, rows: int) -> str:
    half = NORMAL_95 * error
    band = f"<br>95 % interval {value - half:+.2f} to {value + half:+.2f}" if error > 0 else ""
    return f"{odds_words(value)}{band}<br>n = {row_count(int(rows))}"


def _panel_title(share: float, drawn: _Drawn) -> str:
    left_out = f" · +{drawn.left_out}" if drawn.left_out else ""
    name = short_text(drawn.curve.name, 14 if left_out else 18)
    return f"<b>{name}</b> · {100 * share:.0f} %{left_out}"
