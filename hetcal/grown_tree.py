"""The nodes of a grown decision tree as arrays, whoever grew it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.split_search import Cut


@dataclass(frozen=True)
class GrownTree:
    """The nodes of a tree: each node first, then its left part, then its right part.

    Parameters
    ----------
    feature : array of int
        Column that a node cuts; -1 for a leaf.
    threshold : array of float
        Values up to it go left; infinity parts the missing values from the rest. NaN
        for a leaf.
    missing_left : array of bool
        Side of the missing values; False for a leaf.
    left, right : arrays of int
        The children; 0 for a leaf.
    rows : array of int
        Training rows of each node.
    rate : array of float
        Share of positive labels among them, by weight; with more than two classes that of the
        most common one.
    gaps : array of bool or None
        For each column, whether a training row has no value there; None if nobody looked.
    beside : array of float, nodes x 2, or None
        The values next to the threshold among the rows of the node; None if nobody looked.
    """

    feature: Ints
    threshold: Floats
    missing_left: Bools
    left: Ints
    right: Ints
    rows: Ints
    rate: Floats
    gaps: Bools | None = None
    beside: Floats | None = None

    @classmethod
    def from_scikit_learn(cls, tree: Any) -> Self:
        """Take over the `tree_` of a `DecisionTreeClassifier` for labels 0 and 1."""
        inner = tree.feature >= 0
        return cls(
            np.where(inner, tree.feature, -1),
            np.where(inner, tree.threshold, np.nan),
            inner & (tree.missing_go_to_left != 0),
            np.where(inner, tree.children_left, 0),
            np.where(inner, tree.children_right, 0),
            tree.n_node_samples,
            tree.value[:, 0, 1],
        )

    @classmethod
    def of_cuts(
        cls,
        cuts: Sequence[Cut | None],
        children: Sequence[list[int]],
        rows: Ints,
        mass: Floats,
        gaps: Bools | None = None,
    ) -> Self:
        """Take the cuts, the children, the rows and the mass by label of all nodes.

        A mass may be a difference of sums, and by their rounding a little below 0.
        """
        mass = np.maximum(mass, 0.0)
        total = mass.sum(axis=1)
        hits = mass[:, 1 if mass.shape[1] == 2 else mass[0].argmax()]
        rate = np.full(total.size, hits[0] / total[0])
        np.divide(hits, total, out=rate, where=total > 0)
        pairs = np.array([each or [0, 0] for each in children])
        return cls(
            np.array([-1 if cut is None else cut.feature for cut in cuts]),
            np.array([np.nan if cut is None else cut.threshold for cut in cuts]),
            np.array([cut is not None and cut.missing_left for cut in cuts]),
            pairs[:, 0],
            pairs[:, 1],
            rows,
            rate,
            gaps,
            np.array([[np.nan] * 2 if cut is None else [cut.last, cut.next] for cut in cuts]),
        )
