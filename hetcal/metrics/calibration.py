"""Calibration without bins: the smooth error, the cumulative-difference test, the loss in parts.

All take cells whose scores are logits; a measure without rows is NaN.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct
from scipy.optimize import isotonic_regression
from scipy.special import erfc, xlogy

from hetcal.arrays import Floats
from hetcal.cells.cells import Cells
from hetcal.compiled import sigmoid
from hetcal.metrics.metrics import log_loss
from hetcal.metrics.ranking import first_of_ties

GRID = 2**12  # places between 0 and 1 at which the smooth error is computed
HALVINGS = 40
CERTAIN = 0.4  # a Brownian motion has a larger range, but for one time in ten million
TERMS = 100
# A walk of single steps does not reach as far as the motion between them: by this share of a
# step's standard deviation at either end (Chernoff, 1965).
UNSEEN = 0.5826
LEAST = 5.0  # variance of the number of positive rows, below which there is no such motion


def smooth_error(cells: Cells) -> float:
    """Return the smooth calibration error smECE (Błasiok and Nakkiran, 2023).

    The gaps of label and probability are averaged along the probability by a Gaussian kernel that
    is reflected at 0 and 1; the error is the mean absolute average. Its width is the one that
    equals the error. Reflection makes the kernel that of heat in a closed interval, under which
    every cosine fades on its own.
    """
    if not cells.score.size:
        return math.nan
    p = sigmoid(cells.score)
    place = np.minimum((p * GRID).astype(np.int64), GRID - 1)
    gap = np.bincount(place, cells.weight * (cells.y - p), GRID) / cells.weight.sum()
    waves = dct(gap, norm="ortho")
    fading = -((np.pi * np.arange(GRID)) ** 2) / 2

    def error(width: float) -> float:
        # The cosine transform of type 3 undoes that of type 2.
        return float(np.abs(dct(waves * np.exp(fading * width**2), 3, norm="ortho")).sum())

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle) > middle else (low, middle)
    return high


@dataclass(frozen=True)
class CumulativeDifference:
    """How far labels drift from probabilities when rows are added up in order of probability."""

    range: float  # of the mean of label minus probability, over all stretches of rows: ECCE-R
    p: float  # of the hypothesis that the probabilities are those of the labels


def cumulative_difference(cells: Cells) -> CumulativeDifference:
    """Test calibration by cumulative differences (Arrieta-Ibarra and others, 2022).

    Of calibrated rows the differences add up to a Brownian motion, whose range has Feller's
    distribution. Rows with equal scores are added at once. Where the number of positive rows could
    hardly vary, for less than about 5 expected rows of a class, Freedman's inequality gives a
    p-value that is too large rather than too small.
    """
    if not cells.score.size:
        return CumulativeDifference(math.nan, math.nan)
    order = cells.order
    p, w = sigmoid(cells.score[order]), cells.weight[order]
    last = np.append(first_of_ties(cells.centre[order])[1:], order.size) - 1
    path = np.append(0.0, np.cumsum(w * (cells.y[order] - p))[last])
    reach, vary = float(np.ptp(path)), p * (1 - p)
    squared = float(np.sum(cells.squares[order] * vary))
    if squared and float(np.sum(w * vary)) ** 2 / squared >= LEAST:
        p_value = range_p_value(reach / math.sqrt(squared) + 2 * UNSEEN / math.sqrt(last.size))
    else:
        heaviest = float(np.max(cells.squares / cells.weight))
        far, slack = reach**2 / 8, squared + heaviest * reach / 6
        p_value = min(1.0, 2 * math.exp(-far / slack)) if slack else 1.0
    return CumulativeDifference(reach / float(w.sum()), p_value)


def range_p_value(reach: float) -> float:
    """Return the probability that a Brownian motion of unit time has at least this range.

    Examples
    --------
    >>> round(range_p_value(2.4977), 4)  # the range that one in twenty exceeds
    0.05
    """
    if reach < CERTAIN:
        return 1.0
    k = np.arange(1, TERMS + 1)
    signs = np.where(k % 2 == 1, 1.0, -1.0)
    return float(np.clip(4 * np.sum(signs * k * erfc(k * reach / math.sqrt(2))), 0.0, 1.0))


@dataclass(frozen=True)
class LossParts:
    """The log-loss in two parts, which add up to it."""

    calibration: float  # what the best increasing map of the score would gain
    refinement: float  # what is left after that map


def loss_parts(cells: Cells) -> LossParts:
    """Split the log-loss by isotonic recalibration (Dimitriadis, Gneiting and Jordan, 2021).

    The map is fitted on the rows that it is measured on, so that the calibration part is never
    below 0, and above it by chance on few rows.
    """
    if not cells.score.size:
        return LossParts(math.nan, math.nan)
    order = cells.order
    first = first_of_ties(cells.centre[order])
    w, ones = (
        np.add.reduceat(each[order], first) for each in (cells.weight, cells.weight * cells.y)
    )
    rate: Floats = np.clip(isotonic_regression(ones / w, weights=w).x, 0.0, 1.0)
    left = -float(np.sum(xlogy(ones, rate) + xlogy(w - ones, 1 - rate)) / w.sum())
    return LossParts(log_loss(cells.y, cells.score, cells.given_weight) - left, left)
