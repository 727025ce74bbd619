"""The segments of several columns as one tree: every combination is a leaf."""

from collections.abc import Sequence
from dataclasses import replace

from hetcal.nodes import Node
from hetcal.partition import Partition
from hetcal.segments import Segments


def combine(columns: Sequence[Segments]) -> Partition:
    """Divide all rows by the first column, each part by the second, and so on.

    Segments are halved until each is alone, so that no path is longer than need be. Leaves
    stand in the order of the segments. Rows are still to be counted.
    """
    nodes: list[Node] = []
    _grow(nodes, tuple(columns), 0, columns[0].count)
    features = tuple(each.feature for each in columns if each.count > 1)
    return Partition(features, tuple(nodes))


def _grow(nodes: list[Node], columns: tuple[Segments, ...], low: int, high: int) -> int:
    """Add the tree over segments `low` to `high` of the first column; return its place."""
    if high - low == 1 and len(columns) > 1:
        return _grow(nodes, columns[1:], 0, columns[1].count)
    place = len(nodes)
    nodes.append(Node(0, 0.0))
    if high - low > 1:
        middle = (low + high) // 2
        left = _grow(nodes, columns, low, middle)
        right = _grow(nodes, columns, middle, high)
        nodes[place] = replace(_split(columns[0], low, middle), left=left, right=right)
    return place


def _split(column: Segments, low: int, middle: int) -> Node:
    beyond = middle > len(column.edges)  # nothing is on the right but missing values
    return Node(
        0,
        0.0,
        column.feature.name,
        None if column.is_category or beyond else column.edges[middle - 1],
        column.feature.categories[low:middle],
        low <= column.missing < middle,
    )
