"""ROC and precision-recall curves with few enough points for a browser."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from hetcal.arrays import Bools, Floats, Ints, Labels
from hetcal.cells.cells import Cells
from hetcal.metrics.delong import CONFIDENCE
from hetcal.metrics.metrics import CALIBRATION_BINS, equal_mass_bins
from hetcal.metrics.ranking import rank_classes

MOST_POINTS = 990  # so that a figure of two curves and its lines stays within 2,000 points
LARGEST_MOVE = 1e-3
STRIPS = 10_000
STEPS = 500


@dataclass(frozen=True)
class RocCurve:
    """True against false positive rate as the threshold falls, from (0, 0) to (1, 1).

    The points are joined by straight lines; with one class only there are none.
    """

    name: str  # what was scored, for the legend
    false_positive_rate: Floats
    true_positive_rate: Floats
    threshold: Floats  # rows with at least this probability are called positive
    auc: float  # of all rows, not of the thinned curve
    rows: int


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Precision against recall as the threshold falls, from (0, 1) to (1, rate of positives).

    All else is as in `RocCurve`.
    """

    name: str
    recall: Floats
    precision: Floats
    threshold: Floats
    average_precision: float
    rows: int


def threshold_curves(
    name: str, cells: Cells, auc: float, average_precision: float
) -> tuple[RocCurve, PrecisionRecallCurve]:
    """Compute the ROC and the precision-recall curve, thinned by `thin`; their areas are given."""
    positive, negative = rank_classes(cells.y, cells.centre, cells.given_weight)
    threshold = true = false = np.array([])
    if positive.total * negative.total:
        scores = np.unique(np.concatenate([positive.scores, negative.scores]))[::-1]
        threshold = np.append(np.inf, scores)
        true, false = positive.at_or_above(threshold), negative.at_or_above(threshold)
    # No row passes the first threshold; its precision is 1 by convention.
    precision = np.divide(true, true + false, out=np.ones(true.size), where=true + false > 0)
    recall, fall_out = true / positive.total, false / negative.total
    probability, rows = expit(threshold), int(cells.rows.sum())
    on_roc, on_precision = thin(fall_out, recall), thin(recall, precision)
    return (
        RocCurve(name, fall_out[on_roc], recall[on_roc], probability[on_roc], auc, rows),
        PrecisionRecallCurve(
            name,
            recall[on_precision],
            precision[on_precision],
            probability[on_precision],
            average_precision,
            rows,
        ),
    )


def thin(x: Floats, y: Floats) -> Ints:
    """Choose points that draw the same curve.

    A curve of up to 990 points is kept whole. Otherwise the first point, the last one and
    up to 500 in even steps between stay, and as many more as it takes for no point of the
    full curve to be further than 0.001 from the thinned one. Should that be more than 990,
    the distance is doubled until it is not.

    `x` never falls and lies within 0 and 1. Returned are the numbers of the points, ascending.
    """
    if x.size <= MOST_POINTS:
        return np.arange(x.size)
    outline = _outline(x, y)
    distance = LARGEST_MOVE - 1 / STRIPS
    kept = _simplified(x[outline], y[outline], distance)
    while kept.size > MOST_POINTS:
        distance *= 2
        kept = _simplified(x[outline], y[outline], distance)
    return outline[kept]


def _outline(x: Floats, y: Floats) -> Ints:
    """First, lowest, highest and last point of each of 10,000 strips of `x`.

    Within its strip the outline covers the same heights as the curve does, so neither is
    further than the width of a strip from the other.
    """
    strip = np.minimum((x * STRIPS).astype(np.int64), STRIPS)
    first = np.flatnonzero(np.diff(strip, prepend=-1))
    last = np.append(first[1:], x.size) - 1
    place = np.repeat(np.arange(first.size), last - first + 1)
    kept = [first, last]
    for extreme in (np.minimum, np.maximum):
        hits = np.flatnonzero(y == extreme.reduceat(y, first)[place])
        kept.append(hits[np.diff(place[hits], prepend=-1) > 0])
    return np.unique(np.concatenate(kept))


