"""Trees that a person edits: a branch becomes a leaf, two leaves one, a leaf two."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Labels
from hetcal.data.columns import category_names, feature_kind, fewest_category_rows, single_values
from hetcal.errors import PartitionError
from hetcal.partitions.encoding import encode_column, encode_names
from hetcal.partitions.nodes import Feature, Node, needed_digits
from hetcal.partitions.partition import Partition


def pruned(partition: Partition, branch: int) -> Partition:
    """Make a branch one leaf, or the whole tree (0)."""
    at = partition.branches[-1 - branch].node if branch else 0
    nodes = list(partition.nodes)
    nodes[at] = Node(nodes[at].rows, nodes[at].positive_rate)
    return _rebuilt(partition.features, nodes)


def sibling(partition: Partition, leaf: int) -> int | None:
    """Return the leaf on the other side of the split above a leaf; None if it is a branch."""
    at = {each.node: each.id for each in partition.leaves}
    own = partition.leaves[leaf - 1].node
    for node in partition.nodes:
        if node.feature is not None and own in (node.left, node.right):
            return at.get(node.right if own == node.left else node.left)
    return None


def merged(partition: Partition, one: int, other: int) -> Partition:
    """Make two leaves one: those on both sides of one split."""
    if sibling(partition, one) != other:
        raise PartitionError(
            f"The leaves {one} and {other} are not on both sides of one split.",
            "A tree can only merge leaves that one split divides.",
            "Prune the branch that holds both.",
        )
    ends = {partition.leaves[each - 1].node for each in (one, other)}
    nodes = list(partition.nodes)
    at = next(i for i, each in enumerate(nodes) if {each.left, each.right} == ends)
    nodes[at] = Node(nodes[at].rows, nodes[at].positive_rate)
    return _rebuilt(partition.features, nodes)


def divided(
    partition: Partition,
    leaf: int,
    cut: tuple[str, float | Collection[str]],
    X: pd.DataFrame,
    y: Labels,
    weight: Floats | None = None,
) -> Partition:
    """Divide a leaf by a column.

    Parameters
    ----------
    partition, leaf
        The tree and the id of one of its leaves.
    cut : (str, number or names)
        A column, and the largest number or the categories that go left. Missing values go to the
        larger side.
    X, y, weight
        The training rows, which the new tree counts.
    """
    name, value = cut
    column = X[name]
    inside = partition.apply(X) == leaf
    number = feature_kind(column) == "number"
    feature = _number(column, value) if number else _category(column)
    known = next((each for each in partition.features if each.name == name), None)
    if known is not None:
        feature = replace(known, digits=max(known.digits, feature.digits))
    left, there = _sides(column, feature, value)
    if not (inside & there & left).any() or not (inside & there & ~left).any():
        raise PartitionError(
            f"All training rows of leaf {leaf} that have a value of '{name}' are on one side.",
            "A split has training rows on both sides.",
            "Choose another value, or another column.",
        )
    missing_left = bool(2 * (inside & there & left).sum() > (inside & there).sum())
    nodes, at = list(partition.nodes), partition.leaves[leaf - 1].node
    old, new = nodes[at], len(nodes)
    names = () if number else tuple(sorted(map(str, _names(value))))
    threshold = None if isinstance(value, Collection) else _threshold(value)
    ends = new, new + 1
    nodes[at] = Node(old.rows, old.positive_rate, name, threshold, names, missing_left, *ends)
    nodes += [Node(0, old.positive_rate)] * 2
    features = [each for each in partition.features if each.name != name]
    return _rebuilt([*features, feature], nodes).counting(X, y, weight)


def _names(value: float | Collection[str]) -> Collection[str]:
    if isinstance(value, Collection):
        return value
    raise PartitionError(
        "The column has categories, and a number is given.",
        "Categories are divided by their names.",
        "Name the categories that go to the left side.",
    )


def _number(column: pd.Series, value: float | Collection[str]) -> Feature:
    if isinstance(value, Collection):
        raise PartitionError(
            f"The column '{column.name}' has numbers, and categories are given.",
            "Numbers are divided by a number.",
            "Give the largest number that goes to the left side.",
        )
    feature = encode_column(column, np.zeros(len(column)), np.ones(len(column))).feature
    known = column.dropna().to_numpy(dtype=np.float64)
    low, high = known[known <= value], known[known > value]
    if not low.size or not high.size:
        return feature
    between = float(low.max()), float(high.min())
    return replace(feature, digits=needed_digits(_threshold(value), *between))


def _threshold(value: float) -> float:
    """Return a threshold that sends the value itself left: columns are in single precision."""
    return max(value, float(np.float32(value)))


def _category(column: pd.Series) -> Feature:
    return encode_names(column, fewest_category_rows(len(column)))[1]


def _sides(
    column: pd.Series, feature: Feature, value: float | Collection[str]
) -> tuple[Bools, Bools]:
    """Return which rows go left, and which have a value that decides."""
    if feature.kind == "number" and not isinstance(value, Collection):
        numbers = single_values(column)
        return np.asarray(numbers <= np.float32(value)), ~np.isnan(numbers)
    chosen, (codes, names) = set(_names(value)), category_names(column)
    unknown = chosen - set(feature.categories)
    if unknown:
        raise PartitionError(
            f"The column '{column.name}' has too few training rows, or none, of "
            f"'{', '.join(sorted(unknown))}'.",
            "Only frequent categories can be sent to a side; others follow the missing values.",
            "Choose other categories.",
        )
    left = np.append([each in chosen for each in names], False).astype(np.bool_)
    there = np.append([each in feature.categories for each in names], False).astype(np.bool_)
    return left[codes], there[codes]


def _rebuilt(features: Sequence[Feature], nodes: Sequence[Node]) -> Partition:
    """Return the tree of what can be reached from the root, with the columns that it reads."""
    order, waiting = [], [0]
    while waiting:
        position = waiting.pop()
        order.append(position)
        if nodes[position].feature is not None:
            waiting += [nodes[position].right, nodes[position].left]
    place = {position: i for i, position in enumerate(order)}
    kept = tuple(
        each
        if each.feature is None
        else replace(each, left=place[each.left], right=place[each.right])
        for each in (nodes[position] for position in order)
    )
    read = {each.feature for each in kept}
    return Partition(tuple(each for each in features if each.name in read), kept, edited=True)
