"""How well a single feature tells the classes apart, to find leaks of the label."""

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.columns import column_kind
from hetcal.metrics import auc
from hetcal.stratified import halves

MAX_ROWS = 100_000
"""Larger tables are sampled: 0.99 and 0.98 differ on far fewer rows than these."""


def separation(column: pd.Series, y: Ints) -> float:
    """Return the AUC of a feature on its own, the end farther from 0.5.

    A number is its own score, with missing values before or after all others,
    whichever separates better. A category scores by its rate of positives on
    every other row, measured on the rows between. One class gives 0.5.

    Parameters
    ----------
    column : Series
        Numbers or categories.
    y : array of 0 and 1
        Labels of the same rows.
    """
    if column_kind(column) == "category":
        return _category_auc(column, y)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isnan(values).any():
        return _auc(values, y)
    _, rank = np.unique(values, return_inverse=True)  # missing values rank last
    last = rank.astype(np.float64)
    first = np.where(np.isnan(values), -1.0, last)
    return max(_auc(first, y), _auc(last, y), key=lambda area: abs(area - 0.5))


def _auc(score: Floats, y: Ints) -> float:
    area = auc(y, score)
    return 0.5 if np.isnan(area) else area


def _category_auc(column: pd.Series, y: Ints) -> float:
    codes, values = pd.factorize(column, use_na_sentinel=False)
    learn, measure = halves(y)
    rows = np.bincount(codes[learn], minlength=len(values))
    positives = np.bincount(codes[learn], weights=y[learn], minlength=len(values))
    # A category not met while learning gets the overall rate.
    rate = (positives + y.mean()) / (rows + 1)
    return _auc(rate[codes[measure]], y[measure])
