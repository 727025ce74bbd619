"""Rows of a score-based tree as codes: the cell of their score and their label.

Trees that read scores add up functions of score and label. Rows whose scores lie close
together share a cell, so such a function is a short table, and a row is its place there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import choose_bins
from hetcal.ranking import Labels

CELLS = 1024
FEW = 100_000  # rows whose values are sorted
Codes = NDArray[np.uint16]
Rows = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class ScoreCodes:
    """Scores and labels of all rows.

    Parameters
    ----------
    code : array of uint16, one per row
        `2 * cell + label`.
    score : array of float, one per code
        Mean score of the cell, on a scale of mean 0 and deviation 1 over all rows.
    weight : array of float or None
        Row weights.
    """

    code: Codes
    score: Floats
    weight: Floats | None = None

    @classmethod
    def of_rows(cls, scores: Floats, y: Labels, weight: Floats | None = None) -> "ScoreCodes":
        """Put rows into at most 1,024 cells: one per value if there are few, else of equal mass.

        Single precision tells cells apart; scores beyond it share the outermost cells.
        """
        unit = scores / (np.abs(scores).max() or 1.0)  # keeps sums of huge scores finite
        single = unit.astype(np.float32)
        cell = _cells(single)
        rows = np.bincount(cell, minlength=CELLS)
        mean = np.bincount(cell, unit, CELLS) / np.maximum(rows, 1)
        code = 2 * cell.astype(np.uint16) + np.asarray(y).astype(np.uint16)
        return cls(code, np.repeat(_standardised(mean, rows), 2), weight)

    @cached_property
    def label(self) -> Floats:
        """The label of each code."""
        return (np.arange(self.score.size) % 2).astype(np.float64)

    def masses(self, rows: Rows, power: int = 1) -> Floats:
        """Return the number of rows per code, or the sum of a power of their weights."""
        worth = None if self.weight is None else self.weight[rows] ** power
        found = np.bincount(self.code.take(rows), worth, self.score.size)
        return found.astype(np.float64)


def _cells(values: Singles) -> NDArray[np.uint16]:
    """Return the cell of each value: one per value or bin, or shared by neighbours."""
    few = len(values) <= FEW
    bins = np.unique(values, return_inverse=True)[1] if few else choose_bins(values).find(values)
    rows = np.bincount(bins)
    some = np.flatnonzero(rows)
    if some.size <= CELLS:
        number = np.arange(some.size)
    else:
        number = (np.cumsum(rows[some]) - 1) * CELLS // len(values)
    cell = np.zeros(rows.size, dtype=np.uint16)
    cell[some] = number
    return cell.take(bins)


def _standardised(mean: Floats, rows: Ints) -> Floats:
    """Return cell means on the scale of mean 0 and deviation 1; 0 if all are equal."""
    distance = mean - np.average(mean, weights=rows)
    spread = np.average(distance**2, weights=rows)
    return distance / np.sqrt(spread or 1.0)
