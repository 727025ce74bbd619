"""Weighted cells: what rows become when they have a leaf, a label and a score.

A cell is a group of rows with the same label in the same leaf and nearly equal scores. A single
row is a cell, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcal.arrays import Floats, Ints, Labels
from hetcal.errors import CalibrationError

FEW_ROWS = 1024

Result = TypeVar("Result")


def _packed_order(scores: Floats) -> tuple[Ints, Ints]:
    """Order rows by the leading bits of their scores, and by row number where these are equal.

    Row number and leading bits (the second array) share one integer: sorting integers is several
    times faster than `argsort`.
    """
    bits = (scores + 0.0).view(np.int64)  # minus zero becomes zero
    bits ^= (bits >> 63) & np.int64(2**63 - 1)
    number = np.int64(2 ** (scores.size - 1).bit_length() - 1)
    bits &= ~number
    bits |= np.arange(scores.size)
    bits.sort()
    return bits & number, bits & ~number


def ascending_order(scores: Floats) -> Ints:
    """Order rows by score and tied rows by their number.

    Then tied weights are always added in the same order, and scores that rank the rows alike
    give equal sums to the last bit.
    """
    if scores.size < FEW_ROWS or scores.size >= 2**32:
        return np.argsort(scores, kind="stable")
    order, top = _packed_order(scores)
    ranked = scores[order]
    if np.any(ranked[1:] < ranked[:-1]):
        # Rows with equal leading bits are neighbours; only these are sorted again.
        same = top[1:] == top[:-1]
        close = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[close]
        order[close] = rows[np.argsort(scores[rows], kind="stable")]
    return order


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows, or groups of rows, as arrays of equal length."""

    score: Floats  # mean score of the rows of a cell, from which sums over rows are computed
    y: Labels  # 0 and 1
    leaf: Ints
    weight: Floats  # sum of the weights of the rows
    squares: Floats  # sum of their squares
    rows: Ints  # number of rows
    low: Floats  # all scores of the cell lie from `low` to `high`, both included
    high: Floats

    @classmethod
    def of_rows(
        cls, scores: Floats, y: Labels, leaf: Ints, weight: Floats | None = None
    ) -> "Cells":
        """Make every row a cell; rows without a finite score or without weight are left out."""
        used = np.isfinite(scores) if weight is None else np.isfinite(scores) & (weight > 0)
        score, y = np.asarray(scores, dtype=np.float64), np.asarray(y)
        if not used.all():  # millions of rows are not copied for nothing
            score, y, leaf = score[used], y[used], leaf[used]
            weight = None if weight is None else weight[used]
        one = np.broadcast_to(np.int64(1), score.size)  # takes no memory
        if weight is None:
            w = squares = np.broadcast_to(1.0, score.size)
        else:
            w = weight.astype(np.float64)
            squares = w**2
        return cls(score, y, leaf, w, squares, one, score, score)

    @classmethod
    def joined(cls, parts: "Sequence[Cells]") -> "Cells":
        """Put cells one after the other."""
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(each, name) for each in parts]) for name in names))

    @cached_property
    def centre(self) -> Floats:
        """Middle of the interval, by which cells are ranked.

        Cells of both labels in one bin share it and so are tied; their mean scores differ.
        """
        if self.low is self.high:  # rows
            return self.low
        return np.where(self.low == self.high, self.low, self.low / 2 + self.high / 2)

    @property
    def sketched(self) -> bool:
        """Whether a cell may hold rows with different scores."""
        return self.low is not self.high and not np.array_equal(self.low, self.high)

    @cached_property
    def order(self) -> Ints:
        """The cells in ascending order of their centres."""
        return ascending_order(self.centre)

    @cached_property
    def counted(self) -> bool:
        """Whether every row counts once."""
        return np.array_equal(self.weight, self.rows) and np.array_equal(self.squares, self.rows)

    @property
    def given_weight(self) -> Floats | None:
        """The weights; None where every cell is a row that counts once, which is faster."""
        return None if self.counted and bool(np.all(self.rows == 1)) else self.weight

    def cached(self, function: Callable[["Cells"], Result]) -> Result:
        """Compute something from the cells and cache it; cells do not change."""
        if function not in self._cache:
            self._cache[function] = function(self)
        return self._cache[function]

    @cached_property
    def _cache(self) -> dict[Callable[["Cells"], Any], Any]:
        return {}

    def chosen(self, which: NDArray[Any]) -> "Cells":
        """Return some of the cells, by a mask or by numbers; shared arrays stay shared."""
        arrays = [getattr(self, each.name) for each in fields(self)]
        score = self.score[which]
        taken = {id(self.score): score}
        for each in arrays:
            if id(each) not in taken:
                taken[id(each)] = _taken(each, which, score.size)
        return Cells(*(taken[id(each)] for each in arrays))

    def inside(self, leaf: int) -> "Cells":
        """Return the cells of one leaf."""
        return self.chosen(self.leaf == leaf)

    def mapped(self, logit: Callable[[Floats, Ints], Floats]) -> "Cells":
        """Return the cells with the logits that a function gives for scores and leaves.

        The mean score of a cell becomes the mean of its logits where the function is linear.
        """
        if self.low is self.score is self.high:  # rows: one pass over them is enough
            score = logit(self.score, self.leaf)
            return replace(self, score=score, low=score, high=score)
        one, other = logit(self.low, self.leaf), logit(self.high, self.leaf)
        low, high = np.minimum(one, other), np.maximum(one, other)
        score = np.clip(logit(self.score, self.leaf), low, high)
        return replace(self, score=score, low=low, high=high)


