"""The tree of a partition, drawn as an outline: the root first, a line for every node."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from hetcal.data.columns import counted, row_count
from hetcal.figures.base import (
    DIVERGING,
    Part,
    bars,
    colour,
    draw,
    leaf_marks,
    leaf_name,
    scatter,
    short_text,
    short_words,
    translucent,
    wrapped_text,
)
from hetcal.partitions.nodes import ALL_ROWS, Condition, anything, condition_words, narrow, paths
from hetcal.partitions.partition import Partition


@dataclass(frozen=True)
class OutlineLine:
    """One node of the tree as a line of text."""

    position: int  # among the nodes; 0 is the root
    parent: int  # position of the parent
    depth: int  # splits above the node
    rows: int  # training rows
    positive_rate: float  # of these
    rule: str  # the condition of the parent's split, shortened if it lists many categories
    full_rule: str  # the same in full; for a leaf the whole path
    leaf: int  # id of the leaf, or of the branch (below 0); 0 for the root


def outline(partition: Partition) -> tuple[OutlineLine, ...]:
    """List the nodes from the root on, left branch before right."""
    leaves = {leaf.node: leaf for leaf in partition.leaves}
    branches = {branch.node: branch.id for branch in partition.branches}
    rules = _edge_rules(partition)
    lines: list[OutlineLine] = []
    waiting = [(0, 0)]
    while waiting:
        position, parent = waiting.pop()
        node, leaf, rule = partition.nodes[position], leaves.get(position), rules.get(position)
        short, full = (
            condition_words(rule, full=each) if rule else ALL_ROWS for each in (False, True)
        )
        lines.append(
            OutlineLine(
                position,
                parent,
                partition.depths[position],
                node.rows,
                node.positive_rate,
                short,
                leaf.full_rule if leaf else full,
                leaf.id if leaf else branches.get(position, 0),
            )
        )
        if node.feature is not None:
            waiting += [(node.right, position), (node.left, position)]
    return tuple(lines)


def path_to(leaf: int | None, lines: tuple[OutlineLine, ...]) -> tuple[OutlineLine, ...]:
    """Return the lines from a leaf or branch up to the root; none if it is not there."""
    at = {line.position: line for line in lines}
    path = [line for line in lines if leaf and line.leaf == leaf]
    while path and path[-1].depth:
        path.append(at[path[-1].parent])
    return tuple(path)


def _edge_rules(partition: Partition) -> dict[int, Condition]:
    """Return the condition of the parent's split for each node but the root."""
    features = {feature.name: feature for feature in partition.features}
    path_of = paths(partition.features, partition.nodes)
    rules = {}
    for position, node in enumerate(partition.nodes):
        if node.feature is None:
            continue
        here = anything(features[node.feature])
        if here.feature.kind == "category":  # do not name what an earlier split sent elsewhere
            here = next((each for each in path_of[position] if each.feature == here.feature), here)
        rules[node.left] = narrow(here, node, left=True)
        rules[node.right] = narrow(here, node, left=False)
    return rules


LINE_HEIGHT = 28
MARGIN = {"t": 64, "b": 5, "l": 5, "r": 20}
INDENT = 0.035
DEEPEST = 0.35  # where the deepest line starts at most, as a share of the width
LEAF_COLUMN = 0.63  # where the leaf boxes are
RULE_LENGTH = 48  # characters that fit before the leaf boxes on a narrow page
MOST_LINES = 234  # up to seven points each, and the path to the selected leaf up to two more


@dataclass(frozen=True)
class _Placed:
    """A line of the outline with its place in the picture."""

    line: OutlineLine
    x: float
    y: int

    @property
    def rule(self) -> str:
        room = max(12, RULE_LENGTH - 3 * self.line.depth)
        words = short_text(short_words(self.line.rule, room), room)
        return words if self.line.depth else f"{words} · base rate {self.line.positive_rate:.1%}"

    @property
    def hover(self) -> str:
        title = f"{leaf_name(self.line.leaf, True)}<br>" if self.line.leaf else ""
        return (
            f"{title}{wrapped_text(self.line.full_rule)}<br>"
            f"n = {counted(self.line.rows, 'training row')}"
            f"<br>positive rate {self.line.positive_rate:.1%}"
        )

    def size(self, selected: Collection[int]) -> str:
        name = leaf_name(self.line.leaf, self.line.leaf in selected)
        return f"{name} · {row_count(self.line.rows)} · {self.line.positive_rate:.1%}"


def tree_figure(partition: Partition, selected: int | None = None) -> go.Figure:
    """Draw the tree with its rules, and rows and positive rate of each leaf on training rows.

    A click anywhere on the line of a leaf or branch selects it; its leaves and its path are
    highlighted. The first 234 nodes are drawn.
    """
    lines = outline(partition)[:MOST_LINES]
    placed = _placed(lines)
    leaves = [each for each in placed.values() if each.line.leaf > 0]
    splits = [each for each in placed.values() if each.line.leaf <= 0]
    marked = partition.members(selected or 0)
    fixed = {"visible": False, "fixedrange": True}
    return draw(
        [
            _bands(list(placed.values()), marked),
            _edges(lines, placed, translucent("quiet", 0.8), 1.5),
            _edges(path_to(selected, lines), placed, colour("selected"), 3.5),
            _rules(leaves),
            _splits(splits, selected),
            _boxes(leaves, marked),
        ],
        MARGIN["t"] + MARGIN["b"] + LINE_HEIGHT * len(lines),
        x={**fixed, "range": [-0.015, 1.005]},
        y={**fixed, "range": [len(lines) - 0.4, -0.6]},
        coloraxis=_colours(partition),
        showlegend=False,
        dragmode=False,
        bargap=0.14,
        margin={**MARGIN, "autoexpand": False},
    )


