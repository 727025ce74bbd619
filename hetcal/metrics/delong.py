"""The lift in AUC and its interval: DeLong's test for two scores of the same rows.

With few rows of a class, the lift in units of its standard error is not normal: the standard error
is itself an estimate, and few rows may make up the lift. `spread_of` allows for both, and says that
there is no interval where fewer than three rows carry the variance.
``python -m tests.metrics.interval_coverage`` prints how often intervals cover the truth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from hetcal.arrays import Bools, Floats, Groups, Ints, Labels
from hetcal.cells.cells import ascending_order
from hetcal.metrics.ranking import RankedClass, class_variance, mean_influence, weight_from

CONFIDENCE = 0.95
# A lift of so many standard errors has an interval above zero in four of five samples.
DETECTED = 1.96 + 0.84
FEWEST = 12  # rows of a class; with fewer, an interval is so wide that it covers nearly always
MANY = 1000  # rows of a class to which a few more make no visible difference
# Rows that must carry the variance: its square by the sum of the squares of what each row adds to
# it. With fewer, chance decides whether one of them was drawn, and intervals miss or are too wide.
CARRYING = 3.0
ADDED = 1.0  # rows that a class gets, as one of a kind may be too rare to have been seen
# How far intervals follow the skewness. By the expansion of Cornish and Fisher it would be 0.75,
# but the skewness of few rows is itself an estimate.
LEANING = 0.4
NARROWEST = 0.5  # skewness shortens no side of an interval below this share


@dataclass(frozen=True)
class Lift:
    """The change of the AUC by calibration."""

    before: float
    after: float
    auc: float  # `after - before`
    percent: float  # `100 (after / before - 1)`, the paper's lift
    se: float  # standard error of `auc`
    z: float  # `auc / se`; 0 when the two scores rank all pairs alike
    p: float  # two-sided p-value, below 5 % where the interval excludes 0
    low: float  # 95 % confidence interval of `auc`; NaN if it rests on too few rows or groups
    high: float

    @property
    def detectable(self) -> float:
        """The smallest lift that would be significant in four of five samples like this one.

        NaN where the order did not change, or where there is no interval.
        """
        return DETECTED * self.se if self.se > 0 and not math.isnan(self.low) else math.nan


@dataclass(frozen=True)
class Spread:
    """How an estimate varies from sample to sample, as far as its interval depends on it."""

    se: float
    freedom: float = math.inf  # degrees of freedom of the standard error
    skewness: float = 0.0

    def interval(self, estimate: float) -> tuple[float, float]:
        """Return the 95 % interval.

        An estimate with skewness g varies more where its mean is higher: its variance by the factor
        1 + 0.4 g u where that is u standard errors higher. As in Wilson's interval of a rate, the
        ends are where the estimate lies a quantile of Student's t away, in the standard errors
        that hold there.
        """
        quantile = float(stdtrit(self.freedom, (1 + CONFIDENCE) / 2))
        tilt = quantile * LEANING * self.skewness / 2
        even = math.hypot(1.0, tilt)
        down, up = (max(even + each, NARROWEST) for each in (-tilt, tilt))
        return estimate - quantile * self.se * down, estimate + quantile * self.se * up

    def p_value(self, estimate: float) -> float:
        """Return the two-sided p-value of the hypothesis that the truth is 0."""
        if not self.se:
            return float(estimate == 0)
        distance = abs(estimate) / self.se
        wider = 1 - math.copysign(distance, estimate) * LEANING * self.skewness
        distance /= math.sqrt(max(wider, NARROWEST**2))
        return 2 * float(stdtr(self.freedom, -distance))


NO_SPREAD = Spread(math.nan, math.nan, math.nan)


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
    with a single group. There is no interval with fewer than 12 rows of a class, nor if fewer than
    three rows carry the variance.
    """
    ranks = Ranks.of(y, before, weight), Ranks.of(y, after, weight)
    return lift_of_ranks(y, *ranks, weight, squares, rows, group)


def lift_of_ranks(
    y: Labels,
    before: "Ranks",
    after: "Ranks",
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
    group: Groups | None = None,
) -> Lift:
    """Compare the AUC of two scores of the same rows that are in order already."""
    swapped = None
    if group is None and _count_rarer(y, rows) < MANY:
        swapped = after.swapped - before.swapped
    return lift_of(y, before.placed, after.placed, weight, squares, rows, group, swapped)


