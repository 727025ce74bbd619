"""The contenders of the benchmark: the network, hetcal's schemes and rivals."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.networks import BenchmarkRows
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, Shrinkage
from hetcal.calibrators.single import PlattCalibrator
from hetcal.choices import KINDS, Kind
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
from hetcal.schemes.choice import ALLOWED, Choice
from hetcal.schemes.rows import SchemeRows

Contender = Callable[[BenchmarkRows], Floats]
"""Fits what it has to fit, and returns a logit for every test row."""

Margin = Callable[[pd.DataFrame], Floats]
Grow = Callable[[pd.DataFrame, Ints, int], Margin]

NETWORK, AUTO, UNIT = "network", "auto", "boosted trees"
ALONE = "without network"
FOLDS = 5
RUNGS = ("tree", "shrunken tree", "forest", "boosted", "additive", "stacked")
"""Schemes that are also measured without the network."""


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


@lru_cache(maxsize=2)
def _ladder(rows: BenchmarkRows) -> Choice:
    """Try all schemes on the rows of a model, once for all contenders."""
    training = SchemeRows(rows.train.X, rows.train.y, None)
    calibration, validation = (
        SchemeRows(each.X, each.y, each.scores) for each in (rows.calibration, rows.validation)
    )
    settings = Settings(partition=AUTO, seed=rows.seed)
    return fit_roles(settings, training, calibration, validation)


def recommended(kinds: Sequence[Kind], rows: BenchmarkRows, *, best: bool = False) -> Floats:
    """Use the scheme that is chosen among some kinds; its time is that of trying all schemes."""
    chosen = _ladder(rows).among(kinds, best=best).scheme
    return chosen.logit(rows.test.scores, rows.test.X)


def rung(name: str, rows: BenchmarkRows) -> Floats:
    """Use one of the schemes that are compared; its time is that of the last fit alone."""
    return _ladder(rows).take(name).scheme.logit(rows.test.scores, rows.test.X)


def rung_alone(name: str, rows: BenchmarkRows) -> Floats:
    """Use the same scheme without the network: fitted with a constant score."""
    without = _ladder(rows).take(name).without
    return without.logit(np.zeros(rows.test.y.size), rows.test.X)


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
    own = rows.train
    fitted = _sklearn_trees(own.X, own.y, rows.seed)
    return fitted(rows.test.X)


def _sklearn_trees(X: pd.DataFrame, y: Ints, seed: int) -> Margin:
    from sklearn.ensemble import HistGradientBoostingClassifier

    known = _known_categories(X)
    model = HistGradientBoostingClassifier(random_state=seed).fit(_typed(X, known), y)
    return lambda new: np.asarray(model.decision_function(_typed(new, known)))


def _lightgbm_trees(X: pd.DataFrame, y: Ints, seed: int) -> Margin:
    """Boost with early stopping on a tenth of the rows, as its users do."""
    import lightgbm

    known = _known_categories(X)
    out = np.random.default_rng(seed).permutation(y.size) < y.size // 10
    options = {"objective": "binary", "learning_rate": 0.05, "seed": seed, "verbosity": -1}
    typed = _typed(X, known)
    grown, stop = (lightgbm.Dataset(typed[each], y[each]) for each in (~out, out))
    model = lightgbm.train(
        options,
        grown,
        1000,
        valid_sets=[stop],
        callbacks=[lightgbm.early_stopping(30, verbose=False)],
    )
    return lambda new: np.asarray(model.predict(_typed(new, known), raw_score=True))


def same_rows(grow: Grow, with_score: bool, rows: BenchmarkRows) -> Floats:
    """Boost trees in five folds of all rows that `auto` reads, and average their margins.

    With the score: a logistic regression on score and margin, fitted on validation and
    calibration rows, whose margins come from trees that have not seen them.
    """
    parts = rows.train, rows.validation, rows.calibration
    X = pd.concat([each.X for each in parts], ignore_index=True)
    y = np.concatenate([each.y for each in parts])
    held_out, test = np.empty(y.size), np.zeros(rows.test.y.size)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=rows.seed)
    for number, (inside, outside) in enumerate(folds.split(X, y)):
        margin = grow(X.iloc[inside].reset_index(drop=True), y[inside], rows.seed + number)
        held_out[outside] = margin(X.iloc[outside])
        test += margin(rows.test.X) / FOLDS
    if not with_score:
        return test
    held = slice(rows.train.y.size, None)
    scores = np.concatenate([each.scores for each in parts[1:]])
    both = LogisticRegression(C=np.inf).fit(np.column_stack([scores, held_out[held]]), y[held])
    return both.decision_function(np.column_stack([rows.test.scores, test]))


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


def _known_categories(X: pd.DataFrame) -> dict[str, list[str]]:
    return {name: sorted(X[name].dropna().unique()) for name in category_columns(X)}


def _typed(X: pd.DataFrame, known: Mapping[str, list[str]]) -> pd.DataFrame:
    """Mark the categories for scikit-learn; unknown ones are missing values."""
    typed = {
        name: X[name].where(X[name].isin(values)).astype(pd.CategoricalDtype(values))
        for name, values in known.items()
    }
    return X.assign(**typed)


SCHEMES: Mapping[str, Contender] = {
    NETWORK: network,
    AUTO: partial(recommended, ALLOWED),
    "only calibration": partial(recommended, ALLOWED[:2]),
    "best": partial(recommended, KINDS, best=True),
    "pooled": pooled,
    "Algorithm 1": tree,
    "tree by CV": partial(selected_tree, "cv"),
    "pruned tree": partial(selected_tree, "pruned"),
    "auc-gain": partial(score_tree, AucGainPartition),
    "instability": partial(score_tree, InstabilityPartition),
    **{name: partial(rung, name) for name in RUNGS},
    **{f"{name}, {ALONE}": partial(rung_alone, name) for name in RUNGS},
}


def all_contenders() -> dict[str, Contender]:
    """Return the contenders by name; MCGrad is among them where it is installed."""
    rivals: dict[str, Contender] = {
        UNIT: boosted_trees,
        "same rows": partial(same_rows, _sklearn_trees, False),
        "same rows + score": partial(same_rows, _sklearn_trees, True),
        "LightGBM": partial(same_rows, _lightgbm_trees, False),
        "LightGBM + score": partial(same_rows, _lightgbm_trees, True),
        "sklearn sigmoid": partial(calibrated, "sigmoid"),
        "sklearn isotonic": partial(calibrated, "isotonic"),
    }
    if find_spec("mcgrad"):
        rivals["MCGrad"] = multicalibrated
    return {**SCHEMES, **rivals}
