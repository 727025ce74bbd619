"""Other maps from cells: isotonic, histogram binning, and a shift of the logit alone.

All take raw scores and give probabilities, leaf by leaf, as Platt's map does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.leaf_ids import leaf_positions
from hetcal.metrics import equal_mass_bins
from hetcal.platt_newton import TINY

MOST_STEPS = 200
SMALL_STEP = 1e-13


@dataclass(frozen=True, eq=False)
class PointMap:
    """A map through points, with straight lines between them and level beyond them.

    Parameters
    ----------
    leaf : int
        Leaf id.
    score, probability : array
        The points, in ascending order of score; empty for a leaf without rows.
    """

    leaf: int
    score: Floats
    probability: Floats

    def predict(self, scores: Floats) -> Floats:
        """Return the probability of each score; NaN for a leaf without rows."""
        if not self.score.size:
            return np.full(len(scores), np.nan)
        return np.interp(scores, self.score, self.probability)


@dataclass(frozen=True, eq=False)
class StepMap:
    """A map that is level within bins.

    Parameters
    ----------
    leaf : int
        Leaf id.
    edges : array
        Ascending; a score that equals an edge belongs to the bin above it.
    probability : array
        Of each bin, one more than there are edges; NaN for a leaf without rows.
    """

    leaf: int
    edges: Floats
    probability: Floats

    def predict(self, scores: Floats) -> Floats:
        """Return the probability of each score."""
        return self.probability[np.searchsorted(self.edges, scores, "right")]


def fit_isotonic(cells: Cells, leaves: Sequence[int]) -> tuple[PointMap, ...]:
    """Fit in every leaf the rising map with the least squared error, as scikit-learn does.

    The points are the centres of the cells, where both labels of a bin meet.
    """
    return tuple(_isotonic(cells.inside(each), each) for each in leaves)


def fit_histogram(cells: Cells, leaves: Sequence[int], bins: int = 15) -> tuple[StepMap, ...]:
    """Give every score the rate of positives in its bin, `bins` of equal weight in every leaf."""
    return tuple(_histogram(cells.inside(each), each, bins) for each in leaves)


def fit_bias(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return for every leaf the shift of the logit with the highest likelihood.

    With it the mean probability of a leaf is its rate of positives; NaN with one class only.
    The shift lies between the logit of the rate less the highest and less the lowest score:
    Newton's steps that leave this bracket, which shrinks at every step, halve it instead.
    """
    count, group = len(leaves), leaf_positions(cells.leaf, leaves)
    inside = group >= 0
    cells, group = cells.chosen(inside), group[inside]
    weight = _sums(group, cells.weight, count)
    positives = _sums(group, cells.weight * (cells.y == 1), count)
    rate = np.divide(positives, weight, out=np.full(count, np.nan), where=weight > 0)
    rate[(rate <= 0) | (rate >= 1)] = np.nan
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, group, cells.score)
    np.maximum.at(high, group, cells.score)
    with np.errstate(invalid="ignore"):
        return _solve(cells, group, positives, logit(rate) - high, logit(rate) - low)


def _isotonic(cells: Cells, leaf: int) -> PointMap:
    score, place = np.unique(cells.centre, return_inverse=True)
    if not score.size:
        return PointMap(leaf, score, score)
    weight = _sums(place, cells.weight, score.size)
    rate = _sums(place, cells.weight * (cells.y == 1), score.size) / weight
    return PointMap(leaf, score, isotonic_regression(rate, weights=weight).x)


def _histogram(cells: Cells, leaf: int, bins: int) -> StepMap:
    if not cells.score.size:
        return StepMap(leaf, np.zeros(0), np.array([np.nan]))
    _, bin_of = np.unique(equal_mass_bins(_blocks(cells), bins, cells.weight), return_inverse=True)
    count = int(bin_of.max()) + 1
    low = np.full(count, np.inf)
    np.minimum.at(low, bin_of, cells.low)
    weight = _sums(bin_of, cells.weight, count)
    return StepMap(leaf, low[1:], _sums(bin_of, cells.weight * (cells.y == 1), count) / weight)


def _blocks(cells: Cells) -> Floats:
    """Give the stretches that the intervals cover numbers: no cut goes through an interval."""
    order = np.argsort(cells.low, kind="stable")
    reached = np.maximum.accumulate(cells.high[order])
    block = np.empty(order.size)
    block[order] = np.cumsum(np.append(True, cells.low[order][1:] > reached[:-1]))
    return block


def _solve(cells: Cells, group: Ints, positives: Floats, low: Floats, high: Floats) -> Floats:
    """Find where the probabilities of each group add up to its positives."""
    shift = low / 2 + high / 2
    for _ in range(MOST_STEPS):
        p = expit(cells.score + shift[group])
        gap = positives - _sums(group, cells.weight * p, shift.size)
        low, high = np.where(gap > 0, shift, low), np.where(gap <= 0, shift, high)
        slope = np.maximum(_sums(group, cells.weight * p * (1 - p), shift.size), TINY)
        with np.errstate(over="ignore", invalid="ignore"):
            step = shift + gap / slope
        # NaN stays where it is, and so is never outside.
        outside = (step < low) | (step > high)
        step = np.where(outside, low / 2 + high / 2, step)
        still = np.abs(step - shift) <= SMALL_STEP * np.maximum(1, np.abs(shift))
        shift = step
        if np.all(still | np.isnan(shift)):
            break
    return shift


def _sums(group: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(group, values, count).astype(np.float64)
