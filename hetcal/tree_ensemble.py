"""Many trees over the same columns as plain arrays, and the way of rows through them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.ensemble_checks import check_ensemble
from hetcal.ensemble_routing import FlatTree
from hetcal.feature_values import single_limits
from hetcal.grown_tree import GrownTree
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.tree_columns import TreeColumns
from hetcal.tree_encoding import EncodedColumn, to_partition

BLOCK = 16_384  # rows at a time, so that they stay in the cache while the trees pass by
ENCODED = 16 * BLOCK  # rows that are encoded at a time


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Trees as arrays over all of their nodes, tree after tree.

    Within a tree a node comes first, then its left part, then its right part. Leaves are
    numbered 0, 1, … across all trees in that order.

    Parameters
    ----------
    columns : TreeColumns
        What the nodes compare.
    sizes : array of int
        Nodes of each tree.
    feature : array of int
        Column that a node cuts; -1 for a leaf.
    threshold : array of float
        Values up to it go left; infinity parts the missing values from the rest. 0 for a
        leaf.
    missing_left : array of bool
        Side of the missing values.
    right : array of int
        Position of the right child in its tree; 0 for a leaf. The left child comes next.
    """

    columns: TreeColumns
    sizes: Ints
    feature: Ints
    threshold: Floats
    missing_left: Bools
    right: Ints

    def __post_init__(self) -> None:
        check_ensemble(self)

    @classmethod
    def of(cls, columns: Sequence[EncodedColumn], trees: Sequence[GrownTree]) -> Self:
        """Put trees that were grown on encoded columns one after the other."""
        leaf = np.concatenate([tree.feature < 0 for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(
            TreeColumns.of(columns, trees),
            np.array([tree.feature.size for tree in trees], dtype=np.int64),
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.where(leaf, 0.0, threshold),
            np.concatenate([tree.missing_left for tree in trees]),
            np.concatenate([tree.right for tree in trees]).astype(np.int64),
        )

    @property
    def trees(self) -> int:
        """Number of trees."""
        return int(self.sizes.size)

    @cached_property
    def starts(self) -> Ints:
        """First node of each tree."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @property
    def leaves(self) -> int:
        """Number of leaves of all trees."""
        return int((self.feature < 0).sum())

    @cached_property
    def leaf_starts(self) -> Ints:
        """Number of the first leaf of each tree."""
        before = np.concatenate([[0], np.cumsum(self.feature < 0)])
        return before[self.starts].astype(np.int64)

    @cached_property
    def _limits(self) -> Singles:
        # Rows are in single precision, so that thresholds can be, too, without a change.
        return single_limits(self.threshold)

    @cached_property
    def _routes(self) -> list[FlatTree]:
        ends = np.cumsum(self.sizes)[:-1]
        arrays = self.feature, self._limits, self.missing_left, self.right
        trees = zip(*(np.split(each, ends) for each in arrays), strict=True)
        return [FlatTree(*tree) for tree in trees]

    def walk(
        self, X: pd.DataFrame | NDArray[Any], progress: Progress = silent
    ) -> Iterator[tuple[slice, Iterator[Ints]]]:
        """Yield blocks of rows, and for each tree after tree the leaf number of its rows."""
        for first, columns in self._encoded(X):
            for begin in range(0, columns.shape[1], BLOCK):
                end = min(begin + BLOCK, columns.shape[1])
                progress((first + begin) / len(X), "Sending rows through the trees")
                yield slice(first + begin, first + end), self._leaves(columns, begin, end)

    def _encoded(self, X: pd.DataFrame | NDArray[Any]) -> Iterator[tuple[int, Singles]]:
        """Yield columns of some rows after the other, which take little memory, and the first."""
        for first in range(0, max(len(X), 1), ENCODED):
            yield first, self.columns.matrix(X[first : first + ENCODED]).T

    def _leaves(self, columns: Singles, begin: int, end: int) -> Iterator[Ints]:
        for first, routes in zip(self.leaf_starts.tolist(), self._routes, strict=True):
            yield first + routes.leaves(columns, begin, end)

    def apply(self, X: pd.DataFrame | NDArray[Any]) -> NDArray[np.int32]:
        """Return the leaf numbers, rows by trees."""
        leaf = np.empty((len(X), self.trees), dtype=np.int32)
        for rows, found in self.walk(X):
            for number, inside in enumerate(found):
                leaf[rows, number] = inside
        return leaf

    def partition(self, tree: int) -> Partition:
        """Return one tree as a partition whose nodes count no rows."""
        part = slice(self.starts[tree], self.starts[tree] + self.sizes[tree])
        feature, right = self.feature[part], self.right[part]
        inner = feature >= 0
        left = np.where(inner, np.arange(feature.size) + 1, 0)
        none = np.zeros(feature.size, dtype=np.int64)
        threshold = np.where(inner, self.threshold[part], np.nan)
        sides = inner & self.missing_left[part]
        grown = GrownTree(feature, threshold, sides, left, right, none, none.astype(np.float64))
        return to_partition(grown, self.columns.encoded())
