"""The way of rows through a tree, a block of rows at a time, which stays in the cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Ints, Singles

BLOCK = 1 << 15
FEW = 32  # a node with less than one row in 32 lists its rows instead of marking them


@dataclass(frozen=True)
class Split:
    """A split with the column that it reads.

    Parameters
    ----------
    values : array of float32 or int
        The column: numbers, or codes of categories.
    limit : float32
        Numbers up to the limit go left.
    sides : array of bool or None
        For each code whether it goes left; None for numbers.
    missing_left : bool
        Side of the missing numbers.
    left, right : int
        Positions of the two children.
    """

    values: Singles | Ints
    limit: np.float32
    sides: Bools | None
    missing_left: bool
    left: int
    right: int

    def goes_left(self, rows: slice | Ints) -> Bools:
        """Tell which of the rows go left."""
        values = self.values[rows]
        if self.sides is not None:
            return self.sides[values]
        left: Bools = values <= self.limit
        if self.missing_left:
            left |= np.isnan(values)
        return left


@dataclass(frozen=True)
class Routes:
    """A tree whose splits know their columns.

    Parameters
    ----------
    splits : mapping of int to Split
        The inner nodes by position.
    leaves : mapping of int to int
        The leaf id by position.
    """

    splits: Mapping[int, Split]
    leaves: Mapping[int, int]

    def leaf_ids(self, rows: int) -> Ints:
        """Return the leaf id of each row."""
        leaf = np.empty(rows, dtype=np.int64)
        small = np.empty(min(rows, BLOCK), dtype=np.min_scalar_type(max(self.leaves.values())))
        for start in range(0, rows, BLOCK):
            block = small[: rows - start]
            self._mark(start, block)
            leaf[start : start + BLOCK] = block
        return leaf

    def _mark(self, start: int, leaf: NDArray[Any]) -> None:
        """Write the leaf ids of a block; the rows of a node are marked."""
        leaf[:] = 0
        waiting: list[tuple[int, Bools]] = [(0, np.ones(leaf.size, dtype=np.bool_))]
        while waiting:
            node, inside = waiting.pop()
            if node in self.leaves:  # arithmetic is several times faster than writing by a mask
                leaf += inside.view(np.uint8) * leaf.dtype.type(self.leaves[node])
            elif FEW * np.count_nonzero(inside) < inside.size:
                self._list(node, np.flatnonzero(inside), start, leaf)
            else:
                split = self.splits[node]
                left = split.goes_left(slice(start, start + inside.size))
                left &= inside
                waiting += [(split.left, left), (split.right, inside ^ left)]

    def _list(self, top: int, rows: Ints, start: int, leaf: NDArray[Any]) -> None:
        """Write the leaf ids below a node; its rows are listed."""
        waiting: list[tuple[int, Ints]] = [(top, rows)]
        while waiting:
            node, inside = waiting.pop()
            if node in self.leaves:
                leaf[inside] = self.leaves[node]
            elif inside.size:
                split = self.splits[node]
                left = split.goes_left(inside + start)
                waiting += [(split.left, inside[left]), (split.right, inside[~left])]
