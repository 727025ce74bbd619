"""Reliability curves: observed positive rate against predicted probability."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.metrics import CALIBRATION_BINS, equal_mass_bins

CONFIDENCE = 0.95


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted against observed rate, one entry per bin in ascending order.

    Parameters
    ----------
    name : str
        What was scored, for the legend.
    predicted, observed : array
        Mean probability and rate of positives in the bin.
    low, high : array
        95 % Wilson interval of the observed rate.
    count : array of int
        Rows in the bin.
    """

    name: str
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    count: Ints


def reliability_curve(name: str, cells: Cells, *, bins: int = CALIBRATION_BINS) -> ReliabilityCurve:
    """Compare predicted and observed rates in bins of equal weight.

    Rows with equal scores share a bin and empty bins are left out, so there may be fewer
    than `bins`. Weighted rows count as `(Σ w)² / Σ w²` rows in the interval.
    """
    bin_of, w = np.zeros(0, dtype=np.int64), cells.weight
    if w.size:
        bin_of = equal_mass_bins(cells.centre, bins, cells.given_weight)
    count, mass = np.bincount(bin_of, cells.rows).astype(np.int64), np.bincount(bin_of, w)
    used = mass > 0
    mass = mass[used]
    predicted = np.bincount(bin_of, w * expit(cells.score))[used] / mass
    observed = np.bincount(bin_of, w * cells.y)[used] / mass
    rows = mass**2 / np.bincount(bin_of, cells.squares)[used]
    low, high = wilson_interval(observed, rows)
    return ReliabilityCurve(name, predicted, observed, low, high, count[used])


def wilson_interval(rate: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % Wilson interval of an observed rate.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.0]), np.array([20.0]))
    >>> f"{low[0]:.3f} to {high[0]:.3f}"
    '0.000 to 0.161'
    """
    z = ndtri((1 + CONFIDENCE) / 2)
    centre = (rate + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * np.sqrt(rate * (1 - rate) / rows + (z / (2 * rows)) ** 2)
    # Rounding must not push an end past the rate itself where that is 0 or 1.
    return np.clip(centre - half, 0, rate), np.clip(centre + half, rate, 1)
