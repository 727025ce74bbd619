"""Measures of cells, each with bounds between which the measure of the rows lies for certain.

All that is known of the rows of a cell is their mean score and the interval that holds them;
the proofs use nothing else. They hold up to the rounding of the sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats
from hetcal.bin_gaps import BinGaps
from hetcal.cells import Cells
from hetcal.metrics import CALIBRATION_BINS, equal_mass_starts, rightly_predicted
from hetcal.rank_bounds import UNDEFINED, Bounded, auc, average_precision, rank_cells
from hetcal.sigmoid import sigmoid

__all__ = [
    "Bounded",
    "BoundedMetrics",
    "auc",
    "average_precision",
    "bounded_metrics",
    "brier",
    "calibration_bins",
    "calibration_error",
    "calibration_error_debiased",
    "confidence_gap",
    "log_loss",
    "mean_probability",
]

BEND_OF_SIGMOID = 1 / (6 * np.sqrt(3))  # largest second derivative of the sigmoid
BEND_OF_BRIER = 0.1541  # the same of its square: the largest |4p² - 10p³ + 6p⁴|


@dataclass(frozen=True)
class BoundedMetrics:
    """The measures of `hetcal.metrics.Metrics` with their bounds."""

    auc: Bounded
    average_precision: Bounded
    balanced_precision_area: Bounded
    log_loss: Bounded
    brier: Bounded
    calibration_error: Bounded
    calibration_error_debiased: Bounded


def bounded_metrics(cells: Cells) -> BoundedMetrics:
    """Compute all measures of some cells."""
    ranks = cells.once(rank_cells)
    return BoundedMetrics(
        ranks.auc,
        ranks.average_precision,
        ranks.balanced_precision_area,
        log_loss(cells),
        brier(cells),
        calibration_error(cells),
        calibration_error_debiased(cells),
    )


def log_loss(cells: Cells) -> Bounded:
    """Mean negative log-likelihood in nats.

    The loss is convex in the score: its mean over the rows of a cell is not below the loss at
    their mean score (Jensen), and not above the chord between the ends of the interval.
    """
    if not cells.score.size:
        return UNDEFINED
    away = np.where(cells.y == 1, -1.0, 1.0)
    at, left, right = (_softplus(away * each) for each in _three(cells))
    with np.errstate(invalid="ignore"):
        share = (cells.score / 2 - cells.low / 2) / (cells.high / 2 - cells.low / 2)
        chord = np.where(cells.low == cells.high, at, left + share * (right - left))
    low = _mean(cells, at)
    return Bounded(low, low, _mean(cells, np.where(np.isnan(chord), np.inf, chord)))


def brier(cells: Cells) -> Bounded:
    """Mean squared difference of probability and label.

    A row's loss is off the tangent at the cell's mean score by at most half the largest second
    derivative times the squared distance, and the mean of that is at most
    `(high - mean) (mean - low)` (Bhatia and Davis). It also lies between its values at the ends.
    """
    if not cells.score.size:
        return UNDEFINED
    at, *ends = ((each - cells.y) ** 2 for each in cells.once(_probabilities))
    low, high = _around(cells, at, ends, BEND_OF_BRIER)
    return Bounded(_mean(cells, at), _mean(cells, low), _mean(cells, high))


def mean_probability(cells: Cells) -> Bounded:
    """Mean probability of label 1, with the bounds of `brier` for the sigmoid itself."""
    if not cells.score.size:
        return UNDEFINED
    at, *ends = cells.once(_probabilities)
    low, high = _around(cells, at, ends, BEND_OF_SIGMOID)
    return Bounded(*(_mean(cells, each) for each in (at, low, high)))


def confidence_gap(cells: Cells) -> Bounded:
    """Mean probability of the predicted class minus the share predicted rightly.

    Cells on one side of 0 are predicted alike, and their confidence has the bounds of
    `mean_probability`. In others it is at least a half, and rows may be right or wrong.
    """
    if not cells.score.size:
        return UNDEFINED
    at, *ends = (sigmoid(np.abs(each)) for each in _three(cells))
    low, high = _around(cells, at, ends, BEND_OF_SIGMOID)
    both = (cells.low < 0) & (cells.high > 0)
    low, high = np.where(both, 0.5, low), np.where(both, np.maximum(*ends), high)
    right, *rights = (rightly_predicted(cells.y, each) for each in _three(cells))
    gaps = at - right, low - np.maximum(*rights), high - np.minimum(*rights)
    return Bounded(*(_mean(cells, each) for each in gaps))


def calibration_error(cells: Cells) -> Bounded:
    """Root mean squared gap of predicted and observed rate over 15 bins of whole cells.

    The observed rates of such bins are exact, and the mean probability of a cell has the
    bounds of `brier`, with the sigmoid itself in place of its square. So every gap has bounds,
    and with them its square.
    """
    if not cells.score.size:
        return UNDEFINED
    return Bounded(*(each.error for each in cells.once(_three_gaps)))


def calibration_error_debiased(cells: Cells) -> Bounded:
    """Calibration error without what chance alone adds, over the same bins.

    Labels, weights and their squares are exact in bins of whole cells, and with them what is
    taken off the squared gaps. The root of the rest rises with these, so that their bounds are
    its bounds.
    """
    if not cells.score.size:
        return UNDEFINED
    return Bounded(*(each.debiased for each in cells.once(_three_gaps)))


def calibration_bins(cells: Cells) -> BinGaps:
    """Return the bins of the calibration error, with the gaps that the mean scores give."""
    return cells.once(_three_gaps)[0]


def _three_gaps(cells: Cells) -> tuple[BinGaps, BinGaps, BinGaps]:
    """Return bins with gaps as estimated, as small as they may be and as large."""
    at, *ends = cells.once(_probabilities)
    around = _around(cells, at, ends, BEND_OF_SIGMOID)
    order, w = cells.order, cells.weight
    starts = equal_mass_starts(cells.centre[order], CALIBRATION_BINS, w[order])
    summed = w, w * cells.y, *(w * (each - cells.y) for each in (at, *around))
    mass, positive, gap, low, high = (np.add.reduceat(each[order], starts) for each in summed)
    squares = mass if cells.counted else np.add.reduceat(cells.squares[order], starts)
    nearest, farthest = np.maximum(np.maximum(low, -high), 0), np.maximum(-low, high)
    one, two, three = (BinGaps(mass, squares, positive, each) for each in (gap, nearest, farthest))
    return one, two, three


def _around(cells: Cells, at: Floats, ends: Sequence[Floats], bend: float) -> tuple[Floats, Floats]:
    """Bound the mean over each cell of a monotone function with a bounded second derivative."""
    with np.errstate(invalid="ignore", over="ignore"):
        off = bend / 2 * (cells.high - cells.score) * (cells.score - cells.low)
    # fmax and fmin pass over NaN, which stands for an interval without end.
    low = np.fmax(at - off, np.minimum(*ends))
    high = np.fmin(at + off, np.maximum(*ends))
    return low, high


def _three(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return the mean score of each cell and the ends of its interval."""
    return cells.score, cells.low, cells.high


def _probabilities(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return the sigmoid at the mean score and at both ends."""
    at, low, high = map(sigmoid, _three(cells))
    return at, low, high


def _softplus(scores: Floats) -> Floats:
    """Return log(1 + exp(score)), the loss of a logit that points away from the label."""
    return np.log1p(np.exp(-np.abs(scores))) + np.maximum(scores, 0)


def _mean(cells: Cells, values: Floats) -> float:
    # Not `np.dot`: on a busy machine its threads wait for each other longer than this takes.
    return float(np.sum(cells.weight * values) / cells.weight.sum())
