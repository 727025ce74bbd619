"""The jobs whose speed is measured: their rows, and how hetcal and other tools do them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.tree import DecisionTreeClassifier

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.contenders import calibrated_classifier, mcgrad
from hetcal.calibrators.bootstrap import BootstrapLift, bootstrap_lift
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, map_leaves
from hetcal.calibrators.platt import PlattFit, fit_platt_cells, polish
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.cells.sketch import Grid, Sketch, grid_for_most, sketch_rows
from hetcal.compiled import sigmoid
from hetcal.metrics.delong import Lift
from hetcal.metrics.metrics import (
    CALIBRATION_BINS,
    brier,
    calibration_errors,
    log_loss,
    measure_cells,
)
from hetcal.metrics.ranking import RankStatistics, rank_statistics
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.scored import ScorePartition
from hetcal.partitions.tree import TreePartition
from hetcal.results.evaluation import lift_of_cells

GAUSSIAN, WHOLE, BINARY, LOG_NORMAL = 8, 5, 4, 3
SLOPES = np.array([0.6, 1.4, 0.5, 1.1, 0.8, 1.6, 0.4, 1.0])
INTERCEPTS = np.array([-2.6, -3.7, -3.1, -1.6, -3.4, -0.9, -2.9, -0.4])
DEPTH = 4
CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Rows:
    """A table in memory: features, the same as a frame (not a copy), logits and labels.

    The features of a column lie together, as in a table that was read from a file.
    """

    X: NDArray[np.float32]
    frame: pd.DataFrame
    scores: NDArray[Any]
    y: NDArray[np.int8]

    @property
    def min_leaf(self) -> int:
        """Fewest rows of a leaf: the paper's 1,000 if there are plenty."""
        return min(1000, len(self.y) // 4)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a job."""

    maps: Floats  # slopes and intercepts, by leaf from left to right
    measures: Floats  # AUC, average precision and log loss, before and after calibration
    counts: Ints  # rows by leaf, bin of the histogram and label

    def difference(self, other: "Outcome") -> float:
        """Return the largest difference of any two numbers; infinite with other leaves."""
        if self.counts.shape != other.counts.shape:
            return float("inf")
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return max(float(np.max(np.abs(one - two))) for one, two in pairs)


def make_rows(rows: int, seed: int = 0) -> Rows:
    """Draw rows with 20 features of four kinds; about one label in eight is positive.

    The truth is a Platt map in each of eight cells: data that suit the method, of any size.

    Examples
    --------
    >>> made = make_rows(2000)
    >>> made.X.shape, made.X.dtype.name, made.scores.dtype.name
    ((2000, 20), 'float32', 'float32')
    """
    rng = np.random.default_rng(seed)
    X = np.empty((rows, GAUSSIAN + WHOLE + BINARY + LOG_NORMAL), dtype=np.float32, order="F")
    whole, binary, log_normal = np.cumsum([GAUSSIAN, WHOLE, BINARY])
    for column in range(X.shape[1]):
        if column < whole or column >= log_normal:
            rng.standard_normal(out=X[:, column], dtype=np.float32)
        else:
            X[:, column] = rng.integers(0, 100 if column < binary else 2, rows, dtype=np.int8)
    np.exp(X[:, log_normal:], out=X[:, log_normal:])
    scores = rng.standard_normal(rows, dtype=np.float32)
    scores *= np.float32(1.5)
    y = np.empty(rows, dtype=np.int8)
    for start in range(0, rows, CHUNK):
        part = slice(start, start + CHUNK)
        cell = _cells(X[part])
        probability = expit(SLOPES[cell] * scores[part] + INTERCEPTS[cell])
        y[part] = rng.random(cell.size) < probability
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])], copy=False)
    return Rows(X, frame, scores, y)


def _cells(X: NDArray[np.float32]) -> Ints:
    """Return the true cell of each row: one cut each of a number, a count and a price."""
    return 4 * (X[:, 0] > 0.4) + 2 * (X[:, GAUSSIAN] >= 60) + (X[:, -1] > 1.5)