def _count_rarer(y: Labels, rows: Ints | None) -> float:
    counts = np.bincount(np.asarray(y) == 1, rows, 2)
    return float(counts.min())


def placements(y: Labels, scores: Floats, weight: Floats | None = None) -> Floats:
    """Share of the other class that each row is on the right side of, ties counting half.

    The weighted mean over the positive rows is the AUC; so is that over the negative rows.
    """
    return Ranks.of(y, scores, weight).placed


@dataclass(frozen=True, eq=False)
class Ranks:
    """The positive and the negative rows in order of their scores."""

    ones: Ints  # their numbers
    zeros: Ints
    upper: RankedClass  # positive
    lower: RankedClass

    @classmethod
    def of(cls, y: Labels, scores: Floats, weight: Floats | None) -> "Ranks":
        """Put the rows in order."""
        positive = np.asarray(y) == 1
        w = np.ones(scores.size) if weight is None else weight
        ones, zeros = (
            rows[ascending_order(scores[rows])]
            for rows in map(np.flatnonzero, (positive, ~positive))
        )
        upper, lower = (RankedClass(scores[each], weight_from(w[each])) for each in (ones, zeros))
        return cls(ones, zeros, upper, lower)

    @cached_property
    def placed(self) -> Floats:
        """The `placements`; NaN with one class only."""
        upper, lower, placed = self.upper, self.lower, self._nothing()
        if upper.total * lower.total:
            placed[self.ones] = lower.below(upper.scores) / lower.total
            placed[self.zeros] = 1 - upper.below(lower.scores) / upper.total
        return placed

    @cached_property
    def swapped(self) -> Floats:
        """The placements that rows would have with the other label, each on its own."""
        upper, lower, placed = self.upper, self.lower, self._nothing()
        if upper.total * lower.total:
            placed[self.zeros] = lower.below_own() / lower.total
            placed[self.ones] = 1 - upper.below_own() / upper.total
        return placed

    def _nothing(self) -> Floats:
        return np.full(self.ones.size + self.zeros.size, np.nan)


