"""Rows of a score-based tree as codes: the cell of their score and their label.

Trees that read scores add up functions of score and label. Rows whose scores lie close
together share a cell, so such a function is a short table, and a row is its place there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetcal import score_kernels
from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import Bytes, choose_bins
from hetcal.kernels import compiled, use_compiled
from hetcal.ranking import Labels
from hetcal.row_passes import REFERENCE, compiled_passes

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
        largest = max(scores.max(), -scores.min()) or 1.0  # keeps sums of huge scores finite
        single = np.empty(len(scores), dtype=np.float32)
        np.divide(scores, largest, out=single, casting="same_kind")
        keys = _keys(single, np.asarray(y).astype(np.uint8))
        sums = _sums(keys, scores, largest)
        cell = _cells(sums[0].astype(np.int64))
        rows, total = (np.bincount(cell, each, CELLS) for each in sums)
        mean = total / np.maximum(rows, 1)
        code = (2 * cell + np.arange(cell.size) % 2).astype(np.uint16)
        return cls(code.take(keys), np.repeat(_standardised(mean, rows), 2), weight)

    @cached_property
    def label(self) -> Floats:
        """The label of each code."""
        return (np.arange(self.score.size) % 2).astype(np.float64)

    def masses(self, rows: Rows, power: int = 1) -> Floats:
        """Return the number of rows per code, or the sum of a power of their weights."""
        if self.weight is None and use_compiled():
            return compiled(score_kernels.count)(self.code, rows, np.zeros(self.score.size))
        worth = None if self.weight is None else self.weight[rows] ** power
        found = np.bincount(self.code.take(rows), worth, self.score.size)
        return found.astype(np.float64)


def _keys(values: Singles, label: Bytes) -> NDArray[np.integer]:
    """Return twice the place of each value, or of its bin, plus the label."""
    if len(values) <= FEW:
        return 2 * np.unique(values, return_inverse=True)[1] + label
    bins = choose_bins(values)
    passes = compiled_passes() if use_compiled() else REFERENCE
    keys = np.empty(len(values), dtype=np.uint16)
    passes.bin_column(values, label, bins, np.full_like(bins.only, np.nan), keys, 1)
    return keys


def _sums(keys: NDArray[np.integer], scores: Floats, unit: float) -> Floats:
    """Return the number of rows of each key, and the sum of their scores."""
    if not use_compiled():
        return np.array([np.bincount(keys), np.bincount(keys, scores / unit)])
    sums = np.zeros((2, int(keys.max()) + 1))
    compiled(score_kernels.add_scores)(keys, scores, unit, sums)
    return sums


def _cells(rows: Ints) -> Ints:
    """Return the cell of each key, given their rows: one per value or bin, or of neighbours."""
    both = np.pad(rows, (0, rows.size % 2)).reshape(-1, 2).sum(axis=1)
    some = both > 0
    cell = np.cumsum(some) - 1
    if cell[-1] >= CELLS:
        cell = (np.cumsum(both) - 1) * CELLS // both.sum()
    return np.where(some, cell, 0).repeat(2)[: rows.size]


def _standardised(mean: Floats, rows: Ints) -> Floats:
    """Return cell means on the scale of mean 0 and deviation 1; 0 if all are equal."""
    distance = mean - np.average(mean, weights=rows)
    spread = np.average(distance**2, weights=rows)
    return distance / np.sqrt(spread or 1.0)
