"""Grow a partition: a decision tree on the training rows."""

from typing import Any, ClassVar, Self

import pandas as pd

from hetcal.arrays import Floats, Ints, Labels
from hetcal.partitions.base import PartitionEstimator
from hetcal.partitions.encoding import (
    TrainingRows,
    class_numbers,
    complete_columns,
    pick_columns,
    to_partition,
)
from hetcal.progress import Progress, between, silent
from hetcal.trees.bins import Matrix
from hetcal.trees.label_tree import MOST_CLASSES, GrownTree, Growth, grow_tree


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
