"""The lift in AUC and its interval: DeLong's test for two scores of the same rows."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.cells.cells import ascending_order
from hetcal.metrics.ranking import RankedClass, class_variance, mean_influence, weight_from

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Lift:
    """The change of the AUC by calibration."""

    before: float
    after: float
    auc: float  # `after - before`
    percent: float  # `100 (after / before - 1)`, the paper's lift
    se: float  # standard error of `auc`
    z: float  # `auc / se`; 0 when the two scores rank all pairs alike
    p: float  # its two-sided p-value
    low: float  # 95 % confidence interval of `auc`
    high: float


def paired_delong(
    y: Labels,
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
    group: Groups | None = None,
) -> Lift:
    """Compare the AUC of two scores of the same rows, or of the same cells.

    All is NaN with one class only; the standard error is NaN with a single row of a class, or
    with a single group.
    """
    placed = placements(y, before, weight), placements(y, after, weight)
    return lift_of(y, *placed, weight, squares, rows, group)


def placements(y: Labels, scores: Floats, weight: Floats | None = None) -> Floats:
    """Share of the other class that each row is on the right side of, ties counting half.

    The weighted mean over the positive rows is the AUC; so is that over the negative rows.
    """
    positive, placed = np.asarray(y) == 1, np.full(scores.size, np.nan)
    w = np.ones(scores.size) if weight is None else weight
    ones, zeros = (
        rows[ascending_order(scores[rows])] for rows in map(np.flatnonzero, (positive, ~positive))
    )
    upper, lower = (RankedClass(scores[each], weight_from(w[each])) for each in (ones, zeros))
    if upper.total * lower.total:
        placed[ones] = lower.below(upper.scores) / lower.total
        placed[zeros] = 1 - upper.below(lower.scores) / upper.total
    return placed


def lift_of(
    y: Labels,
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
    group: Groups | None = None,
) -> Lift:
    """Compare two scores by the `placements` they give to the same rows.

    The variance of each class is `n/(n-1) Σ w² (d - mean)² / (Σ w)²`, where `d` is the
    difference in placement and `n` the rows with a weight.

    For cells of several rows, `squares` and `rows` are the sums of the squared weights and the
    numbers of rows. Rows of one `group` are not independent, see `error_of`.
    """
    positive = np.asarray(y) == 1
    if positive.all() or not positive.any() or np.isnan(before).any():
        return Lift(*[float("nan")] * 9)
    w = np.ones(positive.size) if weight is None else weight
    squares = w**2 if squares is None else squares
    rows = np.ones(w.size, dtype=np.int64) if rows is None else rows
    area_before = float(np.average(before[positive], weights=w[positive]))
    area_after = float(np.average(after[positive], weights=w[positive]))
    difference, counted = after - before, np.where(w > 0, rows, 0)
    if group is not None:
        influence = np.empty(w.size)
        for side in (positive, ~positive):
            influence[side] = mean_influence(difference[side], w[side])
        return lift_between(area_before, area_after, error_of(influence[w > 0], group[w > 0]))
    variance = sum(
        class_variance(difference[side], w[side], squares[side], float(counted[side].sum()))
        for side in map(np.flatnonzero, (positive, ~positive))
    )
    return lift_between(area_before, area_after, float(np.sqrt(variance)))


def error_of(influence: Floats, group: Groups | None = None) -> float:
    """Return the standard error of an estimate from the influence of each row.

    Rows of one group are not independent: their influences are added before they are squared. A
    single group gives NaN.
    """
    if group is None:
        return float(np.sqrt(np.sum(influence**2)))
    together = np.bincount(pd.factorize(group)[0], influence)
    groups = together.size
    return float(np.sqrt(groups / (groups - 1) * np.sum(together**2))) if groups > 1 else math.nan


def lift_between(before: float, after: float, se: float) -> Lift:
    """Return the lift between two AUCs, given the standard error of their difference."""
    gain = after - before
    certain = math.copysign(math.inf, gain) if gain else 0.0
    z = gain / se if se else certain
    half = ndtri((1 + CONFIDENCE) / 2) * se
    percent = 100 * gain / before if before else np.nan
    low, high = gain - half, gain + half
    numbers = before, after, gain, percent, se, z, 2 * ndtr(-abs(z)), low, high
    return Lift(*map(float, numbers))
