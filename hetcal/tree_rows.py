"""The rows on which an estimator of many trees is grown, checked."""

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from hetcal.arrays import Bools, Floats, Ints
from hetcal.feature_values import named_columns
from hetcal.training_rows import two_classes


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows with a weight above 0.

    Parameters
    ----------
    frame : DataFrame
        The columns.
    positive : array of int
        1 where the label is the larger one.
    weight : array of float
        Row weights.
    used : array of bool
        Which of the rows that were given these are.
    weighted : bool
        Whether weights were given.
    """

    frame: pd.DataFrame
    positive: Ints
    weight: Floats
    used: Bools
    weighted: bool

    @classmethod
    def of(cls, estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check rows as scikit-learn wants it, and leave those without weight out."""
        frame = table_of(estimator, X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        weight = _check_sample_weight(sample_weight, frame, ensure_non_negative=True)
        used = weight > 0
        positive = two_classes(y[used])
        return cls(frame[used], positive, weight[used], used, sample_weight is not None)


def table_of(estimator: BaseEstimator, X: Any, *, reset: bool) -> pd.DataFrame:
    """Return a table with names of text, checked against the columns of `fit`."""
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.empty:
            check_array(X)  # scikit-learn's words for no rows or no columns
        return named_columns(X)
    return named_columns(validate_data(estimator, X, reset=reset, ensure_all_finite=False))
