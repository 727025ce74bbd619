"""The way of a block of rows through one tree of many."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Ints, Singles
from hetcal.ensemble_kernels import end_of_path, first_left
from hetcal.kernels import compiled, use_compiled

SMALL = 64  # most leaves of a tree for which each is a bit of a number


@dataclass(frozen=True, eq=False)
class FlatTree:
    """A tree whose nodes come first, then their left part, then their right part.

    Parameters
    ----------
    feature : array of int
        Column that a node cuts; -1 for a leaf.
    limit : array of float32
        Values up to it go left.
    missing_left : array of bool
        Side of the missing values.
    right : array of int
        Position of the right child.
    """

    feature: Ints
    limit: Singles
    missing_left: Bools
    right: Ints

    @cached_property
    def _leaves_before(self) -> Ints:
        return np.cumsum(self.feature < 0) - (self.feature < 0)

    @cached_property
    def _small(self) -> bool:
        return int((self.feature < 0).sum()) <= SMALL

    @cached_property
    def _splits(self) -> tuple[Ints, Singles, Bools, NDArray[Any]]:
        """Of the splits alone: column, limit, side, and the leaves of the left part as bits."""
        inner = self.feature >= 0
        before, one = self._leaves_before.astype(np.uint64), np.uint64(1)
        crossed = (one << before[self.right[inner]]) - (one << before[inner])
        narrow = np.uint32 if (self.feature < 0).sum() <= 32 else np.uint64
        limit, missing_left = self.limit[inner], self.missing_left[inner]
        return self.feature[inner], limit, missing_left, crossed.astype(narrow)

    def leaves(self, columns: Singles, begin: int, end: int) -> Ints:
        """Return the leaf, from 0, of the rows from `begin` to `end`; `columns` by rows."""
        if self._small:
            if use_compiled():
                return compiled(first_left)(columns, begin, end, *self._splits)
            return self._mark(columns[:, begin:end])
        if use_compiled():
            nodes = self.feature, self.limit, self.missing_left, self.right
            return self._leaves_before[compiled(end_of_path)(columns, begin, end, *nodes)]
        return self._list(columns[:, begin:end])

    def _mark(self, columns: Singles) -> Ints:
        """Mark the rows of a split: the numpy reference of `first_left`."""
        leaf = np.zeros(columns.shape[1], dtype=np.uint8)
        waiting: list[Bools] = [np.ones(leaf.size, dtype=np.bool_)]
        for column, limit, missing_left, passed, split_left, split_right in self._steps:
            values, inside = columns[column], waiting.pop()
            right = _goes_right(values, limit, missing_left)
            right &= inside
            leaf += right.view(np.uint8) * passed
            if split_right:
                waiting.append(right)
            if split_left:
                waiting.append(inside ^ right)
        return leaf.astype(np.int64)

    @cached_property
    def _steps(self) -> list[tuple[int, np.float32, bool, np.uint8, bool, bool]]:
        """Column, limit and side of each split, its leaves on the left, which children split."""
        splits, before = self.feature >= 0, self._leaves_before
        inner = np.flatnonzero(splits)
        right = self.right[inner]
        passed = (before[right] - before[inner]).astype(np.uint8)
        found = zip(
            self.feature[inner].tolist(),
            self.limit[inner],
            self.missing_left[inner].tolist(),
            passed,
            splits[inner + 1].tolist(),
            splits[right].tolist(),
            strict=True,
        )
        return list(found)

    def _list(self, columns: Singles) -> Ints:
        """List the rows of a node: the numpy reference of `end_of_path`."""
        leaf = np.zeros(columns.shape[1], dtype=np.int64)
        waiting: list[Ints] = [np.arange(leaf.size)]
        for position, column in enumerate(self.feature.tolist()):
            inside = waiting.pop()
            if column < 0:
                leaf[inside] = self._leaves_before[position]
            else:
                right = _goes_right(
                    columns[column, inside], self.limit[position], self.missing_left[position]
                )
                waiting += [inside[right], inside[~right]]
        return leaf


def _goes_right(values: Singles, limit: np.float32, missing_left: bool) -> Bools:
    return values > limit if missing_left else ~(values <= limit)
