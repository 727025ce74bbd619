"""The parts of a partition: features, nodes, and what makes them one sound tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hetcal.errors import PartitionError

MAX_LEAVES = 1024
MAX_CATEGORY_CELLS = 10_000_000  # leaves x categories: what the rules of all leaves may take


@dataclass(frozen=True)
class Feature:
    """A column that the partition reads.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "category"}
        How values are compared.
    categories : tuple of str
        Names with enough rows in training, sorted; empty for a number.
    whole : bool
        All training values are whole numbers, so that rules can be, too.
    digits : int
        Significant digits that keep every threshold between the same training values.
    missing : bool
        Values were missing in training, so that rules have to mention them.
    rare : bool
        Some categories had too few training rows; they follow the missing values.
    """

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] = ()
    whole: bool = False
    digits: int = 6
    missing: bool = False
    rare: bool = False


@dataclass(frozen=True)
class Node:
    """One node of the tree: a leaf if `feature` is None, else a split.

    Parameters
    ----------
    rows : int
        Training rows that reach the node.
    positive_rate : float
        Share of positive labels among them, by weight.
    feature : str or None
        Column that the node splits on.
    threshold : float or None
        Numbers up to the threshold go left. None: every number goes left and the
        missing values right.
    categories : tuple of str
        Categories that go left, sorted; the other known ones go right.
    missing_left : bool
        Side of the missing values and of the categories rare or unseen in training.
    left, right : int
        Positions of the two children; 0 in a leaf.
    """

    rows: int
    positive_rate: float
    feature: str | None = None
    threshold: float | None = None
    categories: tuple[str, ...] = ()
    missing_left: bool = False
    left: int = 0
    right: int = 0


def check_tree(features: Sequence[Feature], nodes: Sequence[Node]) -> None:
    """Raise `PartitionError` unless the nodes form one tree over the features."""
    leaves = sum(node.feature is None for node in nodes)
    if not 1 <= leaves <= MAX_LEAVES:
        raise broken(f"it has {leaves:,} leaves, and 1 to {MAX_LEAVES:,} are possible")
    if leaves * sum(len(feature.categories) for feature in features) > MAX_CATEGORY_CELLS:
        raise broken("its columns have too many categories for so many leaves")
    by_name = {feature.name: feature for feature in features}
    if len(by_name) < len(features):
        raise broken("it names a column twice")
    lists = [each.categories for each in features] + [each.categories for each in nodes]
    if not all(map(_is_sorted, lists)):
        raise broken("the categories of a column are not sorted, or one is named twice")
    for position, node in enumerate(nodes):
        if node.feature is not None:
            _check_split(position, node, by_name)
    _check_children(nodes)


def _is_sorted(names: Sequence[str]) -> bool:
    return all(first < second for first, second in pairwise(names))


def _check_children(nodes: Sequence[Node]) -> None:
    parents = [0] * len(nodes)
    for position, node in enumerate(nodes):
        for child in () if node.feature is None else (node.left, node.right):
            if not position < child < len(nodes):
                raise broken(f"node {position} points to node {child}")
            parents[child] += 1
    if any(count != 1 for count in parents[1:]):
        raise broken("a node has no parent or several")


def _check_split(position: int, node: Node, features: dict[str, Feature]) -> None:
    feature = features.get(node.feature or "")
    if feature is None:
        raise broken(f"node {position} splits on a column that is not listed")
    if feature.kind == "number" and node.categories:
        raise broken(f"node {position} splits a number by categories")
    if feature.kind == "category" and node.threshold is not None:
        raise broken(f"node {position} splits a category at a number")
    if feature.kind == "number" and node.threshold is None and node.missing_left:
        raise broken(f"node {position} sends every row left")
    if not set(node.categories) <= set(feature.categories):
        raise broken(f"node {position} names a category that is not listed")


def broken(problem: str) -> PartitionError:
    """Build the error for a partition that is not sound."""
    return PartitionError(
        f"The partition cannot be used: {problem}.",
        "A partition is a tree of splits as hetcal saves it.",
        "Save it again from hetcal, or train a new tree.",
    )
