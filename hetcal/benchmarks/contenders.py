"""The contenders of the benchmark: the network, hetcal's schemes and rivals."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Literal

from hetcal.arrays import Floats
from hetcal.benchmarks import rivals as benchmark_rivals
from hetcal.benchmarks.networks import BenchmarkRows
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, Shrinkage
from hetcal.calibrators.single import PlattCalibrator
from hetcal.partitions.auc_gain import AucGainPartition
from hetcal.partitions.instability import InstabilityPartition
from hetcal.partitions.partition import Partition
from hetcal.partitions.scored import ScorePartition
from hetcal.partitions.selection import SelectedTreePartition
from hetcal.partitions.tree import TreePartition
from hetcal.runs.fitting import fit_roles
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
    fitted = fit_roles(name, training, calibration, validation, rows.seed).scheme
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
        UNIT: benchmark_rivals.boosted_trees,
        "sklearn sigmoid": partial(benchmark_rivals.calibrated, "sigmoid"),
        "sklearn isotonic": partial(benchmark_rivals.calibrated, "isotonic"),
    }
    if find_spec("mcgrad"):
        rivals["MCGrad"] = benchmark_rivals.multicalibrated
    return {**SCHEMES, **rivals}
