"""Is a leaf miscalibrated, and is its gap between train and test rows real: p-values by leaf."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtr

from hetcal.arrays import Floats
from hetcal.cells.cells import Cells
from hetcal.metrics.calibration import cumulative_difference
from hetcal.metrics.delong import welch_freedom
from hetcal.metrics.metrics import loss_of_rows, rows_of_leaves
from hetcal.metrics.ranking import class_variance


def leaf_tests(train: Cells, test: Cells, leaves: Sequence[int]) -> pd.DataFrame:
    """Test the scores of the model in every leaf and on all rows together.

    P-values of leaves are corrected by Holm's method: if no leaf has an effect, one of them is
    below 5 % in one of twenty runs. That of all rows is not.

    Returns
    -------
    DataFrame
        The first row has leaf 0: all rows. Columns: `leaf`, `p_gap` (of equal log-losses on train
        and test rows) and `p_before` (see `calibrated_p_values`); NaN without rows.
    """
    sides = zip(_parts(train, leaves), _parts(test, leaves), strict=True)
    gap = [_gap_p_value(*map(_mean_loss, each)) for each in sides]
    return pd.DataFrame(
        {
            "leaf": [0, *leaves],
            "p_gap": _corrected(np.array(gap)),
            "p_before": calibrated_p_values(test, leaves),
        }
    )


def calibrated_p_values(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return p-values of calibrated probabilities: of all rows, then of each leaf, corrected.

    The test is that of `hetcal.metrics.calibration.cumulative_difference`.
    """
    return _corrected(np.array([cumulative_difference(each).p for each in _parts(cells, leaves)]))


def _corrected(p: Floats) -> Floats:
    return np.append(p[:1], holm(p[1:]))


def _parts(cells: Cells, leaves: Sequence[int]) -> Iterator[Cells]:
    """Yield all cells, then those of each leaf."""
    yield cells
    for inside in rows_of_leaves(cells.leaf, leaves):
        yield cells.chosen(inside)


def holm(p: Floats) -> Floats:
    """Correct p-values by Holm's method; those that are not known stay so and are not counted.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, np.nan, 0.03])).tolist()
    [0.06, 0.03, nan, 0.06]
    """
    order = np.argsort(p)  # NaN comes last
    count = np.count_nonzero(~np.isnan(p))
    corrected = np.full(p.size, np.nan)
    known = order[:count]
    corrected[known] = np.minimum(np.maximum.accumulate(p[known] * np.arange(count, 0, -1)), 1.0)
    return corrected


def _mean_loss(cells: Cells) -> tuple[float, float, float]:
    """Return the mean log-loss, its variance, and the number of rows."""
    rows = float(cells.rows.sum())
    if not rows:
        return math.nan, math.nan, 0.0
    loss = loss_of_rows(cells.y, cells.score)
    variance = class_variance(loss, cells.weight, cells.squares, rows)
    return float(np.average(loss, weights=cells.weight)), variance, rows


def _gap_p_value(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Compare two means by Welch's test, two-sided."""
    variances, counts = np.array([one[1], other[1]]), np.array([one[2], other[2]])
    error = math.sqrt(variances.sum())
    if math.isnan(error):
        return math.nan
    if not error:
        return float(one[0] == other[0])
    distance = abs(one[0] - other[0]) / error
    return 2 * float(stdtr(welch_freedom(variances, counts), -distance))
