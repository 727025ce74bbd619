"""The private parts of scikit-learn that hetcal uses, all of them.

`HistGradientBoostingClassifier` has no public way to its trees (there is no `apply`, and
`staged_decision_function` gives sums for rows, not thresholds), to the margin before the first
tree, or to the start of the next tree, where progress is reported and a run can end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn._loss import HalfBinomialLoss
from sklearn.ensemble import HistGradientBoostingClassifier

from hetcal.arrays import Floats
from hetcal.trees.label_tree import GrownTree


class ReportingLoss(HalfBinomialLoss):
    """The log-loss, which reports the number of trees whenever the next one is begun."""

    def __init__(self, report: Callable[[int], None]) -> None:
        super().__init__()
        self.report = report
        self.trees = 0

    def gradient_hessian(self, *args: Any, **kwargs: Any) -> tuple[Floats, Floats]:
        """Return the derivatives that the next tree is grown on."""
        self.report(self.trees)
        self.trees += 1
        return super().gradient_hessian(*args, **kwargs)


def boosted_baseline(model: HistGradientBoostingClassifier) -> float:
    """Return the margin before the first tree."""
    return float(model._baseline_prediction[0, 0])


def boosted_trees(model: HistGradientBoostingClassifier) -> list[tuple[GrownTree, Floats]]:
    """Return each tree of a model, and the values of its leaves."""
    found = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(np.bool_)
        tree = GrownTree(
            np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
            np.where(leaf, np.nan, nodes["num_threshold"]),
            ~leaf & nodes["missing_go_to_left"].astype(np.bool_),
            np.where(leaf, 0, nodes["left"]).astype(np.int64),
            np.where(leaf, 0, nodes["right"]).astype(np.int64),
            nodes["count"].astype(np.int64),
            np.zeros(len(nodes)),
        )
        found.append((tree, nodes["value"][leaf]))
    return found
