"""How much the log-loss fell, with its interval: two scores of the same rows compared."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Groups, Ints
from hetcal.cells.cells import Cells
from hetcal.metrics.delong import Spread, error_of
from hetcal.metrics.metrics import loss_of_rows
from hetcal.metrics.ranking import class_variance


@dataclass(frozen=True)
class LossChange:
    """The change of the log-loss by calibration; NaN where it is not defined."""

    fall: float  # log-loss before minus log-loss after, above 0 where probabilities are better
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
