"""Predicted against observed rates bin by bin: the calibration error, plain and debiased."""

from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats


@dataclass(frozen=True, eq=False)
class BinGaps:
    """Sums over the rows of each bin; there is at least one bin, and all have weight.

    Parameters
    ----------
    mass, squares : array
        Of the weights, and of their squares.
    positive : array
        Of the weights of positive rows.
    gap : array
        Of weight times probability minus label.
    """

    mass: Floats
    squares: Floats
    positive: Floats
    gap: Floats

    @property
    def error(self) -> float:
        """Root of the weighted mean squared gap between predicted and observed rate."""
        return float(np.sqrt(self._mean(self._square)))

    @property
    def debiased(self) -> float:
        """The error without the bias of sampling noise (Kumar, Liang and Ma, 2019).

        The variance of the observed rate of each bin is subtracted from its squared gap; a
        negative mean counts as 0.
        """
        return float(np.sqrt(self._debiased_square))

    @property
    def _square(self) -> Floats:
        return (self.gap / self.mass) ** 2

    @property
    def _debiased_square(self) -> float:
        return max(self._mean(self._square - self._noise), 0.0)

    @property
    def _noise(self) -> Floats:
        """Variance of the observed rates, with Kish's number of rows; 0 for a single row."""
        rate, rows = self.positive / self.mass, self.mass**2 / self.squares
        return np.divide(rate * (1 - rate), rows - 1, out=np.zeros_like(rate), where=rows > 1)

    def _mean(self, values: Floats) -> float:
        return float(np.sum(self.mass * values) / self.mass.sum())
