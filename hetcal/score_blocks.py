"""Scores in order, and bins of them that hold equal weight and part no cell."""

from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.platt_newton import TINY


@dataclass(frozen=True, eq=False)
class ScoreBlocks:
    """Stretches of score that the intervals of cells cover: of rows, their distinct scores.

    Weights are scaled to the number of rows that all of them are worth.

    Parameters
    ----------
    low : array
        Lowest score of each block, rising.
    weight, positives : array
        Weight up to each block, and that of label 1: one entry more than blocks, from 0 on.
    below : array
        Weight below each cell, in the order of the blocks.
    block : array of int
        Block of each cell, in the same order.
    """

    low: Floats
    weight: Floats
    positives: Floats
    below: Floats
    block: Ints

    @classmethod
    def of(cls, cells: Cells) -> "ScoreBlocks":
        """Put cells in order."""
        order = np.argsort(cells.low, kind="stable")
        low, high = cells.low[order], np.maximum.accumulate(cells.high[order])
        fresh = np.append(True, low[1:] > high[:-1])[: low.size]
        first = np.flatnonzero(fresh)
        unit = 1.0 if cells.counted else cells.weight.sum() / max(cells.squares.sum(), TINY)
        weight = cells.weight[order] * unit
        ones = weight * (cells.y[order] == 1)
        up_to, positives = (np.append(0.0, np.cumsum(each)) for each in (weight, ones))
        ends = np.append(first, low.size)
        block = np.cumsum(fresh) - 1
        return cls(low[first], up_to[ends], positives[ends], up_to[:-1], block)

    def bins(self, count: int) -> Ints:
        """Return the first block of each bin, and the number of blocks after the last.

        The bins are those of `hetcal.metrics.equal_mass_bins`; there are fewer where many
        rows share a score.
        """
        levels = np.arange(1, count) * (self.weight[-1] / count)
        cell = np.searchsorted(self.below, levels, "left")
        first = np.unique(self.block[np.minimum(cell, self.block.size - 1)])
        return np.concatenate([[0], first[first > 0], [self.low.size]])
