"""A classifier that was trained elsewhere, as scikit-learn wants to see it."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from hetcal.arrays import Bools, Floats


class ScoredClassifier(ClassifierMixin, BaseEstimator):
    """A trained classifier, whose logit is the only feature."""

    def __init__(self) -> None:
        self.classes_ = np.array([0, 1])

    def fit(self, X: Floats, y: Any) -> Self:
        """Do nothing: it is trained."""
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the logit."""
        return X[:, 0]

    def predict(self, X: Floats) -> Bools:
        """Tell where the logit is positive."""
        return X[:, 0] > 0
