"""A joint sketch: rows counted by leaf, label and their logits before and after at once.

A scheme of many partitions gives rows of one leaf and one score different logits, so that no
sketch of the scores before tells what it did.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.grid import Grid, grid_for_most
from hetcal.leaf_ids import leaf_positions

MOST_CELLS = 2**18  # a few MB once packed


@dataclass(frozen=True, eq=False)
class Side:
    """The logits before, or those after.

    Parameters
    ----------
    grid : Grid
        The bins.
    total : array
        Weighted sum of logits in each cell.
    lowest, highest : float
        The extreme logits; plus and minus infinity without rows.
    """

    grid: Grid
    total: Floats
    lowest: float
    highest: float


@dataclass(frozen=True, eq=False)
class JointSketch:
    """What is kept of rows that have two logits: only the cells that hold rows.

    Parameters
    ----------
    leaves : tuple of int
        Leaf ids.
    key : array of int
        Ascending numbers of the cells: position of the leaf, bin before, bin after and label,
        the last counting fastest. All other arrays are of the same length.
    rows : array of int
        Number of rows.
    before, after : Side
        The logits, in equally many bins.
    weight, squares : array or None
        Sum of weights and of their squares; None where every row counts once.
    """

    leaves: tuple[int, ...]
    key: Ints
    rows: Ints
    before: Side
    after: Side
    weight: Floats | None
    squares: Floats | None

    @property
    def bins(self) -> int:
        """Number of bins of either side."""
        return self.before.grid.bins

    @cached_property
    def cells(self) -> tuple[Cells, Cells]:
        """The same cells with the logits before and with those after."""
        position, before, after, label = self._places
        y = label.astype(np.int8)
        leaf = np.asarray(self.leaves, dtype=np.int64)[position]
        weight = self.rows.astype(np.float64) if self.weight is None else self.weight
        squares = weight if self.squares is None else self.squares

        def scored(side: Side, bins: Ints) -> Cells:
            score, low, high = self._intervals(side, bins, weight)
            return Cells(score, y, leaf, weight, squares, self.rows, low, high)

        return scored(self.before, before), scored(self.after, after)

    def _intervals(self, side: Side, bins: Ints, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mean logit of each cell, and the lowest and highest that it may hold."""
        low = np.maximum(side.grid.low(bins), side.lowest)
        high = np.minimum(side.grid.high(bins), side.highest)
        with np.errstate(over="ignore"):
            score = np.clip(side.total / weight, low, high)  # a mean may be rounded out of its bin
        if self.weight is None:  # a row that is alone in its cell is known exactly
            alone = self.rows == 1
            low, high = np.where(alone, score, low), np.where(alone, score, high)
        return score, low, high

    def coarser(self) -> "JointSketch":
        """Join neighbouring bins of both sides in pairs."""
        position, before, after, y = self._places
        half = self.bins // 2
        one, other = (
            replace(each, grid=Grid(each.grid.reach, half)) for each in (self.before, self.after)
        )
        key = _key(position, before >> 1, after >> 1, y, half)
        return replace(self, key=key, before=one, after=other).gathered()

    def gathered(self) -> "JointSketch":
        """Add up cells of the same number, and put them in order."""
        key, place = np.unique(self.key, return_inverse=True)

        def summed(values: Floats | Ints) -> Floats:
            return np.bincount(place, values).astype(np.float64)

        return JointSketch(
            self.leaves,
            key,
            summed(self.rows).astype(np.int64),
            replace(self.before, total=summed(self.before.total)),
            replace(self.after, total=summed(self.after.total)),
            None if self.weight is None else summed(self.weight),
            None if self.squares is None else summed(self.squares),
        )

    @property
    def _places(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Position of the leaf, bin before, bin after and label of each cell."""
        rest, after = np.divmod(self.key >> 1, self.bins)
        position, before = np.divmod(rest, self.bins)
        return position, before, after, self.key & 1


def joint_sketch(
    before: Cells, after: Cells, leaves: Sequence[int], most: int = MOST_CELLS
) -> JointSketch:
    """Count rows by both of their logits.

    Parameters
    ----------
    before, after : Cells
        The same rows, each a cell of its own.
    leaves : sequence of int
        Leaf ids; rows of other leaves are left out.
    most : int, optional
        Bins become as coarse as it takes to have no more cells.
    """
    position = leaf_positions(before.leaf, leaves)
    used = position >= 0
    rows, y = before.chosen(used), before.y[used].astype(np.int64)
    one, other = _side(rows.score, rows.weight), _side(after.score[used], rows.weight)
    bins = one.grid.bin_of(rows.score), other.grid.bin_of(after.score[used])
    sketch = JointSketch(
        tuple(map(int, leaves)),
        _key(position[used], *bins, y, one.grid.bins),
        rows.rows,
        one,
        other,
        None if rows.counted else rows.weight,
        None if rows.counted else rows.squares,
    ).gathered()
    while sketch.key.size > most and sketch.bins > 2:
        sketch = sketch.coarser()
    return sketch


def _key(position: Ints, before: Ints, after: Ints, y: Ints, bins: int) -> Ints:
    return ((position * bins + before) * bins + after) * 2 + y


def _side(scores: Floats, weight: Floats) -> Side:
    lowest, highest = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    ends = float(lowest) + 0.0, float(highest) + 0.0  # zero has one sign only
    return Side(grid_for_most(scores), weight * scores, *ends)
