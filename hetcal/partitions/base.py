"""What all estimators of partitions share."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from hetcal.arrays import Ints
from hetcal.data.columns import named_columns, row_weights
from hetcal.errors import PartitionError
from hetcal.partitions.encoding import TrainingRows, class_numbers
from hetcal.partitions.partition import Leaf, Partition


class FrameEstimator(BaseEstimator):
    """An estimator that is given tables of numbers and categories, and labels."""

    _most_classes: ClassVar[int] = 2

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        require_table(X)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return named_columns(X)
        return named_columns(validate_data(self, X, reset=reset, ensure_all_finite=False))

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        """Check what `fit` was given, and leave out rows of weight 0."""
        frame = self._frame(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        used, weight = np.ones(len(frame), dtype=np.bool_), None
        if sample_weight is not None:
            weight = row_weights(sample_weight, frame)
            used = weight > 0
            if not used.all():  # millions of rows are not copied for nothing
                frame, y, weight = frame[used], y[used], weight[used]
        return TrainingRows(frame, class_numbers(y, self._most_classes), weight, used)

    def _require_counts(self, what: str, *names: str) -> None:
        """Refuse parameters that are not whole numbers of at least 1; a leaf size may be None."""
        for name in names:
            value = getattr(self, name)
            if value is not None or name != "min_samples_leaf":
                require_count(value, f"parameter '{name}' of the {what}")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=self._most_classes > 2)
        return tags


def require_table(X: Any) -> None:
    """Refuse a table without rows or columns, or with a name that several columns share."""
    # What is in brackets are the words that scikit-learn's checks of estimators look for.
    shape: tuple[int, ...] = getattr(X, "shape", ())
    rows, columns = shape if len(shape) == 2 else (1, 1)
    if not columns:
        raise PartitionError(
            f"The table has no columns (0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is "
            "required).",
            "A partition divides the rows by at least one column.",
            "Give a table with a column of numbers or categories.",
        )
    if not rows:
        raise PartitionError(
            f"The table has no rows (0 sample(s) (shape=(0, {columns})) while a minimum of 1 is "
            "required).",
            "A partition is grown on rows, and sends rows to leaves.",
            "Give a table with at least one row.",
        )
    if isinstance(X, pd.DataFrame) and not (names := named_columns(X).columns).is_unique:
        listed = ", ".join(f"'{name}'" for name in names[names.duplicated()].unique()[:5])
        raise PartitionError(
            f"The table has several columns with one name ({listed}).",
            "A partition knows its columns by their names, so each needs one of its own.",
            "Rename or remove the columns whose name repeats.",
        )


def require_count(value: Any, name: str) -> int:
    """Return a whole number of at least 1, or refuse it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise PartitionError(
            f"The {name} is {value!r}.",
            "It has to be a whole number of at least 1.",
            "Choose such a number.",
        )
    return int(value)


class PartitionEstimator(FrameEstimator):
    """An estimator whose `fit` gives a partition."""

    partition_: Partition

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of each row, from 1."""
        check_is_fitted(self)
        return self.partition_.apply(self._frame(X, reset=False))

    @property
    def leaves_(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        return self.partition_.leaves