def _simplified(x: Floats, y: Floats, distance: float) -> Ints:
    """Keep points until no other lies further than `distance` from the lines between them.

    This is Ramer, Douglas and Peucker's method, all lines refined at once.
    """
    # Even steps leave a threshold to read everywhere, on long straight stretches too.
    reached = x + np.maximum.accumulate(y)
    kept = np.searchsorted(reached, np.linspace(reached[0], reached[-1], STEPS), "left")
    kept = np.union1d(kept, [0, x.size - 1])
    while True:
        line = np.searchsorted(kept, np.arange(x.size), "right") - 1
        line[-1] -= 1
        away = _distance_from_line(x, y, kept[line], kept[line + 1])
        worst = np.maximum.reduceat(away, kept[:-1])[line]
        far = np.flatnonzero((away == worst) & (away > distance))
        if not far.size:
            return kept
        kept = np.union1d(kept, far[np.diff(line[far], prepend=-1) > 0])


def _distance_from_line(x: Floats, y: Floats, start: Ints, end: Ints) -> Floats:
    """Distance of each point from the stretch between its `start` and its `end` point."""
    dx, dy = x[end] - x[start], y[end] - y[start]
    squared = dx**2 + dy**2
    along = (x - x[start]) * dx + (y - y[start]) * dy
    share = np.clip(np.divide(along, squared, out=np.zeros(x.size), where=squared > 0), 0, 1)
    return np.hypot(x - x[start] - share * dx, y - y[start] - share * dy)


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and its rates."""

    threshold: float  # rows that score above it are called positive
    tied_share: float  # so is this share q of the rows that score exactly the threshold
    true_positive_rate: float
    false_positive_rate: float

    @property
    def probability(self) -> float:
        """The threshold of a logit as a probability."""
        return float(expit(self.threshold))


def at_false_positive_rate(
    y: Labels, scores: Floats, rate: float, weight: Floats | None = None
) -> OperatingPoint:
    """Return the operating point with this false positive rate; NaN with one class only.

    Where several thresholds have the same false positive rate, the lowest is taken, which has the
    highest true positive rate.

    Examples
    --------
    >>> at_false_positive_rate(np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, 0.5, 2.0]), 0.125)
    OperatingPoint(threshold=0.5, tied_share=0.25, true_positive_rate=0.625, \
false_positive_rate=0.125)
    """
    positive = np.asarray(y) == 1

    def total(rows: Bools) -> float:
        return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())

    positives, negatives = total(positive), total(~positive)
    if not positives * negatives:
        return OperatingPoint(*[float("nan")] * 4)
    if rate >= 1:
        lowest = scores.min() if weight is None else scores[weight > 0].min()
        return OperatingPoint(float(lowest), 1.0, 1.0, 1.0)
    wanted = rate * negatives
    threshold = _threshold(scores[~positive], wanted, None if weight is None else weight[~positive])
    above, tied = scores > threshold, scores == threshold
    false, false_tied = total(above & ~positive), total(tied & ~positive)
    share = float(np.clip((wanted - false) / false_tied, 0.0, 1.0))
    true = total(above & positive) + share * total(tied & positive)
    return OperatingPoint(
        threshold, share, true / positives, (false + share * false_tied) / negatives
    )


def _threshold(scores: Floats, wanted: float, weight: Floats | None) -> float:
    """Return the lowest score with at most the wanted weight above it."""
    if weight is None:
        place = scores.size - 1 - min(int(wanted), scores.size - 1)
        return float(np.partition(scores, place)[place])
    order = np.argsort(-scores, kind="stable")
    order = order[weight[order] > 0]
    place = int(np.searchsorted(np.cumsum(weight[order]), wanted, "right"))
    return float(scores[order[min(place, order.size - 1)]])


def points_in_words(before: OperatingPoint, after: OperatingPoint) -> str:
    """Compare the true positive rates before and after calibration."""
    if np.isnan(before.true_positive_rate + after.true_positive_rate):
        return "There are no rates: all test rows are of one class."
    found = " and ".join(
        f"{100 * point.true_positive_rate:.1f} % {name} (T = {point.probability:.4f})"
        for name, point in (("before", before), ("after", after))
    )
    return f"At this false positive rate the true positive rate is {found}."


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted against observed rate, one entry per bin in ascending order."""

    name: str  # what was scored, for the legend
    predicted: Floats  # mean probability in the bin
    observed: Floats  # rate of positives in the bin
    low: Floats  # 95 % Wilson interval of the observed rate
    high: Floats
    count: Ints  # rows in the bin


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
