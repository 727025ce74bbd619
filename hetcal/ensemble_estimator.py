"""What estimators of many partitions share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags, column_or_1d
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from hetcal.arrays import Bools, Floats
from hetcal.partition import Partition
from hetcal.partition_estimator import FrameEstimator
from hetcal.ranking import Labels
from hetcal.row_weights import row_weights
from hetcal.training_rows import two_classes
from hetcal.tree_ensemble import TreeEnsemble


@dataclass(frozen=True, eq=False)
class WeighedRows:
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
    positive: Labels
    weight: Floats
    used: Bools
    weighted: bool


class EnsembleEstimator(FrameEstimator):
    """An estimator whose `fit` gives many partitions.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees as plain data.
    """

    ensemble_: TreeEnsemble

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf id of each row in each tree, from 1: rows by trees."""
        check_is_fitted(self)
        leaf = self.ensemble_.apply(self._frame(X, reset=False))
        return leaf - self.ensemble_.leaf_starts + 1

    @property
    def partitions_(self) -> tuple[Partition, ...]:
        """Every tree as a partition with rules in words; the nodes count no rows."""
        check_is_fitted(self)
        return tuple(self.ensemble_.partition(tree) for tree in range(self.ensemble_.trees))

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> WeighedRows:
        frame = self._frame(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        weight = row_weights(sample_weight, frame)
        used = weight > 0
        positive = two_classes(y[used])
        return WeighedRows(frame[used], positive, weight[used], used, sample_weight is not None)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