HISTOGRAM_BINS = 64
SCORE_TREES = {"auc-gain": AucGainPartition, "instability": InstabilityPartition}
BOOTSTRAP_BINS = 1024
FEW_ROWS = 4000


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Rows in leaves with a map each."""

    partition: Partition
    leaf: Ints
    sketch: Sketch
    cells: Cells
    fit: PlattFit
    logits: Floats


def grow(rows: Rows) -> Partition:
    """Grow the tree."""
    tree = TreePartition(DEPTH, min_samples_leaf=rows.min_leaf)
    return tree.fit(rows.frame, rows.y).partition_


def grow_on_scores(rows: Rows, kind: type[ScorePartition]) -> Partition:
    """Grow a tree that reads scores."""
    tree = kind(DEPTH, min_samples_leaf=rows.min_leaf)
    return tree.fit(rows.frame, rows.y, rows.scores).partition_


def calibrate(rows: Rows) -> Calibrated:
    """Grow the tree, send the rows to its leaves, fit the maps exactly and map the scores."""
    partition = grow(rows)
    leaf = partition.apply(rows.frame)
    leaves = range(1, len(partition.leaves) + 1)
    sketch = sketch_rows(rows.scores, rows.y, leaf, leaves, grid_for_most(rows.scores))
    cells = sketch.cells()
    fit = polish(_fit(cells, sketch), rows.scores, rows.y, leaf, leaves)
    return Calibrated(partition, leaf, sketch, cells, fit, _map(fit, rows.scores, leaf))


def probabilities(rows: Rows) -> Floats:
    """Do all that gives calibrated probabilities; they take the place of the logits."""
    logits = calibrate(rows).logits
    return sigmoid(logits, out=logits)


def whole_job(rows: Rows) -> Outcome:
    """Calibrate and measure before and after: ranks exactly from rows, the rest from cells."""
    done = calibrate(rows)
    cells = done.cells
    before = _measures(rank_statistics(rows.y, rows.scores), cells)
    after = _measures(rank_statistics(rows.y, done.logits), _mapped(cells, done.fit))
    sigmoid(done.logits, out=done.logits)  # the probabilities, once the logits are ranked
    return _outcome(done.fit, before + after, cells, done.sketch)


def slide(cells: Cells, sketch: Sketch) -> tuple[Outcome, Lift]:
    """Do all that follows a moved control: maps, measures, lift, histograms.

    As on a page, the cells of the sketch are given, and measures of their raw scores are cached.
    """
    fit = _fit(cells, sketch)
    mapped = _mapped(cells, fit)
    measures: list[float] = []
    for each in (cells, mapped):
        found = each.cached(measure_cells)
        measures += [found.auc, found.average_precision, found.log_loss]
    return _outcome(fit, measures, cells, sketch), lift_of_cells(cells, mapped)


def interval(sketch: Sketch, replicates: int) -> BootstrapLift:
    """Find the interval of the lift, every map refitted in every replicate."""
    cells = sketch.coarser(BOOTSTRAP_BINS).cells()
    calibrator = LeafCalibrator()
    calibrator.fit(cells.score, cells.y, cells.leaf, cells.weight, sketch.leaves)
    return bootstrap_lift(cells, cells, calibrator, replicates=replicates)


def apply(rows: Rows, done: Calibrated) -> Floats:
    """Send rows to their leaves and return calibrated probabilities."""
    logits = _map(done.fit, rows.scores, done.partition.apply(rows.frame))
    return sigmoid(logits, out=logits)


def warm_up() -> None:
    """Do all jobs once on few rows.

    Kernels are then compiled, and kept on disk for other processes; data of another type (such
    as rows with weights) may need more of them.
    """
    rows = make_rows(FEW_ROWS)
    done = calibrate(rows)
    whole_job(rows)
    slide(done.sketch.cells(), done.sketch)
    interval(done.sketch, replicates=2)
    apply(rows, done)


def _fit(cells: Cells, sketch: Sketch) -> PlattFit:
    return fit_platt_cells(cells, sketch.leaves)


def _map(fit: PlattFit, scores: Floats, leaf: Ints) -> Floats:
    # Leaf 1 is at position 1, too, so that no row has to be touched to renumber it.
    slope, intercept = (np.append(np.nan, each) for each in (fit.slope, fit.intercept))
    return map_leaves(scores, leaf, slope, intercept)


def _mapped(cells: Cells, fit: PlattFit) -> Cells:
    return cells.mapped(lambda scores, leaf: _map(fit, scores, leaf))


def _measures(ranked: RankStatistics, cells: Cells) -> list[float]:
    parts = cells.y, cells.score, cells.given_weight
    brier(*parts)  # part of the job, but the rival has no equal number to compare with
    calibration_errors(cells)  # and so is this
    return [ranked.auc, ranked.average_precision, log_loss(*parts)]


def _outcome(fit: PlattFit, measures: list[float], cells: Cells, sketch: Sketch) -> Outcome:
    maps = np.array([fit.slope, fit.intercept])
    return Outcome(maps, np.array(measures), _histograms(cells, sketch))


def _histograms(cells: Cells, sketch: Sketch) -> Ints:
    """Count rows by leaf, bin of the histogram and label; cells do not straddle these bins."""
    bins = Grid(sketch.grid.reach, HISTOGRAM_BINS)
    shape = len(sketch.leaves), bins.bins, 2
    position = leaf_positions(cells.leaf, sketch.leaves)
    key = (position * bins.bins + bins.bin_of(cells.score)) * 2 + cells.y
    return np.bincount(key, cells.rows, np.prod(shape)).astype(np.int64).reshape(shape)


MOST_ROWS_OF_MCGRAD = 100_000  # ten times the rows take it a quarter of an hour
Labels = NDArray[np.int8]


def sklearn_tree(rows: Rows) -> DecisionTreeClassifier:
    """Grow scikit-learn's tree."""
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=rows.min_leaf, random_state=0)
    return tree.fit(rows.X, rows.y)


