"""A second model: gradient-boosted trees on the columns, whose margin stands beside the score."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from hetcal.arrays import Bools, Floats, Ints
from hetcal.partitions.boosting import (
    BoostingRows,
    Part,
    boost_members,
    divided_rows,
    grown_trees,
    margin_of,
    require_members,
    stopping_rows,
)
from hetcal.partitions.encoding import TrainingRows
from hetcal.partitions.ensemble import TreeColumns, TreeEnsemble
from hetcal.partitions.forest import EnsembleEstimator
from hetcal.progress import Progress, silent
from hetcal.trees.label_tree import GrownTree

if TYPE_CHECKING:
    from lightgbm import Booster

# Of fewer rows, smaller trees learn as much, and sets of categories learn noise.
FEW_ROWS = 10_000
# Of fewer rows, trees that draw their thresholds rank better beside others, but not of more.
FEWEST_ROWS = 5_000
# Of fewer rows, two rounds of few trees rank better than one of many, in the same time.
MANY_ROWS = 20_000
FEW_COLUMNS = 6  # of which every tree reads all


class BoostedPartition(EnsembleEstimator):
    """Partition the feature space again and again by gradient-boosted trees on the labels.

    In every round the rows are divided into as many folds as there are members. Each member is a
    sequence of boosted trees on all folds but one, and stops when it no longer improves on that
    one; the margin is the mean over the members of all rounds. So every row has a margin from
    members that were not trained on it (`held_out_`), and no row is lost to early stopping. Rows
    of one group share a fold; there may be fewer folds, and members, than requested then. From
    10,000 rows on, categories are divided into any two sets, not only in the order of their rates.
    Under 5,000 rows the second half of the members draws the threshold of a column, and the best
    of these drawn thresholds divides a node: trees of two sorts make less noise together.

    Parameters
    ----------
    members : int, default=4
        Sequences of trees in a round, at least 2.
    learning_rate : float or None, default=None
        Share of each tree's values that is kept; None means 0.1, or 0.2 from 5,000 rows on and
        under 20,000.
    max_iter : int, default=500
        Most trees of a member.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; None means 31, or 15 under 10,000 rows.
    rounds : int or None, default=None
        How often the rows are divided, each time into other folds; None means once, or twice
        under 20,000 rows.
    random_state : int, default=0
        Decides the folds, and the columns that a tree may read.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees of all members, one after the other.
    values_ : array of float
        What each leaf adds to the margin.
    held_out_ : array of float
        Margin of each row of `fit`, the mean over the members that have not seen it; NaN if all
        have seen it.
    """

    def __init__(
        self,
        members: int = 4,
        *,
        learning_rate: float | None = None,
        max_iter: int = 500,
        max_leaf_nodes: int | None = None,
        rounds: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.members = members
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.rounds = rounds
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ranked: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
        progress: Progress = silent,
    ) -> Self:
        """Grow the trees on rows with labels of two classes.

        Parameters
        ----------
        X, y, sample_weight : table, labels, weights
            The rows.
        ranked : array of bool, optional
            Rows whose labels order the categories and say when to stop; by default all. Margins
            of the others do not depend on their own labels.
        groups : array, optional
            Group of each row.
        times : array, optional
            Order of the rows in time: margins of rows that are not `ranked` come from trees that
            were grown on earlier rows; they say when to stop themselves.
        progress : callable, optional
            Receives the share of the most trees that are grown; what it raises ends the growth.
        """
        given = [each for each in ("max_leaf_nodes", "rounds") if getattr(self, each) is not None]
        self._require_counts("boosted trees", "members", "max_iter", *given)
        rows = self._training_rows(X, y, sample_weight)
        require_members("Boosted trees", self.members, rows.y)
        chosen, parts = self._parts(rows, ranked, groups, times)
        _, columns = rows.take(np.flatnonzero(chosen)).encode()
        matrix = TreeColumns.of(columns).matrix(rows.frame)
        categories = [i for i, each in enumerate(columns) if each.feature.kind == "category"]
        by_sets = categories if len(matrix) >= FEW_ROWS else []

        def read(
            member: "Booster", left_out: Ints
        ) -> tuple[Floats, list[tuple[GrownTree, Floats]]]:
            return margin_of(member, matrix[left_out]), grown_trees(member)

        members = boost_members(
            BoostingRows(matrix, rows.y, rows.weight, categories=by_sets),
            parts,
            stopping_rows(parts, chosen, rows.y),
            self._options(len(matrix), matrix.shape[1], len(parts)),
            self.max_iter,
            read,
            "Growing boosted trees",
            progress,
        )
        held_out = np.full((len(members), rows.used.size), np.nan)
        inside = np.flatnonzero(rows.used)
        for own, (margin, _), (_, left_out) in zip(held_out, members, parts, strict=True):
            own[inside[left_out]] = margin
        trees = [each for _, grown in members for each in grown]
        self.ensemble_ = TreeEnsemble.of(columns, [tree for tree, _ in trees])
        self.values_: Floats = np.concatenate([values for _, values in trees]) / len(members)
        self.held_out_ = pd.DataFrame(held_out).mean().to_numpy()
        return self

    def _parts(
        self, rows: TrainingRows, ranked: Any, groups: Any, times: Any
    ) -> tuple[Bools, list[Part]]:
        """Return which of the rows are ranked, and the parts of the members of all rounds."""
        rounds = self.rounds or (1 if len(rows.y) >= MANY_ROWS else 2)
        seeds = range(self.random_state, self.random_state + rounds)
        found = [divided_rows(rows, self.members, each, ranked, groups, times) for each in seeds]
        return found[0][0], [part for _, parts in found for part in parts]

    def _options(self, rows: int, columns: int, members: int) -> list[dict[str, Any]]:
        """Return the options of each member; of few rows the second half draws its thresholds."""
        leaves = 31 if rows >= FEW_ROWS else 15
        smallest, penalty = (40, 5.0) if rows >= MANY_ROWS else (20, 1.0)
        rate = 0.2 if FEWEST_ROWS <= rows < MANY_ROWS else 0.1
        options = {
            "learning_rate": rate if self.learning_rate is None else self.learning_rate,
            "num_leaves": leaves if self.max_leaf_nodes is None else self.max_leaf_nodes,
            "min_data_in_leaf": min(smallest, max(5, rows // 100)),
            "lambda_l2": penalty,
            "feature_fraction": max(0.2, min(0.8, 20 / columns)) if columns > FEW_COLUMNS else 1.0,
            "seed": self.random_state,
        }
        drawn = members // 2 if rows < FEWEST_ROWS else members
        return [{**options, "extra_trees": number >= drawn} for number in range(members)]

    def decision_function(self, X: Any) -> Floats:
        """Return the margin: the logit of the boosted trees alone."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        margin = np.zeros(len(frame))
        for rows, leaves in self.ensemble_.walk(frame):
            for leaf in leaves:
                margin[rows] += self.values_.take(leaf)
        return margin
