"""Scores of each class in order, from which ranking measures and curves are computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Labels
from hetcal.cells.cells import ascending_order
from hetcal.compiled import use_compiled

AT_ONCE = 2**13  # steps, so that their numbers stay close to the processor


def area_of_steps(
    true: NDArray[Any], rise: NDArray[Any], false: NDArray[Any], run: NDArray[Any], negative: float
) -> float:
    """Return the PR-AUC of a ROC curve of straight steps.

    `true` and `false` are the weights of the positive and of the negative rows that are passed
    before each step, `rise` and `run` those of the rows passed in it; `rise` is above 0 and adds up
    to all positive rows, `negative` is the weight of all negative ones.
    """
    positive, area = float(rise.sum()), 0.0
    for start in range(0, rise.size, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        ups, downs = rise[part] / positive, run[part] / negative
        means = mean_precision(true[part] / positive, ups, false[part] / negative, downs)
        area += float(np.dot(ups, means))
    return area


def mean_precision(true: Floats, rise: Floats, false: Floats, run: Floats) -> Floats:
    """Average TPR / (TPR + FPR) over the TPR along straight steps of the ROC curve.

    Along a step TPR and FPR are linear in u = TPR + FPR, so the mean is elementary: it lies
    between the precision where the step starts and that of the step itself. `true` and `false` are
    TPR and FPR where each step starts, `rise` (above 0) and `run` by how much they grow.
    """
    start, length = true + false, rise + run
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = length / start
        kept = np.log1p(growth) / growth
        mean = kept * (true / start) + (1 - kept) * (rise / length)
    nothing = np.flatnonzero(start == 0)
    mean[nothing] = rise[nothing] / length[nothing]
    return mean


@dataclass(frozen=True)
class RankedClass:
    """The scores of one class in ascending order and the weight from each upwards.

    Sorting values class by class is several times faster than ordering all rows.
    """

    scores: Floats  # ascending
    weight_from: Floats  # of `scores[i:]`, for i from 0 to the number of scores

    @property
    def total(self) -> float:
        """Weight of the class."""
        return float(self.weight_from[0])

    def at_or_above(self, scores: Floats) -> Floats:
        """Weight of the class that scores at least this much."""
        return self.weight_from[np.searchsorted(self.scores, scores, "left")]

    def above(self, scores: Floats) -> Floats:
        """Weight of the class that scores more than this."""
        return self.weight_from[np.searchsorted(self.scores, scores, "right")]

    def below(self, scores: Floats) -> Floats:
        """Weight of the class that scores less than this, ties counting half."""
        return self.total - (self.at_or_above(scores) + self.above(scores)) / 2

    def below_own(self) -> Floats:
        """Weight of the class that scores less than each of its rows, ties counting half."""
        first = first_of_ties(self.scores)
        tied = np.diff(first, append=self.scores.size)
        middle = (self.weight_from[first] + self.weight_from[first + tied]) / 2
        return self.total - np.repeat(middle, tied)


def rank_class(scores: Floats, weight: Floats | None = None) -> RankedClass:
    """Sort the scores of one class and accumulate their weight from the top."""
    if weight is None:
        return RankedClass(np.sort(scores), np.arange(scores.size, -1, -1, dtype=np.float64))
    order = ascending_order(scores)
    return RankedClass(scores[order], weight_from(weight[order]))


def weight_from(weight: Floats) -> Floats:
    """Add up weights from each of the ascending scores upwards, and from above them all."""
    summed = np.zeros(weight.size + 1)
    summed[:-1] = np.cumsum(weight[::-1])[::-1]
    return summed


def rank_classes(
    y: Labels, scores: Floats, weight: Floats | None = None
) -> tuple[RankedClass, RankedClass]:
    """Return the ranked positive and the ranked negative rows; rows of weight 0 are left out."""
    positive = np.asarray(y) == 1
    if weight is None:
        return rank_class(scores[positive]), rank_class(scores[~positive])
    one, zero = positive & (weight > 0), ~positive & (weight > 0)
    return rank_class(scores[one], weight[one]), rank_class(scores[zero], weight[zero])


Numbers = NDArray[np.number]

SOME_ROWS = 1000


@dataclass(frozen=True)
class RankStatistics:
    """Measures of the ranking, as in `hetcal.metrics.metrics.Metrics`; NaN with one class only.

    `variance` is DeLong's variance of `auc`; NaN with a single row of a class.
    """

    auc: float
    average_precision: float
    balanced_precision_area: float
    variance: float


UNDEFINED = RankStatistics(*[float("nan")] * 4)


def rank_statistics(
    y: Labels,
    scores: Floats,
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
) -> RankStatistics:
    """Compare every positive row with every negative one.

    For cells of several rows, `squares` and `rows` are the sums of the squared weights and the
    numbers of rows.
    """
    positive = np.asarray(y) == 1
    if weight is not None:
        return _weighted(positive, scores, weight, squares, rows)
    count = np.count_nonzero(positive)
    if count in (0, positive.size):
        return UNDEFINED
    return (_compiled if use_compiled() else _plain)(positive, scores)


def count_below(ones: Numbers, zeros: Numbers) -> tuple[Ints, Ints]:
    """For each of the sorted `ones`, count the sorted `zeros` below, and those not above.

    The smaller array is looked up in the larger one.
    """
    if ones.size > zeros.size:
        not_below, above = _look_up(zeros, ones)
        return counted_up(above, ones.size), counted_up(not_below, ones.size)
    return _look_up(ones, zeros)


def counted_up(places: Ints, size: int) -> Ints:
    """For each of 0, 1, …, `size` - 1 count the entries of `places` that are not above it."""
    return np.cumsum(np.bincount(places, minlength=size + 1)[:size])


def class_variance(values: Floats, weight: Floats, squares: Floats, rows: float) -> float:
    """Variance of the weighted mean of independent values; NaN with fewer than two rows.

    It is `n/(n-1) Σ squares (value - mean)² / (Σ weight)²` with `n` rows.
    """
    if rows < 2:
        return float("nan")
    total = weight.sum()
    mean = np.sum(weight * values) / total
    return float(rows / (rows - 1) * np.sum(squares * (values - mean) ** 2) / total**2)


def mean_influence(values: Floats, weight: Floats) -> Floats:
    """Return the influence of each row on the weighted mean; the squares add up to its variance.

    A single row has no influence.
    """
    rows = int(np.count_nonzero(weight))
    away = values - np.average(values, weights=weight)
    return np.sqrt(rows / max(rows - 1, 1)) * weight * away / weight.sum()


def _look_up(needles: Numbers, hay: Numbers) -> tuple[Ints, Ints]:
    """Count the sorted `hay` below each needle, and that not above it."""
    below = np.searchsorted(hay, needles, "left")
    tied = hay[np.minimum(below, hay.size - 1)] == needles if hay.size else np.zeros(0, np.bool_)
    if not tied.any():
        return below, below
    not_above = below.copy()
    not_above[tied] = np.searchsorted(hay, needles[tied], "right")
    return below, not_above


def _plain(positive: Bools, scores: Floats) -> RankStatistics:
    values = _shortest(scores)
    one, zero = np.compress(positive, values), np.compress(~positive, values)
    one.sort()
    zero.sort()
    below, not_above = count_below(one, zero)
    precision, balanced = _precisions(one, zero.size, below, not_above)
    pairs = below + not_above
    area = float(pairs.sum()) / (2 * one.size * zero.size)
    variance = _variance_of_ones(pairs / (2 * zero.size), area)
    variance += _variance_of_zeros(below, not_above, zero.size, area)
    return RankStatistics(area, precision, balanced, variance)


def _precisions(
    one: NDArray[np.floating], zeros: int, below: Ints, not_above: Ints
) -> tuple[float, float]:
    """Return average precision and balanced area of sorted positive rows, tied ones at once."""
    first = first_of_ties(one)
    tied = np.diff(first, append=one.size)
    true, false = one.size - first, zeros - below[first]
    run = not_above[first] - below[first]
    precision = float(np.dot(tied, true / (true + false))) / one.size
    return precision, area_of_steps(true - tied, tied, false - run, run, zeros)


def _variance_of_ones(placed: Floats, area: float) -> float:
    """Variance of the mean of the placements of the positive rows."""
    if placed.size < 2:
        return float("nan")
    placed -= area
    return float(np.sum(placed**2)) / (placed.size - 1) / placed.size


def _variance_of_zeros(below: Ints, not_above: Ints, count: int, area: float) -> float:
    """Variance of the mean of the placements of the negative rows.

    They fall by half a positive row at every entry of `below` and of `not_above`, and are
    equal in between, so that a sum over the positive rows is enough.
    """
    if count < 2:
        return float("nan")
    steps = np.empty(2 * below.size + 2, dtype=np.int64)
    steps[0], steps[1:-1:2], steps[2::2], steps[-1] = 0, below, not_above, count
    steps.sort(kind="stable")  # they are in order unless positive rows are tied
    lost = np.arange(steps.size - 1) / (steps.size - 2)
    return float(np.sum(np.diff(steps) * (1 - area - lost) ** 2)) / (count - 1) / count


def _shortest(scores: Floats) -> NDArray[np.floating]:
    """Return the scores in single precision, which sorts faster, if that loses nothing."""
    with np.errstate(over="ignore"):
        some = scores[:SOME_ROWS]
        if scores.dtype == np.float32 or not np.array_equal(some.astype(np.float32), some):
            return scores
        short = scores.astype(np.float32)
    return short if np.array_equal(short, scores) else scores


def _compiled(positive: Bools, scores: Floats) -> RankStatistics:
    from hetcal.metrics.kernels import merge_classes, separate_classes

    values, count = _shortest(scores), np.count_nonzero(positive)
    one = np.empty(count + 1, values.dtype)
    zero = np.empty(positive.size - count + 1, values.dtype)
    separate_classes(values, positive, one, zero)
    one, zero = one[:-1], zero[:-1]
    one.sort()
    zero.sort()
    return RankStatistics(*merge_classes(one, zero))


def _weighted(
    positive: Bools, scores: Floats, weight: Floats, squares: Floats | None, rows: Ints | None
) -> RankStatistics:
    squares = weight**2 if squares is None else squares
    rows = np.ones(scores.size, dtype=np.int64) if rows is None else rows
    sides = []
    for side in (positive & (weight > 0), ~positive & (weight > 0)):
        places = np.flatnonzero(side)
        sides.append(places[ascending_order(scores[places])])
    ones, zeros = sides
    if not ones.size or not zeros.size:
        return UNDEFINED
    one, zero = (RankedClass(scores[each], weight_from(weight[each])) for each in sides)
    first = first_of_ties(one.scores)
    tied = np.diff(first, append=one.scores.size)
    sought = one.scores[first]
    false, false_above = zero.at_or_above(sought), zero.above(sought)
    placed = np.repeat(1 - (false + false_above) / (2 * zero.total), tied)
    others = 1 - one.below(zero.scores) / one.total
    variance = sum(
        class_variance(values, weight[each], squares[each], float(rows[each].sum()))
        for values, each in ((placed, ones), (others, zeros))
    )
    w = np.add.reduceat(weight[ones], first)
    true, past = one.weight_from[first], one.weight_from[first + tied]
    area = float(np.sum(weight[ones] * placed) / one.total)
    precision = float(np.sum(w * true / (true + false)) / one.total)
    balanced = area_of_steps(past, w, false_above, false - false_above, zero.total)
    return RankStatistics(area, precision, balanced, float(variance))


def first_of_ties(ranked: NDArray[np.floating]) -> Ints:
    """Return where each number of an ascending array first occurs."""
    return np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
