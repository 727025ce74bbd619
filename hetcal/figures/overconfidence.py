"""Figures of over-confidence: scores and log-loss of train and test rows, leaf by leaf."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from hetcal.arrays import Floats
from hetcal.data.columns import counted
from hetcal.figures.base import (
    MAX_POINTS,
    NO_NAMES,
    Panels,
    Part,
    axis_name,
    bars,
    colour,
    draw,
    joining_lines,
    leaf_marks,
    leaf_name,
    names_axis,
    panel_name,
    scatter,
    translucent,
    wrapped_text,
)
from hetcal.results.histograms import ScoreHistograms

AXIS_TITLES = {"logit": "score (logit)", "probability": "score (probability)"}
ROLES = ("train", "test")  # in the order of the counts
LABELS = ("negative", "positive")
HATCHED = {"shape": "/", "size": 6, "solidity": 0.25, "fillmode": "replace"}
MULTIPLES_PER_ROW = 4
SMALL = 11.5  # size of the letters over small panels
CURVES = len(ROLES) * len(LABELS)


def leaf_histogram_figure(
    histograms: ScoreHistograms, leaf: int, density: bool = False
) -> go.Figure:
    """Draw the scores of one leaf by label, training rows above test rows.

    Leaf 0 is all rows. With `density` each label has area 1 in place of its number (or weight)
    of rows.
    """
    panels = Panels(len(ROLES), below=0.11)
    rows = histograms.rows[histograms.leaves.index(leaf)]
    titles = [
        panels.title(i, f"{role} rows · n = {rows[i].sum():,}", 13, left=True)
        for i, role in enumerate(ROLES)
    ]
    heights = {"title": _height_title(histograms, density), "rangemode": "tozero"}
    traces = [
        {**_bars(histograms, leaf, role, label, density), **panels.axes_of(role)}
        for role, label in product(range(len(ROLES)), range(len(LABELS)))
    ]
    axes = panels.axes({"title": AXIS_TITLES[histograms.axis]}, heights, same_heights=density)
    return draw(traces, 520, title_lines=1, barmode="overlay", bargap=0, annotations=titles, **axes)


def drawn_leaves(histograms: ScoreHistograms) -> list[int]:
    """Return the leaves that `leaf_multiples_figure` draws: every bin takes four points.

    With 24 bins these are the first 20.
    """
    most = MAX_POINTS // (CURVES * histograms.counts.shape[-1])
    return [leaf for leaf in histograms.leaves if leaf][: max(1, most)]


def leaf_multiples_figure(
    histograms: ScoreHistograms,
    density: bool = True,
    names: Mapping[int, str] = NO_NAMES,
    selected: Collection[int] = (),
) -> go.Figure:
    """Draw the scores of all leaves side by side on common axes, test filled, train dashed.

    The title of the last says if there are more. The names of the selected leaves are bold.
    """
    drawn = drawn_leaves(histograms)
    more = len(histograms.leaves) - 1 - len(drawn)
    across = min(MULTIPLES_PER_ROW, max(len(drawn), 1))
    height = 170 + 186 * max(1, -(-len(drawn) // across))
    panels = Panels(len(drawn), across, beside=0.03, below=64 / (height - 170))
    outlines = [
        {**trace, **panels.axes_of(place)}
        for place, leaf in enumerate(drawn)
        for trace in _outlines(histograms, leaf, density, first=place == 0)
    ]
    test = histograms.rows[:, ROLES.index("test")].sum(axis=(1, 2))
    words = [
        f"{panel_name(leaf, names, leaf in selected)}<br>"
        f"n = {test[histograms.leaves.index(leaf)]:,} test rows"
        for leaf in drawn
    ]
    if more:
        words[-1] += f", {more} more leaves not shown"
    titles = [panels.title(i, text, SMALL, left=False) for i, text in enumerate(words)]
    heights = {"title": _height_title(histograms, density), "rangemode": "tozero"}
    return draw(
        outlines,
        height,
        title_lines=4,  # one is for a legend of two lines, as in a narrow window
        **panels.axes({}, heights, same_heights=True),
        annotations=[*titles, _common_title(AXIS_TITLES[histograms.axis])],
        margin={"b": 50},
    )


def overconfidence_figure(
    diagnosis: pd.DataFrame, selected: Collection[int] = (), names: Mapping[int, str] = NO_NAMES
) -> go.Figure:
    """Draw train and test log-loss of all rows, then of each leaf, the largest gap first.

    `diagnosis` is what `hetcal.results.overconfidence.diagnose` returns; the names of the
    selected leaves are bold.
    """
    ranked = diagnosis.sort_values("rank")
    words = [_diagnosis_words(row) for row in ranked.itertuples()]
    marks = [
        scatter(
            x=ranked[f"log_loss_{role}"].tolist(),
            y=list(range(len(ranked))),
            name=f"{role} rows",
            mode="markers",
            marker={
                "symbol": "circle-open" if role == "train" else "circle",
                "size": 13,
                "color": colour(role),
                "line": {"width": 3 if role == "train" else 0},
            },
            **leaf_marks(ranked["leaf"].tolist(), words),
        )
        for role in ROLES
    ]
    labels = [axis_name(leaf, leaf in selected, names) for leaf in ranked["leaf"]]
    height = 100 + 36 * len(ranked)
    x = {"title": "log-loss (lower is better)"}
    gaps = joining_lines(ranked[["log_loss_train", "log_loss_test"]].to_numpy().tolist())
    return draw([gaps, *marks], height, x=x, y=names_axis(labels))


def _bars(histograms: ScoreHistograms, leaf: int, role: int, label: int, density: bool) -> Part:
    place = histograms.leaves.index(leaf)
    edges, counts = histograms.edges, histograms.counts[place, role, label]
    heights = histograms.densities[place, role, label] if density else counts
    return bars(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=edges[1:] - edges[:-1],
        name=LABELS[label],
        legendgroup=LABELS[label],
        showlegend=ROLES[role] == "test",
        hovertext=_bin_words(_bins_in_words(edges), histograms.rows[place, role, label]),
        hovertemplate=f"{ROLES[role]}, {LABELS[label]}<br>%{{hovertext}}<extra></extra>",
        marker={
            "color": translucent(LABELS[label], 0.6),
            "line": {
                "width": [1 if height else 0 for height in heights],
                "color": colour(LABELS[label]),
            },
            "pattern": HATCHED if ROLES[role] == "train" else {},
        },
    )


def _outlines(
    histograms: ScoreHistograms, leaf: int, density: bool, *, first: bool
) -> Iterator[Part]:
    """Draw the four histograms of a leaf as steps; the first leaf has the legend entries."""
    place, edges = histograms.leaves.index(leaf), histograms.edges
    heights = histograms.densities if density else histograms.counts
    bins = _bins_in_words(edges)
    for role, label in product(reversed(range(len(ROLES))), range(len(LABELS))):
        name, train = f"{ROLES[role]}, {LABELS[label]}", ROLES[role] == "train"
        yield scatter(
            x=(edges[:-1] + edges[1:]) / 2,
            y=heights[place, role, label],
            name=name,
            legendgroup=name,
            showlegend=first,
            mode="lines",
            line={
                "shape": "hvh",
                "width": 1.5 if train else 1,
                "dash": "dot" if train else "solid",
                "color": colour(LABELS[label]),
            },
            fill=None if train else "tozeroy",
            fillcolor=translucent(LABELS[label], 0.35),
            hovertext=_bin_words(bins, histograms.rows[place, role, label]),
            hovertemplate=f"Leaf {leaf}, {name}<br>%{{hovertext}}<extra></extra>",
        )


def _height_title(histograms: ScoreHistograms, density: bool) -> str:
    if density:
        return "density"
    return "total weight" if histograms.weighted else "rows"


def _bins_in_words(edges: Floats) -> list[str]:
    """Return the interval of each bin; the end bins are open."""
    spans = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    spans[0], spans[-1] = f"below {edges[1]:.3g}", f"{edges[-2]:.3g} and above"
    return spans


def _bin_words(bins: Sequence[str], rows: Sequence[int]) -> list[str]:
    return [f"score {span}<br>n = {n:,}" for span, n in zip(bins, rows, strict=True)]


def _common_title(text: str) -> Part:
    """Return a title below all panels."""
    place = {"x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top", "yshift": -30}
    paper = {"xref": "paper", "yref": "paper", "showarrow": False}
    return {"text": text, **place, **paper, "font": {"size": SMALL}}


def _diagnosis_words(row: Any) -> str:
    rule = f"{wrapped_text(row.rule)}<br>" if row.leaf else ""
    return (
        f"{leaf_name(row.leaf, chosen=True)}<br>{rule}{wrapped_text(row.sentence)}"
        f"<br>n = {counted(row.rows_train, 'train row')}, {counted(row.rows_test, 'test row')}"
    )
