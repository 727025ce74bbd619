"""The way of rows through a tree, a block of rows at a time, which stays in the cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal import tree_kernels
from hetcal.arrays import Bools, Ints, Singles
from hetcal.kernels import compiled, use_compiled

BLOCK, SENT = 1 << 15, 1 << 16  # rows at a time
FEW = 32  # a node with less than one row in 32 lists its rows instead of marking them
MOST_SPLITS = 100  # that compiled code asks every row about; leaves have a number below 128


@dataclass(frozen=True)
class Question:
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

    def asked(self, rows: slice) -> tuple[NDArray[Any], np.generic, bool]:
        """Return numbers of rows that go left up to a limit, and the side of missing ones."""
        if self.sides is None:
            return np.ascontiguousarray(self.values[rows]), self.limit, self.missing_left
        return (~self.sides)[self.values[rows]].view(np.uint8), np.uint8(0), False

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
    splits : mapping of int to Question
        The inner nodes by position.
    leaves : mapping of int to int
        The leaf id by position.
    """

    splits: Mapping[int, Question]
    leaves: Mapping[int, int]

    def leaf_ids(self, rows: int) -> Ints:
        """Return the leaf id of each row."""
        if len(self.splits) <= MOST_SPLITS and use_compiled():
            return self._send(rows)
        leaf = np.empty(rows, dtype=np.int32)
        small = np.empty(min(rows, BLOCK), dtype=np.min_scalar_type(max(self.leaves.values())))
        for start in range(0, rows, BLOCK):
            block = small[: rows - start]
            self._mark(start, block)
            leaf[start : start + BLOCK] = block
        return leaf

    def _send(self, rows: int) -> Ints:
        """Ask every row about every split: simple steps, done for many rows at a time."""
        leaf, at = np.empty(rows, dtype=np.int32), np.empty(min(rows, SENT), dtype=np.int8)
        for start in range(0, rows, SENT):
            block = at[: rows - start]
            block[:] = self._numbers[0]
            for position in self._from_the_root:
                self._send_on(position, slice(start, start + block.size), block)
            leaf[start : start + SENT] = block
        return leaf

    def _send_on(self, position: int, rows: slice, at: NDArray[np.int8]) -> None:
        split = self.splits[position]
        way = (self._numbers[each] for each in (position, split.left, split.right))
        compiled(tree_kernels.send)(*split.asked(rows), at, *way)

    @cached_property
    def _numbers(self) -> dict[int, np.int8]:
        """The id of a leaf, and for a split a number below 0."""
        splits = {position: np.int8(-1 - i) for i, position in enumerate(self.splits)}
        return splits | {position: np.int8(leaf) for position, leaf in self.leaves.items()}

    @cached_property
    def _from_the_root(self) -> list[int]:
        """The splits, each before those below it."""
        found = [0] if 0 in self.splits else []
        for position in found:
            split = self.splits[position]
            found += [each for each in (split.left, split.right) if each in self.splits]
        return found

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