def lift_of(
    y: Labels,
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
    group: Groups | None = None,
    swapped: Floats | None = None,
) -> Lift:
    """Compare two scores by the `placements` they give to the same rows.

    The variance of each class is `n/(n-1) Σ w² (d - mean)² / (Σ w)²`, where `d` is the
    difference in placement and `n` the rows with a weight.

    For cells of several rows, `squares` and `rows` are the sums of the squared weights and the
    numbers of rows. Rows of one `group` are not independent, see `error_of`. `swapped` are the
    differences in placement that rows would have with the other label; without them the interval
    adds no rows to a class.
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
    sides = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    if group is not None:
        influence = np.empty(w.size)
        for side in sides:
            influence[side] = mean_influence(difference[side], w[side])
        used = w > 0
        se = error_of(influence[used], group[used])
        spread = spread_of_parts(influence[used], positive[used], se, group[used])
        return lift_between(area_before, area_after, se, spread)
    classes = [
        _class_of(difference[each], w[each], squares[each], float(counted[each].sum()))
        for each in sides
    ]
    se = math.sqrt(sum(each.variance for each in classes))
    if swapped is not None:
        others = ((swapped[each], w[each]) for each in reversed(sides))
        classes = [one.with_added(*other) for one, other in zip(classes, others, strict=True)]
    return lift_between(area_before, area_after, se, spread_of(classes))


@dataclass(frozen=True)
class _Class:
    """How the mean difference in placement of one class varies from sample to sample."""

    variance: float
    third: float  # third cumulant
    fourth: float  # sum over the rows of the squares of what each adds to the variance
    rows: float  # that would vary as much without weights
    counted: float  # rows with a weight

    def with_added(self, moved: Floats, weight: Floats) -> "_Class":
        """Add a row that varies as those of the other class do, if there are few.

        Where rows of this kind moved far but none of this class was drawn, the variance would
        else be far too small.
        """
        if not FEWEST <= self.counted < MANY:
            return self
        share, n = weight / weight.sum(), self.rows
        away = moved - share @ moved
        squared = away * away
        second, third, fourth = (
            float(share @ each) for each in (squared, squared * away, squared**2)
        )
        return replace(
            self,
            variance=((n - 1) * self.variance + ADDED * second / n) / (n + ADDED - 1),
            third=(n * self.third + ADDED * third / n**2) / (n + ADDED),
            fourth=((n - 1) ** 2 * self.fourth + ADDED * fourth / n**2) / (n + ADDED - 1) ** 2,
        )


def _class_of(difference: Floats, weight: Floats, squares: Floats, counted: float) -> _Class:
    total = weight.sum()
    mean = float(np.sum(weight * difference) / total)
    rows = float(total**2 / squares.sum())
    away = difference - mean
    squared = away * away  # a power takes far longer
    second = squares * squared / total**2
    third, fourth = float(second @ away) / rows, float(second @ squared) / rows**2
    variance = class_variance(difference, weight, squares, counted)
    return _Class(variance, third, fourth * (counted / max(counted - 1, 1)) ** 2, rows, counted)


def spread_of(classes: Sequence[_Class]) -> Spread:
    """Return how the lift varies, given the two classes; unknown if that rests on few rows.

    The degrees of freedom are those of Welch and Satterthwaite.
    """
    if min(each.counted for each in classes) < FEWEST:
        return NO_SPREAD
    variances = np.array([each.variance for each in classes])
    se = math.sqrt(variances.sum())
    if not se:
        return Spread(0.0)
    if se**4 < CARRYING * sum(each.fourth for each in classes):
        return NO_SPREAD
    third = sum(each.third for each in classes)
    freedom = welch_freedom(variances, np.array([each.rows for each in classes]))
    return Spread(se, freedom, third / se**3)


def error_of(influence: Floats, group: Groups | None = None) -> float:
    """Return the standard error of an estimate from the influence of each row.

    Rows of one group are not independent: their influences are added before they are squared. A
    single group gives NaN.
    """
    together = _by_group(influence, group)
    groups = together.size
    if group is None:
        return float(np.sqrt(np.sum(together**2)))
    return float(np.sqrt(groups / (groups - 1) * np.sum(together**2))) if groups > 1 else math.nan


def _by_group(influence: Floats, group: Groups | None) -> Floats:
    if group is None:
        return influence
    return np.asarray(np.bincount(pd.factorize(group)[0], influence), dtype=np.float64)


def spread_of_parts(
    influence: Floats, part: Ints | Bools, se: float, group: Groups | None = None
) -> Spread:
    """Return how an estimate varies whose rows are of several classes, given its standard error.

    Groups are counted class by class. There is no spread if a class is in a single group, or if
    fewer than three rows or groups carry the variance.
    """
    variances, counts = [], []
    for each in np.unique(part):
        inside = part == each
        own = _by_group(influence[inside], None if group is None else group[inside])
        variances.append(float(np.sum(own**2)))
        counts.append(own.size)
    squared = _by_group(influence, group) ** 2
    one_carries = squared.sum() ** 2 < CARRYING * (squared @ squared)
    if one_carries or (group is not None and min(counts) < 2):
        return NO_SPREAD
    return Spread(se, welch_freedom(np.array(variances), np.array(counts)))


def welch_freedom(variances: Floats, counts: Floats | Ints) -> float:
    """Return the degrees of freedom of a sum of variances (Welch and Satterthwaite).

    Each is estimated from so many independent rows or groups; one of 0 does not matter.
    """
    known = variances > 0
    parts = variances[known] ** 2 / np.maximum(counts[known] - 1, 1)
    return float(variances.sum() ** 2 / parts.sum()) if known.any() else math.inf


def lift_between(before: float, after: float, se: float, spread: Spread | None = None) -> Lift:
    """Return the lift between two AUCs, given the standard error of their difference.

    The interval is normal unless a `spread` says otherwise.
    """
    gain = after - before
    certain = math.copysign(math.inf, gain) if gain else 0.0
    z = gain / se if se else certain
    percent = 100 * gain / before if before else math.nan
    spread = Spread(se) if spread is None else spread
    numbers = before, after, gain, percent, se, z, spread.p_value(gain), *spread.interval(gain)
    return Lift(*map(float, numbers))
