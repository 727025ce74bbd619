"""How good scores are: measures of `(y, scores, weight)` where scores are logits.

Weights are importance weights; None means that every row counts once. A measure
that is not defined (no rows, or one class only where two are needed) is NaN.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.cells.cells import Cells, ascending_order
from hetcal.compiled import sigmoid
from hetcal.metrics.delong import Spread, error_of
from hetcal.metrics.ranking import (
    RankStatistics,
    class_variance,
    first_of_ties,
    rank_statistics,
)

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Metrics:
    """The measures of the scores before and after calibration."""

    auc: float  # probability that a positive row scores above a negative one; ties count half
    average_precision: float  # mean over the positive rows of the precision at their own score
    # The paper's PR-AUC: TPR / (TPR + FPR) averaged over all recalls, tied rows in random order;
    # it does not depend on how common the positive class is.
    balanced_precision_area: float
    log_loss: float  # mean negative log-likelihood, in nats
    brier: float  # mean squared difference of probability and label
    calibration_error: float  # root mean squared gap of predicted and observed rate in equal bins
    calibration_error_debiased: float  # the same without the bias of sampling noise


def auc(y: Labels, scores: Floats, weight: Floats | None = None) -> float:
    """Return the probability that a positive row scores above a negative one, ties counting half.

    Examples
    --------
    >>> auc(np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, 0.5, 2.0]))
    0.875
    """
    return rank_statistics(y, scores, weight).auc


def log_loss(y: Labels, scores: Floats, weight: Floats | None = None) -> float:
    """Mean negative log-likelihood in nats, computed from the logits without clipping."""
    return _mean(loss_of_rows(y, scores), weight)


def loss_of_rows(y: Labels, scores: Floats) -> Floats:
    """Negative log-likelihood of each row."""
    towards = np.where(np.asarray(y) == 1, scores, -scores)
    return np.log1p(np.exp(-np.abs(towards))) - np.minimum(towards, 0)


def brier(y: Labels, scores: Floats, weight: Floats | None = None) -> float:
    """Mean squared difference of probability and label."""
    return _mean((sigmoid(scores) - y) ** 2, weight)


def calibration_error(y: Labels, scores: Floats, weight: Floats | None = None) -> float:
    """Root of the weighted mean squared gap between predicted and observed rate over 15 bins.

    The bins hold equal weight, except that rows with equal scores stay together. This
    is the paper's L2 calibration error.
    """
    return calibration_errors(_cells(y, scores, weight))[0]


def calibration_errors(cells: Cells) -> tuple[float, float]:
    """Return the calibration error of cells, plain and debiased; bins hold whole cells."""
    if not cells.score.size:
        return float("nan"), float("nan")
    w, y, given = cells.weight, cells.y, cells.given_weight
    bin_of = equal_mass_bins(cells.centre, CALIBRATION_BINS, given)
    mass = np.bincount(bin_of, w)
    squares = mass if given is None else np.bincount(bin_of, cells.squares)
    positive = np.bincount(bin_of, y if given is None else w * y)
    gap = np.bincount(bin_of, w * (sigmoid(cells.score) - y))
    sums = np.array([mass, squares, positive, gap], dtype=np.float64)
    return errors_of_bins(*sums[:, mass > 0])


def errors_of_bins(
    mass: Floats, squares: Floats, positive: Floats, gap: Floats
) -> tuple[float, float]:
    """Return the calibration error, plain and debiased, from sums over the rows of each bin.

    They are the sums of weights, of squared weights, of the weights of positive rows, and of weight
    times probability minus label. The debiased error (Kumar, Liang and Ma, 2019) subtracts the
    variance of the observed rate of each bin, with Kish's number of rows, from its squared gap; a
    single row has none, and a negative mean counts as 0.
    """
    rate, rows, square = positive / mass, mass**2 / squares, (gap / mass) ** 2
    noise = np.divide(rate * (1 - rate), rows - 1, out=np.zeros_like(rate), where=rows > 1)
    plain, debiased = (np.sum(mass * each) / mass.sum() for each in (square, square - noise))
    return float(np.sqrt(plain)), float(np.sqrt(max(debiased, 0.0)))


def mean_confidence_minus_accuracy(
    y: Labels, scores: Floats, weight: Floats | None = None
) -> float:
    """Mean probability of the predicted class minus the share predicted rightly.

    Above zero is over-confident. A score of exactly 0 counts as half right.
    """
    right = np.where(scores == 0, 0.5, (scores > 0) == (np.asarray(y) == 1))
    return _mean(sigmoid(np.abs(scores)) - right, weight)


def measure(y: Labels, scores: Floats, weight: Floats | None = None) -> Metrics:
    """Compute every measure of `Metrics`; rows of weight 0 are left out."""
    return measure_cells(_cells(y, scores, weight))


def measure_cells(cells: Cells) -> Metrics:
    """Compute every measure of `Metrics`."""
    ranked = order_of_cells(cells)
    y, score, weight = cells.y, cells.score, cells.given_weight
    plain, debiased = calibration_errors(cells)
    return Metrics(
        auc=ranked.auc,
        average_precision=ranked.average_precision,
        balanced_precision_area=ranked.balanced_precision_area,
        log_loss=log_loss(y, score, weight),
        brier=brier(y, score, weight),
        calibration_error=plain,
        calibration_error_debiased=debiased,
    )


def order_of_cells(cells: Cells) -> RankStatistics:
    """Rank the cells by their centres; cells of one interval are tied."""
    return rank_statistics(cells.y, cells.centre, cells.given_weight, cells.squares, cells.rows)


def equal_mass_bins(scores: Floats, bins: int, weight: Floats | None = None) -> Ints:
    """Give each row a bin, 0 to `bins` - 1, so that all bins hold about equal weight.

    Rows with equal scores share a bin, so with many ties some bins stay empty.
    """
    if weight is None:
        ranked = np.sort(scores)
        cut = np.ceil(np.arange(1, bins) * scores.size / bins).astype(np.int64)
        edges = ranked[np.minimum(cut, scores.size - 1)]
    else:
        order = ascending_order(scores)
        edges = _edges(scores[order], bins, weight[order])
    return np.searchsorted(edges, scores, "right")


def _edges(ranked: Floats, bins: int, weight: Floats) -> Floats:
    """Return the lowest score of each bin but the first.

    It is that of the first row with enough weight below it; of tied rows the heaviest comes
    last, so that the order in which they are given does not matter.
    """
    first = first_of_ties(ranked)
    until = np.cumsum(np.add.reduceat(weight, first))
    below_last = until - np.maximum.reduceat(weight, first)
    cut = np.searchsorted(below_last, np.arange(1, bins) * until[-1] / bins, "left")
    return ranked[first[np.minimum(cut, first.size - 1)]]


def rows_of_leaves(leaf: Ints, leaves: Sequence[int]) -> Iterator[Ints]:
    """Yield the row numbers of each of the `leaves`, from one sort of the leaf ids."""
    order = np.argsort(leaf.astype(np.int32), kind="stable")
    ends = np.cumsum(np.bincount(leaf, minlength=max(leaves, default=0) + 1))
    starts = np.append(0, ends)
    for i in leaves:
        yield order[starts[i] : ends[i]]


def _cells(y: Labels, scores: Floats, weight: Floats | None) -> Cells:
    return Cells.of_rows(scores, y, np.zeros(len(y), dtype=np.int64), weight)


def _mean(values: Floats, weight: Floats | None) -> float:
    """Weighted mean; NaN without rows or weight."""
    total = values.size if weight is None else weight.sum()
    if not total:
        return float("nan")
    return float((values.sum() if weight is None else np.sum(weight * values)) / total)


@dataclass(frozen=True)
class LossChange:
    """The change of the log-loss, or of another loss, by calibration; NaN if it is not defined."""

    fall: float  # loss before minus loss after, above 0 where probabilities are better
    se: float  # standard error of `fall`
    low: float  # 95 % confidence interval of `fall`
    high: float


def loss_change(before: Cells, after: Cells, group: Groups | None = None) -> LossChange:
    """Compare the log-loss of the same rows before and after, or of the same cells.

    The interval is that of the paired t-test. Cells of a sketch give it approximately, as if the
    rows of a cell had its mean score.

    Parameters
    ----------
    before, after : Cells
        The same rows or cells with two scores.
    group : array, optional
        Group of each row: those of one group are not independent.

    Examples
    --------
    >>> y, leaf = np.array([0, 1, 1]), np.zeros(3, dtype=int)
    >>> before, after = (Cells.of_rows(np.array(s), y, leaf) for s in ([0.0, 0, 0], [-1.0, 1, 1]))
    >>> round(loss_change(before, after).fall, 4)
    0.3799
    """
    y = before.y
    fall = loss_of_rows(y, before.score) - loss_of_rows(y, after.score)
    return mean_fall(fall, before.weight, before.squares, before.rows, group)


def brier_change(before: Cells, after: Cells, group: Groups | None = None) -> LossChange:
    """Compare the Brier score of the same rows before and after, as `loss_change` does."""
    was, now = ((before.y - sigmoid(each.score)) ** 2 for each in (before, after))
    return mean_fall(was - now, before.weight, before.squares, before.rows, group)


def mean_fall(
    fall: Floats,
    weight: Floats | None = None,
    squares: Floats | None = None,
    rows: Ints | None = None,
    group: Groups | None = None,
) -> LossChange:
    """Average the falls of the losses of rows or cells; rows without weight do not count.

    For cells of several rows, `squares` and `rows` are the sums of the squared weights and the
    numbers of rows.
    """
    w = np.ones(fall.size) if weight is None else weight
    total = float(w.sum())
    if not total:
        return LossChange(*[math.nan] * 4)
    squares = w**2 if squares is None else squares
    mean = float(w @ fall / total)
    if group is None:
        counted = float(np.count_nonzero(w) if rows is None else rows[w > 0].sum())
        se = math.sqrt(class_variance(fall, w, squares, counted))
        units = total**2 / float(squares.sum())  # Kish's number of rows
    else:
        used = w > 0
        se = error_of((w * (fall - mean) / total)[used], group[used])
        units = pd.unique(group[used]).size
    return LossChange(mean, se, *Spread(se, units - 1).interval(mean))
