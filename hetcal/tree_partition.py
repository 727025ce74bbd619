"""Grow a partition: scikit-learn's decision tree on the training rows."""

from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import ClassifierTags, Tags, check_array, column_or_1d
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from hetcal.arrays import Ints
from hetcal.errors import PartitionError
from hetcal.feature_values import named_columns
from hetcal.partition import Leaf, Partition
from hetcal.tree_encoding import encode_column, to_partition


def default_min_leaf(rows: int) -> int:
    """Choose the fewest training rows of a leaf: the paper's 1,000 if there are plenty.

    Examples
    --------
    >>> default_min_leaf(30_000), default_min_leaf(8_000), default_min_leaf(100)
    (1000, 500, 25)
    """
    return 1000 if rows >= 16_000 else max(25, rows // 16)


class TreePartition(BaseEstimator):
    """Partition the feature space by a decision tree on the labels.

    Categories are ordered by their positive rate in training, so that a split is
    a set of names. Missing values go to the side that lowers the impurity most;
    where training had none, they go to the side with more rows. A category
    unseen in training follows the missing values, and so does one that is rare:
    with fewer than 50 training rows, or than one in twenty of a small table.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest training rows of a leaf; None means `default_min_leaf`.
    random_state : int, default=0
        Decides between splits that are equally good.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    tree_ : DecisionTreeClassifier
        scikit-learn's fitted tree.
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        min_samples_leaf: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training rows with labels of two classes."""
        self._check_parameters()
        frame = self._frame(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        weight = _check_sample_weight(sample_weight, frame, ensure_non_negative=True)
        used = weight > 0
        frame, positive, weight = frame[used], _two_classes(y[used]), weight[used]
        columns = [encode_column(column, positive, weight) for _, column in frame.items()]
        matrix = np.column_stack([column.values for column in columns]).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values
            self.tree_ = self._tree(len(frame)).fit(matrix, positive, sample_weight=weight)
        self.partition_: Partition = to_partition(self.tree_, columns)
        return self

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of each row, from 1."""
        check_is_fitted(self)
        return self.partition_.apply(self._frame(X, reset=False))

    @property
    def leaves_(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        return self.partition_.leaves

    def _tree(self, rows: int) -> DecisionTreeClassifier:
        leaf = self.min_samples_leaf
        return DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=default_min_leaf(rows) if leaf is None else leaf,
            random_state=self.random_state,
        )

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.empty:
                check_array(X)  # scikit-learn's words for no rows or no columns
            return named_columns(X)
        return named_columns(validate_data(self, X, reset=reset, ensure_all_finite=False))

    def _check_parameters(self) -> None:
        for name in ("max_depth", "min_samples_leaf"):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not (whole and value >= 1) and not (name == "min_samples_leaf" and value is None):
                raise PartitionError(
                    f"The parameter '{name}' of the tree is {value!r}.",
                    "It has to be a whole number of at least 1.",
                    "Choose such a number.",
                )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def _two_classes(y: Any) -> Ints:
    missing = int(pd.isna(y).sum())
    classes, codes = np.unique(y, return_inverse=True) if not missing else (np.array([]), y)
    if classes.size != 2:
        found = "one class" if classes.size == 1 else f"{classes.size:,} classes"
        raise PartitionError(
            f"The labels of the training rows have {f'{missing:,} gaps' if missing else found}.",
            "A tree is trained on labels of exactly two classes.",
            "Choose training rows of both classes, and another label column if it has more.",
        )
    return codes.astype(np.int64)
