"""Histograms of the scores: one leaf large, or all leaves side by side."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hetcal.figures import (
    MAX_POINTS,
    colour,
    leaf_name,
    set_frame,
    translucent,
)
from hetcal.histograms import ScoreHistograms

AXIS_TITLES = {"logit": "score (logit)", "probability": "score (probability)"}
ROLES = ("train", "test")  # in the order of the counts
LABELS = ("negative", "positive")
HATCHED = {"shape": "/", "size": 6, "solidity": 0.25, "fillmode": "replace"}
MULTIPLES_PER_ROW = 4
CURVES = len(ROLES) * len(LABELS)


def leaf_histogram_figure(
    histograms: ScoreHistograms, leaf: int, density: bool = False
) -> go.Figure:
    """Draw the scores of one leaf by label, training rows above test rows.

    Parameters
    ----------
    histograms : ScoreHistograms
        The counted scores.
    leaf : int
        The leaf to draw; 0 for all rows.
    density : bool, default=False
        Draw each label with area 1 in place of numbers (or weights) of rows.
    """
    rows = histograms.rows[histograms.leaves.index(leaf)]
    titles = [
        f"{role} rows · n = {number.sum():,}" for role, number in zip(ROLES, rows, strict=True)
    ]
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.11, subplot_titles=titles
    )
    set_frame(figure, 520, title_lines=1)
    for role in range(len(ROLES)):
        for label in range(len(LABELS)):
            figure.add_trace(_bars(histograms, leaf, role, label, density), row=role + 1, col=1)
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(title=AXIS_TITLES[histograms.axis], row=2)
    figure.update_yaxes(
        title=_height_title(histograms, density),
        rangemode="tozero",
        matches="y" if density else None,
    )
    _left_titles(figure)
    return figure


def leaf_multiples_figure(
    histograms: ScoreHistograms, density: bool = True, selected: int | None = None
) -> go.Figure:
    """Draw the scores of all leaves side by side on common axes, test filled, train dashed.

    Every bin takes four points, so that with 24 bins the first 20 leaves are drawn;
    the title of the last says so if there are more.

    Parameters
    ----------
    histograms, density
        As in `leaf_histogram_figure`.
    selected : int or None
        The leaf whose title stands out.
    """
    bins = histograms.counts.shape[-1]
    leaves = [leaf for leaf in histograms.leaves if leaf]
    drawn = leaves[: max(1, MAX_POINTS // (CURVES * bins))]
    across = min(MULTIPLES_PER_ROW, max(len(drawn), 1))
    down = max(1, -(-len(drawn) // across))
    height = 130 + 170 * down
    figure = make_subplots(
        rows=down,
        cols=across,
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=48 / (height - 130),
        subplot_titles=_multiple_titles(histograms, drawn, selected, len(leaves) - len(drawn)),
        x_title=AXIS_TITLES[histograms.axis],
    )
    set_frame(figure, height, title_lines=2)
    for place, leaf in enumerate(drawn):
        for trace in _outlines(histograms, leaf, density, first=place == 0):
            figure.add_trace(trace, row=place // across + 1, col=place % across + 1)
    for column in range((len(drawn) - 1) % across + 1, across):  # nothing is drawn below these
        figure.update_xaxes(showticklabels=True, row=down - 1, col=column + 1)
    figure.update_layout(margin={"b": 50})
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title=_height_title(histograms, density), col=1)
    figure.update_annotations(font={"size": 11.5})
    return figure


def _bars(histograms: ScoreHistograms, leaf: int, role: int, label: int, density: bool) -> go.Bar:
    place = histograms.leaves.index(leaf)
    edges, counts = histograms.edges, histograms.counts[place, role, label]
    heights = histograms.densities[place, role, label] if density else counts
    pattern = HATCHED if ROLES[role] == "train" else {}
    return go.Bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=edges[1:] - edges[:-1],
        name=LABELS[label],
        legendgroup=LABELS[label],
        showlegend=ROLES[role] == "test",
        hovertext=_bin_words(histograms, histograms.rows[place, role, label]),
        hovertemplate=f"{ROLES[role]}, {LABELS[label]}<br>%{{hovertext}}<extra></extra>",
        marker={
            "color": translucent(LABELS[label], 0.6),
            "line": {
                "width": [1 if height else 0 for height in heights],
                "color": colour(LABELS[label]),
            },
            "pattern": pattern,
        },
    )


def _outlines(
    histograms: ScoreHistograms, leaf: int, density: bool, *, first: bool
) -> Iterator[go.Scatter]:
    """Draw the four histograms of a leaf as steps; one leaf stands for all in the legend."""
    place = histograms.leaves.index(leaf)
    edges = histograms.edges
    heights = histograms.densities if density else histograms.counts
    for role, label in product(reversed(range(len(ROLES))), range(len(LABELS))):
        train = ROLES[role] == "train"
        yield go.Scatter(
            x=(edges[:-1] + edges[1:]) / 2,
            y=heights[place, role, label],
            name=f"{ROLES[role]}, {LABELS[label]}",
            legendgroup=f"{ROLES[role]}, {LABELS[label]}",
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
            customdata=[leaf] * (edges.size - 1),
            hovertext=_bin_words(histograms, histograms.rows[place, role, label]),
            hovertemplate=f"Leaf {leaf}, {ROLES[role]}, {LABELS[label]}"
            "<br>%{hovertext}<extra></extra>",
        )


def _height_title(histograms: ScoreHistograms, density: bool) -> str:
    if density:
        return "density"
    return "weight of the rows" if histograms.weighted else "rows"


def _bin_words(histograms: ScoreHistograms, rows: Sequence[int]) -> list[str]:
    """Say for each bin where it lies and how many rows it has; the end bins are open."""
    edges = histograms.edges
    spans = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    spans[0], spans[-1] = f"below {edges[1]:.3g}", f"{edges[-2]:.3g} and above"
    return [f"score {span}<br>n = {n:,}" for span, n in zip(spans, rows, strict=True)]


def _multiple_titles(
    histograms: ScoreHistograms, leaves: Sequence[int], selected: int | None, left_out: int
) -> list[str]:
    test = histograms.rows[:, ROLES.index("test")].sum(axis=(1, 2))
    titles = [
        f"{leaf_name(leaf, leaf == selected)}"
        f"<br>n = {test[histograms.leaves.index(leaf)]:,} test rows"
        for leaf in leaves
    ]
    if left_out:
        titles[-1] += f", {left_out} leaves left out"
    return titles


def _left_titles(figure: go.Figure) -> None:
    """Put the titles of panels at their left edge."""
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
