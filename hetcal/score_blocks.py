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
        Weight of each block, and that of label 1.
    below_last : array
        Weight below the last cell of each block; of weighted rows the heaviest comes last.
    """

    low: Floats
    weight: Floats
    positives: Floats
    below_last: Floats

    @classmethod
    def of(cls, cells: Cells) -> "ScoreBlocks":
        """Put cells in order."""
        # How rows with equal scores are ordered must not decide where a bin starts.
        order = np.lexsort((() if cells.counted else (cells.weight,)) + (cells.low,))
        low, high = cells.low[order], np.maximum.accumulate(cells.high[order])
        fresh = np.append(True, low[1:] > high[:-1])[: low.size]
        first = np.flatnonzero(fresh)
        unit = 1.0 if cells.counted else cells.weight.sum() / max(cells.squares.sum(), TINY)
        weight = cells.weight[order] * unit
        ones = weight * (cells.y[order] == 1)
        masses = _sums((weight, ones), first)
        last = np.append(first[1:], low.size) - 1
        return cls(low[first], *masses, np.cumsum(masses[0]) - weight[last])

    def bins(self, count: int) -> Ints:
        """Return the first block of each bin, and the number of blocks after the last.

        The bins are those of `hetcal.metrics.equal_mass_bins`; there are fewer where many
        rows share a score.
        """
        levels = np.arange(1, count) * (self.weight.sum() / count)
        found = np.searchsorted(self.below_last, levels, "left")
        first = np.unique(np.minimum(found, self.low.size - 1))
        return np.concatenate([[0], first[first > 0], [self.low.size]])

    def sums(self, bounds: Ints) -> tuple[Floats, Floats]:
        """Return the weight of each bin, and that of label 1.

        They are added up bin by bin: a difference of sums would lose light rows next to heavy
        ones.
        """
        return _sums((self.weight, self.positives), bounds[:-1])


def _sums(values: tuple[Floats, Floats], starts: Ints) -> tuple[Floats, Floats]:
    one, other = (np.add.reduceat(each, starts) for each in values)
    return one, other
