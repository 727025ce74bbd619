"""A sequence of partitions: gradient-boosted trees, and nested calibration along them."""

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from threadpoolctl import threadpool_limits

from hetcal.arrays import Floats, Groups, Ints, Labels, Singles
from hetcal.data.splits import draw_group_folds
from hetcal.errors import PartitionError
from hetcal.parallel import Report, side_by_side
from hetcal.partitions.encoding import TrainingRows
from hetcal.partitions.ensemble import TreeColumns, TreeEnsemble
from hetcal.partitions.forest import EnsembleEstimator
from hetcal.partitions.sklearn_internals import ReportingLoss, boosted_baseline, boosted_trees
from hetcal.progress import Progress, silent


class BoostedPartition(EnsembleEstimator):
    """Partition the feature space again and again by gradient-boosted trees on the labels.

    The rows are divided into as many folds as there are members. Each member is a sequence of
    boosted trees on all folds but one, and stops when it no longer improves on that one; the
    margin is the mean over the members. So every row has a margin from a member that was not
    trained on it (`held_out_`), and no row is lost to early stopping. Rows of one group share
    a fold; there may be fewer folds, and members, than requested then.

    Parameters
    ----------
    members : int, default=5
        Sequences of trees, at least 2.
    learning_rate : float, default=0.06
        Share of each tree's values that is kept.
    max_iter : int, default=500
        Most trees of a member.
    max_leaf_nodes : int, default=24
        Most leaves of a tree.
    random_state : int, default=0
        Decides the folds and the columns that a split may read.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees of all members, one after the other.
    values_ : array of float
        What each leaf adds to the margin.
    baseline_ : float
        The margin before the first tree.
    held_out_ : array of float
        Margin of each row of `fit` by the member that has not seen it.
    """

    def __init__(
        self,
        members: int = 5,
        *,
        learning_rate: float = 0.06,
        max_iter: int = 500,
        max_leaf_nodes: int = 24,
        random_state: int = 0,
    ) -> None:
        self.members = members
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ranked: Any = None,
        *,
        groups: Any = None,
        progress: Progress = silent,
    ) -> Self:
        """Grow the trees on rows with labels of two classes.

        Parameters
        ----------
        X, y, sample_weight : table, labels, weights
            The rows.
        ranked : array of bool, optional
            Rows whose labels order the categories; by default all. Margins of the others do not
            depend on their own labels.
        groups : array, optional
            Group of each row.
        progress : callable, optional
            Receives the share of the most trees that are grown; what it raises ends the growth.
        """
        self._require_counts("boosted trees", "members", "max_iter", "max_leaf_nodes")
        rows = self._training_rows(X, y, sample_weight)
        check_consistent_length(X, groups)
        if rows.weight is not None:
            # The unit of weights must not matter, though scikit-learn shrinks by sums of them.
            rows = replace(rows, weight=rows.weight / rows.weight.mean())
        self._check(rows.y)
        chosen = rows.used if ranked is None else np.asarray(ranked, dtype=np.bool_)
        _, columns = rows.take(np.flatnonzero(chosen[rows.used])).encode()
        matrix = TreeColumns.of(columns).matrix(rows.frame)
        held_out = np.full(rows.used.size, np.nan)
        inside = np.flatnonzero(rows.used)
        parts = self._parts(rows, None if groups is None else np.asarray(groups)[rows.used])
        # A member per core: its trees are too small to be divided among cores.
        members = [
            partial(self._member, matrix, rows, grown, left_out, number)
            for number, (grown, left_out) in enumerate(parts)
        ]
        models = side_by_side(members, "Growing boosted trees", progress)
        for model, (_, left_out) in zip(models, parts, strict=True):
            held_out[inside[left_out]] = model.decision_function(matrix[left_out])
        trees = [each for model in models for each in boosted_trees(model)]
        self.ensemble_ = TreeEnsemble.of(columns, [tree for tree, _ in trees])
        self.values_: Floats = np.concatenate([values for _, values in trees]) / len(models)
        self.baseline_ = float(np.mean([boosted_baseline(model) for model in models]))
        self.held_out_ = held_out
        return self

    def _parts(self, rows: TrainingRows, group: Groups | None) -> list[tuple[Ints, Ints]]:
        """Return the rows that each member is grown on, and those that it leaves out."""
        if group is None:
            folds = StratifiedKFold(self.members, shuffle=True, random_state=self.random_state)
            return list(folds.split(rows.frame, rows.y))
        fold = draw_group_folds(rows.y, group, self.members, self.random_state)
        if fold is None:
            raise PartitionError(
                "The groups of the rows cannot be divided in two so that both parts have rows of "
                "both classes.",
                "Each sequence of boosted trees is grown without some of the groups.",
                "Choose rows of more groups, or name no group column.",
            )
        inside = [fold == number for number in range(int(fold.max()) + 1)]
        return [(np.flatnonzero(~here), np.flatnonzero(here)) for here in inside]

    def _member(
        self,
        matrix: Singles,
        rows: TrainingRows,
        grown: Ints,
        left_out: Ints,
        number: int,
        report: Report,
    ) -> HistGradientBoostingClassifier:
        model = HistGradientBoostingClassifier(
            loss=ReportingLoss(lambda trees: report(trees / self.max_iter)),
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=min(40, max(5, len(grown) // 100)),
            l2_regularization=5.0,
            max_features=min(1.0, max(0.2, 4 / matrix.shape[1])),
            early_stopping=True,
            n_iter_no_change=20,
            random_state=self.random_state + number,
        )
        weight, part = rows.weight, matrix[grown]
        part[:, np.isnan(part).all(axis=0)] = 0.0  # scikit-learn bins no column without values
        with threadpool_limits(1, user_api="openmp"):
            return model.fit(
                part,
                rows.y[grown],
                sample_weight=None if weight is None else weight[grown],
                X_val=matrix[left_out],
                y_val=rows.y[left_out],
                sample_weight_val=None if weight is None else weight[left_out],
            )

    def decision_function(self, X: Any) -> Floats:
        """Return the margin: the logit of the boosted trees alone."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        margin = np.full(len(frame), self.baseline_)
        for rows, leaves in self.ensemble_.walk(frame):
            for leaf in leaves:
                margin[rows] += self.values_.take(leaf)
        return margin

    def _check(self, positive: Labels) -> None:
        fewest = int(min(positive.sum(), (1 - positive).sum()))
        if self.members < 2 or fewest < self.members:
            raise PartitionError(
                f"There are {fewest:,} rows of the rarer class for {self.members} members.",
                "Boosted trees need at least two members, and a row of each class for each.",
                "Choose another number of members, or training rows with more of both classes.",
            )
