"""Many partitions side by side: the trees of a random forest."""

from typing import Any, Self

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import check_is_fitted

from hetcal.partitions.ensemble import TreeEnsemble
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import FrameEstimator
from hetcal.progress import Progress, silent
from hetcal.trees.label_tree import GrownTree


class EnsembleEstimator(FrameEstimator):
    """An estimator whose `fit` gives many partitions."""

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


STEP = 12  # fewest trees grown between two reports


class ForestPartition(EnsembleEstimator):
    """Partition the feature space many times by the trees of a random forest.

    Every tree is grown on rows drawn with replacement, every split reads some of the columns
    only. Columns, missing values and rare categories are treated as in `TreePartition`.

    Parameters
    ----------
    trees : int, default=60
        Number of partitions.
    max_depth : int, default=6
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest training rows of a leaf; None means 100, or one in fifty of a small table.
    max_rows : int, default=50000
        Most rows drawn for one tree.
    random_state : int, default=0
        Decides rows and columns.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees as plain data.
    """

    def __init__(
        self,
        trees: int = 60,
        *,
        max_depth: int = 6,
        min_samples_leaf: int | None = None,
        max_rows: int = 50_000,
        random_state: int = 0,
    ) -> None:
        self.trees = trees
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Grow the trees on training rows with labels of two classes.

        Parameters
        ----------
        X, y, sample_weight : table, labels, weights
            The rows.
        progress : callable, optional
            Receives the share of the trees that are grown; what it raises ends the growth.
        """
        self._require_counts("forest", "trees", "max_depth", "max_rows", "min_samples_leaf")
        rows = self._training_rows(X, y, sample_weight)
        matrix, columns = rows.encode()
        fewest = self.min_samples_leaf
        forest = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth,
            min_samples_leaf=min(100, max(1, len(matrix) // 50)) if fewest is None else fewest,
            max_samples=self.max_rows if len(matrix) > self.max_rows else None,
            random_state=self.random_state,
            n_jobs=-1,
            warm_start=True,
        )
        step = cpu_count() * -(-STEP // cpu_count())  # so that all cores end together
        for grown_before in range(0, self.trees, step):
            progress(grown_before / self.trees, "Growing a forest")
            forest.n_estimators = min(grown_before + step, self.trees)
            with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values
                forest.fit(matrix, rows.y, rows.weight)
        grown = [GrownTree.from_scikit_learn(tree.tree_) for tree in forest.estimators_]
        self.ensemble_ = TreeEnsemble.of(columns, grown)
        return self
