"""What all estimators of partitions share, and the usual one: a decision tree on labels."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from hetcal.arrays import Floats, Ints, Labels
from hetcal.data.columns import named_columns, row_weights
from hetcal.errors import PartitionError
from hetcal.partitions.encoding import (
    TrainingRows,
    class_numbers,
    complete_columns,
    pick_columns,
    to_partition,
)
from hetcal.partitions.partition import Leaf, Partition
from hetcal.progress import Progress, between, silent
from hetcal.trees.bins import Matrix
from hetcal.trees.label_tree import MOST_CLASSES, GrownTree, Growth, grow_tree


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


def default_min_leaf(rows: int) -> int:
    """Choose the fewest training rows of a leaf: the paper's 1,000 if there are plenty.

    Examples
    --------
    >>> default_min_leaf(30_000), default_min_leaf(8_000), default_min_leaf(100)
    (1000, 500, 25)
    """
    return 1000 if rows >= 16_000 else max(25, rows // 16)


class TreePartition(PartitionEstimator):
    """Partition the feature space by a decision tree on the labels.

    The tree is that of scikit-learn's `DecisionTreeClassifier`, unless two splits are equally
    good: then the first column is taken, and the lowest threshold.

    Categories are ordered by their positive rate in training, so that a split is a set of names;
    with more than two classes, by the direction in which the shares of the classes differ most.
    Missing values go to the side that lowers the impurity most; where training had none, they go
    to the side with more rows. A category unseen in training follows the missing values, and so
    does one that is rare: with fewer than 50 training rows, or than one in twenty of a small
    table.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest training rows of a leaf; None means `default_min_leaf`.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data. With more than two classes, its rates are those of the class
        with the most rows.
    """

    _most_classes: ClassVar[int] = MOST_CLASSES

    def __init__(self, max_depth: int = 3, *, min_samples_leaf: int | None = None) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training rows with labels of two or more classes."""
        self._check_parameters()
        return self._fit(self._training_rows(X, y, sample_weight))

    def fit_rows(
        self,
        X: pd.DataFrame,
        rows: Ints,
        y: Labels,
        sample_weight: Floats | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Grow the tree on some rows of a table, without a copy of their columns.

        Parameters
        ----------
        X : DataFrame
            The whole table.
        rows : array of int
            The training rows.
        y, sample_weight : array
            Labels and weights of these.
        progress : callable, optional
            Receives the share of the work that is done.
        """
        self._check_parameters()
        frame = self._frame(X, reset=True)
        if sample_weight is not None:
            used = sample_weight > 0
            rows, y, sample_weight = rows[used], y[used], sample_weight[used]
        training = TrainingRows(frame, class_numbers(y, self._most_classes), sample_weight)
        return self._fit(training, rows, progress)

    def _fit(
        self, training: TrainingRows, rows: Ints | None = None, progress: Progress = silent
    ) -> Self:
        """Grow the tree on the given rows of the frame, or on all."""
        labels = training.ordering, training.weight
        picked, columns = pick_columns(training.frame, rows, *labels, between(progress, 0.0, 0.4))
        progress(0.4, "Growing the tree: looking for the best splits")
        fewest = self.min_samples_leaf
        fewest = default_min_leaf(len(picked)) if fewest is None else fewest
        tree = self._grow(picked, training, fewest)
        self.partition_ = to_partition(tree, complete_columns(columns, tree, picked))
        return self

    def _grow(self, X: Matrix, rows: TrainingRows, min_leaf: int) -> GrownTree:
        return grow_tree(X, rows.y, rows.weight, growth=Growth(self.max_depth, min_leaf))

    def _check_parameters(self) -> None:
        self._require_counts("tree", "max_depth", "min_samples_leaf")
