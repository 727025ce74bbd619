"""A partition: plain data that sends every row to one leaf."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.errors import PartitionError
from hetcal.feature_values import (
    category_codes,
    named_columns,
    single_limit,
    single_values,
)
from hetcal.nodes import Feature, Node, check_tree
from hetcal.partition_json import read_tree, write_tree
from hetcal.ranking import Labels
from hetcal.routing import Question, Routes
from hetcal.rules import Condition, paths, rule_words, shown


@dataclass(frozen=True)
class Leaf:
    """One cell of the partition.

    Parameters
    ----------
    id : int
        1, 2, … from left to right.
    rule : str
        The path in words, long lists of categories shortened.
    depth : int
        Splits on the path.
    node : int
        Position among the nodes.
    rows : int
        Training rows.
    positive_rate : float
        Share of positive labels among them.
    conditions : tuple of Condition
        The path, merged to one condition per column.
    """

    id: int
    rule: str
    depth: int
    node: int
    rows: int
    positive_rate: float
    conditions: tuple[Condition, ...]

    @property
    def full_rule(self) -> str:
        """The path in words with every category."""
        return rule_words(self.conditions, full=True)


@dataclass(frozen=True)
class Partition:
    """A binary tree over the columns of a table.

    A missing value goes to the side that its split chose; a category rare or unseen
    in training follows the missing values.

    Parameters
    ----------
    features : tuple of Feature
        The columns that the splits read.
    nodes : tuple of Node
        The root first, children after their parent.
    """

    features: tuple[Feature, ...]
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        check_tree(self.features, self.nodes)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Number of splits above each node."""
        depths = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            if node.feature is not None:
                depths[node.left] = depths[node.right] = depths[position] + 1
        return tuple(depths)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        conditions = paths(self.features, self.nodes)
        return tuple(
            Leaf(
                number,
                rule_words(conditions[node]),
                self.depths[node],
                node,
                self.nodes[node].rows,
                self.nodes[node].positive_rate,
                conditions[node],
            )
            for number, node in enumerate(self._leaf_nodes, start=1)
        )

    @cached_property
    def _leaf_nodes(self) -> tuple[int, ...]:
        found, waiting = [], [0]
        while waiting:
            position = waiting.pop()
            node = self.nodes[position]
            if node.feature is None:
                found.append(position)
            else:
                waiting += [node.right, node.left]
        return tuple(found)

    @property
    def base_rate(self) -> float:
        """Share of positive labels among all training rows."""
        return self.nodes[0].positive_rate

    @cached_property
    def _by_name(self) -> dict[str, Feature]:
        return {feature.name: feature for feature in self.features}

    def apply(self, X: pd.DataFrame | NDArray[Any]) -> Ints:
        """Return the leaf id of each row; the columns of an array are x0, x1, …."""
        values = self._values(named_columns(X))
        splits = {
            position: self._split(node, values[node.feature])
            for position, node in enumerate(self.nodes)
            if node.feature is not None
        }
        leaves = {node: number for number, node in enumerate(self._leaf_nodes, start=1)}
        return Routes(splits, leaves).leaf_ids(len(X))

    def counting(self, X: pd.DataFrame, y: Labels, weight: Floats | None = None) -> Self:
        """Return the partition whose nodes count these rows and the share of their labels 1.

        A node without rows has the rate of its parent.
        """
        weight = np.ones(len(X)) if weight is None else weight
        place, many = np.array(self._leaf_nodes)[self.apply(X) - 1], len(self.nodes)
        values = None, weight, weight * y
        sums = np.stack([np.bincount(place, each, many) for each in values]).astype(np.float64)
        for at, node in reversed(list(enumerate(self.nodes))):
            if node.feature is not None:
                sums[:, at] = sums[:, node.left] + sums[:, node.right]
        rows, mass, hits = sums
        rate = np.divide(hits, mass, out=np.zeros(many), where=mass > 0)
        for at, node in enumerate(self.nodes):
            for child in (node.left, node.right) if node.feature is not None else ():
                if mass[child] == 0:
                    rate[child] = rate[at]
        nodes = (
            replace(node, rows=int(rows[at]), positive_rate=float(rate[at]))
            for at, node in enumerate(self.nodes)
        )
        return replace(self, nodes=tuple(nodes))

    def _split(self, node: Node, values: Singles | Ints) -> Question:
        feature = self._by_name[node.feature or ""]
        sides = None
        if feature.kind == "category":
            chosen = set(node.categories)
            # The last entry is that of code -1: missing, rare or unseen.
            marks = [*(name in chosen for name in feature.categories), node.missing_left]
            sides = np.array(marks, dtype=np.bool_)
        limit = single_limit(np.inf if node.threshold is None else node.threshold)
        return Question(values, limit, sides, node.missing_left, node.left, node.right)

    def _values(self, X: pd.DataFrame) -> dict[str, Singles | Ints]:
        columns = list(X.columns)
        absent = [feature.name for feature in self.features if columns.count(feature.name) != 1]
        if absent:
            names = "', '".join(map(shown, absent[:5]))
            raise PartitionError(
                f"The table has no column '{names}', or has it twice.",
                "The partition splits on it, so every row needs it once.",
                "Add the column, give it the name that it had in training, or use another "
                "partition.",
            )
        values: dict[str, Singles | Ints] = {}
        for feature in self.features:
            column = X.iloc[:, columns.index(feature.name)]
            values[feature.name] = (
                single_values(column)
                if feature.kind == "number"
                else category_codes(column, feature.categories)
            )
        return values

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the JSON text, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the partition as JSON text; equal partitions give equal text."""
        return write_tree(self.features, self.nodes)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a partition back; anything unsound is a `PartitionError`."""
        return cls(*read_tree(text))
