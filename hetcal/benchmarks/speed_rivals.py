"""The same jobs with scikit-learn, and other calibrators."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.speed_data import DEPTH, Outcome, Rows
from hetcal.metrics.metrics import CALIBRATION_BINS
from hetcal.runs.heterogeneous import ScoredClassifier

MOST_ROWS_OF_MCGRAD = 100_000  # ten times the rows take it a quarter of an hour
Labels = NDArray[np.int8]


def grow(rows: Rows) -> DecisionTreeClassifier:
    """Grow scikit-learn's tree."""
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=rows.min_leaf, random_state=0)
    return tree.fit(rows.X, rows.y)


def fit(scores: Floats, y: Labels, leaf: Ints) -> dict[int, LogisticRegression]:
    """Fit one logistic regression in each leaf, without a penalty."""
    models = {}
    for each in np.unique(leaf).tolist():
        inside = leaf == each
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8)
        models[each] = model.fit(scores[inside, None], y[inside])
    return models


def predict(models: dict[int, LogisticRegression], scores: Floats, leaf: Ints) -> Floats:
    """Apply the model of each leaf to its rows."""
    probability = np.empty(len(scores))
    for each, model in models.items():
        inside = leaf == each
        probability[inside] = model.predict_proba(scores[inside, None])[:, 1]
    return probability


def recompute(rows: Rows, tree: DecisionTreeClassifier, edges: Floats) -> Outcome:
    """Do all that follows the tree: fit, predict, measure, count."""
    leaf, scores = tree.apply(rows.X), rows.scores.astype(np.float64)
    models = fit(scores, rows.y, leaf)
    measures = []
    for probability in (expit(scores), predict(models, scores, leaf)):
        # Part of the job; its bins are not hetcal's, so that there is nothing to compare.
        calibration_curve(rows.y, probability, n_bins=CALIBRATION_BINS, strategy="quantile")
        measures += [*ranks(rows.y, probability), log_loss(rows.y, probability)]
    counts = [_histograms(scores[leaf == each], rows.y[leaf == each], edges) for each in models]
    maps = [[model.coef_[0, 0], model.intercept_[0]] for model in models.values()]
    return Outcome(np.transpose(maps), np.array(measures), np.array(counts))


def ranks(y: Labels, scores: NDArray[np.floating]) -> tuple[float, float]:
    """Return AUC and average precision."""
    return roc_auc_score(y, scores), average_precision_score(y, scores)


def bootstrap(rows: Rows, leaf: Ints, replicates: int, seed: int = 0) -> float:
    """Return the standard error of the lift by drawing rows, fitting and ranking them again."""
    rng, count = np.random.default_rng(seed), len(leaf)
    scores, lifts = rows.scores.astype(np.float64), []
    for _ in range(replicates):
        drawn = rng.integers(count, size=count)
        models = fit(scores[drawn], rows.y[drawn], leaf[drawn])
        drawn = rng.integers(count, size=count)
        y, after = rows.y[drawn], predict(models, scores[drawn], leaf[drawn])
        lifts.append(roc_auc_score(y, after) - roc_auc_score(y, scores[drawn]))
    return float(np.std(lifts, ddof=1))


def other_calibrators(rows: int) -> Iterator[tuple[str, Callable[[Rows], Floats]]]:
    """Yield name and work, which is fit and predict, of the calibrators at hand."""
    yield "CalibratedClassifierCV", calibrated_classifier
    if find_spec("lightgbm"):
        yield "LightGBM on logits", boosted
    if find_spec("mcgrad") and rows <= MOST_ROWS_OF_MCGRAD:
        yield "MCGrad", multicalibrated


def calibrated_classifier(rows: Rows) -> Floats:
    """Fit scikit-learn's sigmoid, the same for all rows, and apply it."""
    scores = rows.scores[:, None].astype(np.float64)
    model = CalibratedClassifierCV(FrozenEstimator(ScoredClassifier()), method="sigmoid")
    return model.fit(scores, rows.y).predict_proba(scores)[:, 1]


def boosted(rows: Rows) -> Floats:
    """Boost 100 trees on top of the logits, with one thread, and apply them."""
    import lightgbm

    data = lightgbm.Dataset(rows.X, rows.y, init_score=rows.scores.astype(np.float64))
    options = {"objective": "binary", "num_threads": 1, "verbosity": -1, "seed": 0}
    model = lightgbm.train(options, data, num_boost_round=100)
    return expit(rows.scores + model.predict(rows.X, raw_score=True, num_threads=1))


def multicalibrated(rows: Rows) -> Floats:
    """Fit MCGrad with default settings, and apply it."""
    from mcgrad.methods import MCGrad

    names = list(rows.frame.columns)
    table = rows.frame.assign(score=expit(rows.scores.astype(np.float64)), label=rows.y)
    columns = {"prediction_column_name": "score", "numerical_feature_column_names": names}
    model = MCGrad().fit(table, label_column_name="label", **columns)
    return model.predict(table, **columns)


def _histograms(scores: Floats, y: Labels, edges: Floats) -> Ints:
    return np.stack([np.histogram(scores[y == label], edges)[0] for label in (0, 1)], axis=1)