def _placed(lines: Sequence[OutlineLine]) -> dict[int, _Placed]:
    """Place each line by its order and depth; keys are positions of nodes."""
    deepest = max(line.depth for line in lines)
    indent = min(INDENT, DEEPEST / max(deepest, 1))
    return {line.position: _Placed(line, line.depth * indent, y) for y, line in enumerate(lines)}


def _edges(
    lines: Sequence[OutlineLine], placed: dict[int, _Placed], line_colour: str, width: float
) -> Part:
    """Draw an elbow from each line's parent: down, then to the right."""
    ends = [(placed[line.parent], placed[line.position]) for line in lines]
    x = [each for parent, child in ends for each in (parent.x, parent.x, child.x, None)]
    y = [each for parent, child in ends for each in (parent.y, child.y, child.y, None)]
    return scatter(
        x=x, y=y, mode="lines", hoverinfo="skip", line={"color": line_colour, "width": width}
    )


def _bands(lines: Sequence[_Placed], selected: Collection[int]) -> Part:
    """Draw a band behind each line, which can be clicked; those of splits are not seen."""
    chosen = [each.line.leaf in selected for each in lines]
    return bars(
        y=[each.y for each in lines],
        x=[1 - each.x for each in lines],
        base=[each.x for each in lines],
        name="leaf bands",
        orientation="h",
        marker={
            "color": [
                translucent("selected" if bold else "quiet", 0.13 if each.line.leaf > 0 else 0.0)
                for each, bold in zip(lines, chosen, strict=True)
            ],
            "line": {"color": colour("selected"), "width": [3 if each else 0 for each in chosen]},
        },
        **leaf_marks([each.line.leaf for each in lines], [each.hover for each in lines]),
    )


def _rules(leaves: Sequence[_Placed]) -> Part:
    """Write the last rule before each leaf."""
    return scatter(
        x=[each.x + 0.008 for each in leaves],
        y=[each.y for each in leaves],
        name="leaf rules",
        mode="text",
        text=[each.rule for each in leaves],
        textposition="middle right",
        hoverinfo="skip",
    )


def _splits(splits: Sequence[_Placed], selected: int | None) -> Part:
    chosen = [bool(selected) and each.line.leaf == selected for each in splits]
    rules = [
        f" <b>{each.rule}</b>" if bold else f" {each.rule}"
        for each, bold in zip(splits, chosen, strict=True)
    ]
    return scatter(
        x=[each.x for each in splits],
        y=[each.y for each in splits],
        name="splits",
        mode="markers+text",
        text=rules,
        textposition="middle right",
        marker={
            "size": 11,
            "color": [each.line.positive_rate for each in splits],
            "coloraxis": "coloraxis",
            "line": {
                "width": [3 if each else 1 for each in chosen],
                "color": [colour("selected" if each else "quiet") for each in chosen],
            },
        },
        **leaf_marks([each.line.leaf for each in splits], [each.hover for each in splits]),
    )


def _boxes(leaves: Sequence[_Placed], selected: Collection[int]) -> Part:
    """Draw the leaf boxes in one column, with their numbers beside them."""
    chosen = [each.line.leaf in selected for each in leaves]
    return scatter(
        x=[LEAF_COLUMN] * len(leaves),
        y=[each.y for each in leaves],
        name="leaves",
        mode="markers+text",
        text=[f"  {each.size(selected)}" for each in leaves],
        textposition="middle right",
        marker={
            "symbol": "square",
            "size": 19,
            "color": [each.line.positive_rate for each in leaves],
            "coloraxis": "coloraxis",
            "line": {
                "width": [3 if each else 1 for each in chosen],
                "color": [colour("selected" if each else "quiet") for each in chosen],
            },
        },
        **leaf_marks([each.line.leaf for each in leaves], [each.hover for each in leaves]),
    )


def _colours(partition: Partition) -> Part:
    """Colour positive rates below and above the base rate."""
    rates = [leaf.positive_rate for leaf in partition.leaves]
    low, high = min(rates), max(rates)
    if low == high:
        low, high = max(low - 0.01, 0.0), min(high + 0.01, 1.0)
    middle = min(max((partition.base_rate - low) / (high - low), 0), 1)
    below, at, above = DIVERGING
    return {
        "cmin": low,
        "cmax": high,
        "colorscale": [[0, below], [middle, at], [1, above]],
        "colorbar": {
            "title": {"text": "positive rate", "side": "top"},
            "orientation": "h",
            "x": LEAF_COLUMN - 0.01,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "len": 1 - LEAF_COLUMN,
            "thickness": 8,
            "tickvals": [low, high],
            "ticktext": [f"{low:.1%}", f"{high:.1%}"],
            "tickangle": 0,
        },
    }
