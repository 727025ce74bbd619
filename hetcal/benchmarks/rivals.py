"""Rivals of hetcal: other calibrators, and boosted trees in place of the network."""

from collections.abc import Mapping
from typing import Literal

import pandas as pd
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from hetcal.arrays import Floats
from hetcal.benchmarks.networks import BenchmarkRows, Part
from hetcal.data.columns import column_kind
from hetcal.data.scores import to_logits
from hetcal.runs.heterogeneous import ScoredClassifier


def boosted_trees(rows: BenchmarkRows) -> Floats:
    """Boost scikit-learn's trees with default settings on the training rows, without the score."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    known = {
        name: sorted(rows.train.X[name].dropna().unique())
        for name in category_columns(rows.train.X)
    }
    model = HistGradientBoostingClassifier(random_state=rows.seed)
    model.fit(_typed(rows.train.X, known), rows.train.y)
    return model.decision_function(_typed(rows.test.X, known))


def calibrated(method: Literal["sigmoid", "isotonic"], rows: BenchmarkRows) -> Floats:
    """Fit scikit-learn's calibrated classifier on the calibration rows."""
    model = CalibratedClassifierCV(FrozenEstimator(ScoredClassifier()), method=method)
    model.fit(rows.calibration.scores[:, None], rows.calibration.y)
    return to_logits(model.predict_proba(rows.test.scores[:, None])[:, 1])


def multicalibrated(rows: BenchmarkRows) -> Floats:
    """Fit MCGrad with default settings on the calibration rows."""
    from mcgrad.methods import MCGrad

    categories = category_columns(rows.calibration.X)
    columns = {
        "prediction_column_name": "score",
        "numerical_feature_column_names": [
            name for name in rows.calibration.X if name not in categories
        ],
        "categorical_feature_column_names": categories,
    }
    fitted = MCGrad().fit(_scored(rows.calibration), label_column_name="label", **columns)
    return to_logits(fitted.predict(_scored(rows.test), **columns))


def category_columns(X: pd.DataFrame) -> list[str]:
    """Return the names of the columns that are not numeric."""
    return [str(name) for name in X if column_kind(X[name]) != "number"]


def _scored(part: Part) -> pd.DataFrame:
    return part.X.assign(score=expit(part.scores), label=part.y)


def _typed(X: pd.DataFrame, known: Mapping[str, list[str]]) -> pd.DataFrame:
    """Mark the categories for scikit-learn; unknown ones are missing values."""
    typed = {
        name: X[name].where(X[name].isin(values)).astype(pd.CategoricalDtype(values))
        for name, values in known.items()
    }
    return X.assign(**typed)
