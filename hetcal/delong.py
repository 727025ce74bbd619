"""The lift in AUC and how sure it is: DeLong's test for two scores of the same rows."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from hetcal.arrays import Bools, Floats, Ints
from hetcal.ranking import Labels, ascending_order, rank_class

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Lift:
    """What calibration did to the AUC.

    Parameters
    ----------
    before, after : float
        AUC before and after.
    auc : float
        `after - before`.
    percent : float
        `100 (after / before - 1)`, the paper's lift.
    se : float
        Standard error of `auc`.
    z, p : float
        `auc / se` and its two-sided p-value; 0 and 1 when the two scores rank all
        pairs alike.
    low, high : float
        95 % confidence interval of `auc`.
    """

    before: float
    after: float
    auc: float
    percent: float
    se: float
    z: float
    p: float
    low: float
    high: float


def paired_delong(y: Labels, before: Floats, after: Floats, weight: Floats | None = None) -> Lift:
    """Compare the AUC of two scores of the same rows.

    All is NaN with one class only; the standard error is NaN with a single row of a class.
    """
    return lift_of(y, placements(y, before, weight), placements(y, after, weight), weight)


def placements(y: Labels, scores: Floats, weight: Floats | None = None) -> Floats:
    """Share of the other class that each row is on the right side of, ties counting half.

    The weighted mean over the positive rows is the AUC; so is that over the negative rows.
    """
    positive = np.asarray(y) == 1
    ones, zeros = (_rows_by_score(side, scores, weight) for side in (positive, ~positive))
    one, zero = (
        rank_class(scores[rows], None if weight is None else weight[rows]) for rows in (ones, zeros)
    )
    placed = np.full(scores.size, np.nan)
    if one.total * zero.total:
        placed[ones] = zero.below(one.scores) / zero.total
        placed[zeros] = 1 - one.below(zero.scores) / one.total
    return placed


def lift_of(y: Labels, before: Floats, after: Floats, weight: Floats | None = None) -> Lift:
    """Compare two scores by the `placements` they give to the same rows.

    With weights the variance of each class is `n/(n-1) Σ w² (d - mean)² / (Σ w)²`, where `d`
    is the difference in placement and `n` the rows with a weight.
    """
    positive = np.asarray(y) == 1
    if positive.all() or not positive.any() or np.isnan(before).any():
        return Lift(*[float("nan")] * 9)
    w = np.ones(positive.size) if weight is None else weight
    area_before = float(np.average(before[positive], weights=w[positive]))
    area_after = float(np.average(after[positive], weights=w[positive]))
    difference = after - before
    variance = sum(variance_of_mean(difference[side], w[side]) for side in (positive, ~positive))
    return _lift(area_before, area_after, float(np.sqrt(variance)))


def _rows_by_score(side: Bools, scores: Floats, weight: Floats | None) -> Ints:
    """Row numbers of one class in ascending order of score; ties in row order with weights."""
    rows = np.flatnonzero(side)
    order = np.argsort(scores[rows]) if weight is None else ascending_order(scores[rows])
    return rows[order]


def variance_of_mean(values: Floats, weight: Floats) -> float:
    """Variance of the weighted mean of independent values; NaN with fewer than two."""
    n = np.count_nonzero(weight)
    if n < 2:
        return float("nan")
    total = weight.sum()
    mean = np.sum(weight * values) / total
    return float(n / (n - 1) * np.sum((weight * (values - mean)) ** 2) / total**2)


def _lift(before: float, after: float, se: float) -> Lift:
    """Fill in what follows from the two areas and the standard error of their difference."""
    gain = after - before
    certain = math.copysign(math.inf, gain) if gain else 0.0
    z = gain / se if se else certain
    half = ndtri((1 + CONFIDENCE) / 2) * se
    percent = 100 * gain / before if before else np.nan
    low, high = gain - half, gain + half
    numbers = before, after, gain, percent, se, z, 2 * ndtr(-abs(z)), low, high
    return Lift(*map(float, numbers))
