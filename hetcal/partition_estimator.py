"""What all estimators of partitions share."""

from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from hetcal.arrays import Ints
from hetcal.feature_values import named_columns
from hetcal.partition import Leaf, Partition


class FrameEstimator(BaseEstimator):
    """An estimator that is given tables of numbers and categories."""

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.empty:
                check_array(X)  # scikit-learn's words for no rows or no columns
            return named_columns(X)
        return named_columns(validate_data(self, X, reset=reset, ensure_all_finite=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class PartitionEstimator(FrameEstimator):
    """An estimator whose `fit` gives a partition.

    Attributes
    ----------
    partition_ : Partition
        The partition as plain data.
    """

    partition_: Partition

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of each row, from 1."""
        check_is_fitted(self)
        return self.partition_.apply(self._frame(X, reset=False))

    @property
    def leaves_(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        return self.partition_.leaves