def sklearn_maps(scores: Floats, y: Labels, leaf: Ints) -> dict[int, LogisticRegression]:
    """Fit one logistic regression in each leaf, without a penalty."""
    models = {}
    for each in np.unique(leaf).tolist():
        inside = leaf == each
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8)
        models[each] = model.fit(scores[inside, None], y[inside])
    return models


def sklearn_predict(models: dict[int, LogisticRegression], scores: Floats, leaf: Ints) -> Floats:
    """Apply the model of each leaf to its rows."""
    probability = np.empty(len(scores))
    for each, model in models.items():
        inside = leaf == each
        probability[inside] = model.predict_proba(scores[inside, None])[:, 1]
    return probability


def sklearn_recompute(rows: Rows, tree: DecisionTreeClassifier, edges: Floats) -> Outcome:
    """Do all that follows the tree: fit, predict, measure, count."""
    leaf, scores = tree.apply(rows.X), rows.scores.astype(np.float64)
    models = sklearn_maps(scores, rows.y, leaf)
    measures = []
    for probability in (expit(scores), sklearn_predict(models, scores, leaf)):
        # Part of the job; its bins are not hetcal's, so that there is nothing to compare.
        calibration_curve(rows.y, probability, n_bins=CALIBRATION_BINS, strategy="quantile")
        measures += [*sklearn_ranks(rows.y, probability), sklearn_log_loss(rows.y, probability)]
    counts = [
        _sklearn_histograms(scores[leaf == each], rows.y[leaf == each], edges) for each in models
    ]
    maps = [[model.coef_[0, 0], model.intercept_[0]] for model in models.values()]
    return Outcome(np.transpose(maps), np.array(measures), np.array(counts))


def sklearn_ranks(y: Labels, scores: NDArray[np.floating]) -> tuple[float, float]:
    """Return AUC and average precision."""
    return roc_auc_score(y, scores), average_precision_score(y, scores)


def sklearn_bootstrap(rows: Rows, leaf: Ints, replicates: int, seed: int = 0) -> float:
    """Return the standard error of the lift by drawing rows, fitting and ranking them again."""
    rng, count = np.random.default_rng(seed), len(leaf)
    scores, lifts = rows.scores.astype(np.float64), []
    for _ in range(replicates):
        drawn = rng.integers(count, size=count)
        models = sklearn_maps(scores[drawn], rows.y[drawn], leaf[drawn])
        drawn = rng.integers(count, size=count)
        y, after = rows.y[drawn], sklearn_predict(models, scores[drawn], leaf[drawn])
        lifts.append(roc_auc_score(y, after) - roc_auc_score(y, scores[drawn]))
    return float(np.std(lifts, ddof=1))


def other_calibrators(rows: int) -> Iterator[tuple[str, Callable[[Rows], Floats]]]:
    """Yield name and work, which is fit and predict, of the calibrators that are installed."""
    yield "CalibratedClassifierCV", pooled_sigmoid
    yield "LightGBM on logits", boosted
    if find_spec("mcgrad") and rows <= MOST_ROWS_OF_MCGRAD:
        yield "MCGrad", multicalibrated


def pooled_sigmoid(rows: Rows) -> Floats:
    """Fit scikit-learn's sigmoid, the same for all rows, and apply it."""
    scores = rows.scores.astype(np.float64)
    return calibrated_classifier("sigmoid", scores, rows.y, scores)


def boosted(rows: Rows) -> Floats:
    """Boost 100 trees on top of the logits, with one thread, and apply them."""
    import lightgbm

    data = lightgbm.Dataset(rows.X, rows.y, init_score=rows.scores.astype(np.float64))
    options = {"objective": "binary", "num_threads": 1, "verbosity": -1, "seed": 0}
    model = lightgbm.train(options, data, num_boost_round=100)
    return expit(rows.scores + model.predict(rows.X, raw_score=True, num_threads=1))


def multicalibrated(rows: Rows) -> Floats:
    """Fit MCGrad with default settings, and apply it."""
    table = rows.frame.assign(score=expit(rows.scores.astype(np.float64)), label=rows.y)
    return mcgrad(table, table)


def _sklearn_histograms(scores: Floats, y: Labels, edges: Floats) -> Ints:
    return np.stack([np.histogram(scores[y == label], edges)[0] for label in (0, 1)], axis=1)