def _taken(values: NDArray[Any], which: NDArray[Any], count: int) -> NDArray[Any]:
    """Take `count` of the values; a broadcast value stays one."""
    if values.strides == (0,) and values.size:
        return np.broadcast_to(values[0], count)
    return values[which]


MAX_LEAVES = 1024
LARGEST_TABLE = 2**20


def whole_ids(leaf: ArrayLike) -> Ints:
    """Return leaf ids as integers, or refuse them.

    Examples
    --------
    >>> whole_ids([3.0, 7.0]).tolist()
    [3, 7]
    """
    ids = np.asarray(leaf)
    if ids.dtype.kind == "i":
        return ids
    if ids.dtype.kind not in "uf" or not (np.isfinite(ids) & (ids % 1 == 0)).all():
        raise CalibrationError(
            "The leaves of the rows are not whole numbers.",
            "Each row needs the id of its leaf, as the `apply` of a partition gives it.",
            "Give these ids, or number the leaves.",
        )
    return ids.astype(np.int64)


def leaf_positions(leaf: Ints, leaves: Sequence[int]) -> Ints:
    """Return the position of each leaf id in `leaves`; -1 where it is not there.

    Examples
    --------
    >>> leaf_positions(np.array([3, 7, 1]), [1, 2, 3]).tolist()
    [2, -1, 0]
    """
    ids = np.asarray(leaves, dtype=np.int64)
    if ids.size == 0 or len(leaf) == 0:
        return np.full(len(leaf), -1, dtype=np.int64)
    lowest, highest = int(leaf.min()), int(leaf.max())
    if ids[0] <= lowest and highest <= ids[-1] and (np.diff(ids) == 1).all():
        return np.asarray(leaf - ids[0])
    largest = max(int(ids.max()), highest)
    if min(int(ids.min()), lowest) >= 0 and largest < LARGEST_TABLE:
        table = np.full(largest + 1, -1, dtype=np.int64)
        table[ids] = np.arange(ids.size)
        return table[leaf]
    order = np.argsort(ids)
    place = np.searchsorted(ids, leaf, sorter=order).clip(max=len(ids) - 1)
    found = order[place]
    return np.where(ids[found] == leaf, found, -1)


def position_table(leaf: Ints, leaves: Sequence[int]) -> tuple[Ints, Ints]:
    """Return leaf ids and the position of each id from 0 on; -1 where it is not in `leaves`.

    The ids are those given, unless a table of them would be too large.
    """
    ids = np.asarray(leaves, dtype=np.int64)
    if ids.size and (ids.min() < 0 or ids.max() >= LARGEST_TABLE):
        return leaf_positions(leaf, leaves), np.arange(ids.size)
    table = np.full(ids.max(initial=-1) + 1, -1, dtype=np.int64)
    table[ids] = np.arange(ids.size)
    return leaf, table
