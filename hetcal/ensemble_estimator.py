"""What estimators of many partitions share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hetcal.partition import Partition
from hetcal.partition_estimator import FrameEstimator
from hetcal.tree_ensemble import TreeEnsemble


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
