"""The contenders of the benchmark: the network, hetcal's schemes and rivals."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Literal

import pandas as pd
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.networks import BenchmarkRows
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, Shrinkage
from hetcal.calibrators.single import PlattCalibrator
from hetcal.data.columns import column_kind
from hetcal.data.scores import to_logits
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.scored import ScorePartition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition
from hetcal.runs.fitting import fit_roles
from hetcal.runs.heterogeneous import ScoredClassifier
from hetcal.runs.settings import Settings
from hetcal.schemes.rows import SchemeRows

Contender = Callable[[BenchmarkRows], Floats]
"""Fits what it has to fit, and returns a logit for every test row."""

NETWORK, AUTO, UNIT = "network", "auto", "boosted trees"


def network(rows: BenchmarkRows) -> Floats:
    """Return the scores of the network, uncalibrated."""
    return rows.test.scores


def pooled(rows: BenchmarkRows) -> Floats:
    """Fit one Platt map for all rows."""
    one = PlattCalibrator().fit(rows.calibration.scores, rows.calibration.y)
    return one.slope_ * rows.test.scores + one.intercept_


def tree(rows: BenchmarkRows) -> Floats:
    """Run Algorithm 1: a tree on the training rows, a Platt map in every leaf."""
    grown = TreePartition().fit(rows.train.X, rows.train.y)
    return _in_leaves(grown.partition_, rows)


def selected_tree(select: Literal["cv", "pruned"], rows: BenchmarkRows) -> Floats:
    """Choose the tree by cross-validation; maps are shrunk towards the pooled map."""
    grown = SelectedTreePartition(select=select, random_state=rows.seed)
    return _in_leaves(grown.fit(rows.train.X, rows.train.y).partition_, rows, "cv")


def score_tree(kind: type[ScorePartition], rows: BenchmarkRows) -> Floats:
    """Grow a tree on the scores of validation rows; maps are shrunk towards the pooled map."""
    own = rows.validation
    return _in_leaves(kind().fit(own.X, own.y, own.scores).partition_, rows, "cv")


def scheme(name: str, rows: BenchmarkRows) -> Floats:
    """Fit a scheme of many trees, or the one that `auto` chooses."""
    training = SchemeRows(rows.train.X, rows.train.y, None)
    calibration, validation = (
        SchemeRows(each.X, each.y, each.scores) for each in (rows.calibration, rows.validation)
    )
    settings = Settings(partition=name, seed=rows.seed)
    fitted = fit_roles(settings, training, calibration, validation).scheme
    return fitted.logit(rows.test.scores, rows.test.X)


def _in_leaves(partition: Partition, rows: BenchmarkRows, shrinkage: Shrinkage = 0.0) -> Floats:
    """Fit a map in every leaf on the calibration rows."""
    calibrator = LeafCalibrator(shrinkage=shrinkage, random_state=rows.seed)
    calibrator.fit(
        rows.calibration.scores,
        rows.calibration.y,
        partition.apply(rows.calibration.X),
        leaves=[leaf.id for leaf in partition.leaves],
    )
    return calibrator.predict_logit(rows.test.scores, partition.apply(rows.test.X))


def boosted_trees(rows: BenchmarkRows) -> Floats:
    """Boost scikit-learn's trees with default settings on the training rows, without the score."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    own = rows.train.X
    known = {name: sorted(own[name].dropna().unique()) for name in category_columns(own)}
    model = HistGradientBoostingClassifier(random_state=rows.seed)
    model.fit(_typed(own, known), rows.train.y)
    return model.decision_function(_typed(rows.test.X, known))


def calibrated(method: Literal["sigmoid", "isotonic"], rows: BenchmarkRows) -> Floats:
    """Fit scikit-learn's calibrated classifier on the calibration rows."""
    own = rows.calibration
    return to_logits(calibrated_classifier(method, own.scores, own.y, rows.test.scores))


def calibrated_classifier(
    method: Literal["sigmoid", "isotonic"], scores: Floats, y: Ints, new: Floats
) -> Floats:
    """Fit scikit-learn's calibrated classifier to logits, and return probabilities of new ones."""
    model = CalibratedClassifierCV(FrozenEstimator(ScoredClassifier()), method=method)
    return model.fit(scores[:, None], y).predict_proba(new[:, None])[:, 1]


def multicalibrated(rows: BenchmarkRows) -> Floats:
    """Fit MCGrad with default settings on the calibration rows."""
    own, new = (
        part.X.assign(score=expit(part.scores), label=part.y)
        for part in (rows.calibration, rows.test)
    )
    return to_logits(mcgrad(own, new, category_columns(rows.calibration.X)))


def mcgrad(rows: pd.DataFrame, new: pd.DataFrame, categories: Sequence[str] = ()) -> Floats:
    """Fit MCGrad to the columns `score` and `label`, and return probabilities of new rows."""
    from mcgrad.methods import MCGrad

    known = {*categories, "score", "label"}
    columns = {
        "prediction_column_name": "score",
        "numerical_feature_column_names": [name for name in rows if name not in known],
        "categorical_feature_column_names": list(categories),
    }
    return MCGrad().fit(rows, label_column_name="label", **columns).predict(new, **columns)


def category_columns(X: pd.DataFrame) -> list[str]:
    """Return the names of the columns that are not numeric."""
    return [str(name) for name in X if column_kind(X[name]) != "number"]


def _typed(X: pd.DataFrame, known: Mapping[str, list[str]]) -> pd.DataFrame:
    """Mark the categories for scikit-learn; unknown ones are missing values."""
    typed = {
        name: X[name].where(X[name].isin(values)).astype(pd.CategoricalDtype(values))
        for name, values in known.items()
    }
    return X.assign(**typed)


SCHEMES: Mapping[str, Contender] = {
    NETWORK: network,
    "pooled": pooled,
    "tree": tree,
    "tree by CV": partial(selected_tree, "cv"),
    "pruned tree": partial(selected_tree, "pruned"),
    "auc-gain": partial(score_tree, AucGainPartition),
    "instability": partial(score_tree, InstabilityPartition),
    **{name: partial(scheme, name) for name in ("forest", "boosted", AUTO)},
}


def all_contenders() -> dict[str, Contender]:
    """Return the contenders by name; MCGrad is among them where it is installed."""
    rivals: dict[str, Contender] = {
        UNIT: boosted_trees,
        "sklearn sigmoid": partial(calibrated, "sigmoid"),
        "sklearn isotonic": partial(calibrated, "isotonic"),
    }
    if find_spec("mcgrad"):
        rivals["MCGrad"] = multicalibrated
    return {**SCHEMES, **rivals}
