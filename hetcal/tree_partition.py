"""Grow a partition: a decision tree on the training rows."""

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import ClassifierTags, Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Floats, Ints
from hetcal.errors import PartitionError
from hetcal.grown_tree import GrownTree
from hetcal.histogram_tree import Growth, grow_tree
from hetcal.partition_estimator import PartitionEstimator
from hetcal.picked_columns import Matrix
from hetcal.picked_encoding import pick_columns, with_values
from hetcal.progress import Progress, between, silent
from hetcal.ranking import Labels
from hetcal.row_weights import row_weights
from hetcal.training_rows import TrainingRows, two_classes
from hetcal.tree_encoding import complete_columns, to_partition, unfinished


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
        Decides in scikit-learn between splits that are equally good. hetcal's own tree
        takes the first column, then the lowest threshold.
    grower : {"histogram", "scikit-learn"}, default="histogram"
        What grows the tree: hetcal, or scikit-learn's `DecisionTreeClassifier`. The
        results are equal unless two splits are equally good.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        min_samples_leaf: int | None = None,
        random_state: int | None = 0,
        grower: Literal["histogram", "scikit-learn"] = "histogram",
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state
        self.grower = grower

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training rows with labels of two classes."""
        rows = self._training_rows(X, y, sample_weight)
        matrix, columns = rows.encode(complete=self.grower != "histogram")
        tree = self._grow(matrix, rows, self._min_leaf(len(matrix)))
        self.partition_ = to_partition(tree, complete_columns(columns, tree))
        return self

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
            Is told how far the work has come.
        """
        if self.grower != "histogram":
            return self.fit(X.iloc[rows], y, sample_weight)
        self._check_parameters()
        frame = self._frame(X, reset=True)
        if sample_weight is not None:
            used = sample_weight > 0
            rows, y, sample_weight = rows[used], y[used], sample_weight[used]
        training = TrainingRows(frame, two_classes(y), sample_weight)
        picking, growing = between(progress, 0.0, 0.4), between(progress, 0.4, 1.0)
        picked, columns = pick_columns(frame, rows, training.positive, sample_weight, picking)
        growing(0.0, "Growing the tree: looking for the best splits")
        tree = self._grow(picked, training, self._min_leaf(rows.size))
        columns = with_values(columns, picked, unfinished(columns, tree))
        self.partition_ = to_partition(tree, complete_columns(columns, tree))
        return self

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        """Check what `fit` was given, and leave out rows of weight 0."""
        self._check_parameters()
        frame = self._frame(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        if sample_weight is None:
            return TrainingRows(frame, two_classes(y), None)
        weight = row_weights(sample_weight, frame)
        used = weight > 0
        if not used.all():
            frame, y, weight = frame[used], y[used], weight[used]
        return TrainingRows(frame, two_classes(y), weight)

    def _grow(self, X: Matrix, rows: TrainingRows, min_leaf: int) -> GrownTree:
        if self.grower == "histogram":
            growth = Growth(self.max_depth, min_leaf)
            return grow_tree(X, rows.positive, rows.weight, growth=growth)
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth, min_samples_leaf=min_leaf, random_state=self.random_state
        )
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values
            tree.fit(X, rows.positive, sample_weight=rows.weight)
        return GrownTree.from_scikit_learn(tree.tree_, np.asarray(X))

    def _min_leaf(self, rows: int) -> int:
        return default_min_leaf(rows) if self.min_samples_leaf is None else self.min_samples_leaf

    def _check_parameters(self) -> None:
        self._require_counts("tree", "max_depth", "min_samples_leaf")
        if self.grower not in ("histogram", "scikit-learn"):
            raise PartitionError(
                f"The parameter 'grower' of the tree is {self.grower!r}.",
                "It has to be 'histogram' or 'scikit-learn'.",
                "Choose one of the two.",
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
