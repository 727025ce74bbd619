"""The ways of scoring that the benchmark compares: the network, hetcal's schemes, rivals."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from hetcal import benchmark_rivals, benchmark_schemes
from hetcal.arrays import Floats
from hetcal.auc_gain_partition import AucGainPartition
from hetcal.benchmark_rows import BenchmarkRows
from hetcal.calibrators import PlattCalibrator
from hetcal.instability_partition import InstabilityPartition
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_map import Shrinkage
from hetcal.partition import Partition
from hetcal.tree_partition import TreePartition
from hetcal.tree_selection import SelectedTreePartition

Way = Callable[[BenchmarkRows], Floats]
"""Fits what it has to fit, and returns a logit for every test row."""

NETWORK, AUTO, UNIT = "network", "auto", "boosted trees"


def network(rows: BenchmarkRows) -> Floats:
    """Leave the network as it is."""
    return rows.test.scores


def pooled(rows: BenchmarkRows) -> Floats:
    """Fit one Platt map for all rows."""
    one = PlattCalibrator().fit(rows.calibration.scores, rows.calibration.y)
    return one.slope_ * rows.test.scores + one.intercept_


def tree(rows: BenchmarkRows) -> Floats:
    """Run Algorithm 1: a tree on the training rows, a Platt map in every leaf."""
    grown = TreePartition().fit(rows.train.X, rows.train.y)
    return _in_leaves(grown.partition_, rows)


def tree_by_cross_validation(rows: BenchmarkRows) -> Floats:
    """Let cross-validation choose depth and leaf size; maps are drawn to the pooled map."""
    grown = SelectedTreePartition(random_state=rows.seed).fit(rows.train.X, rows.train.y)
    return _in_leaves(grown.partition_, rows, shrinkage="cv")


def pruned_tree(rows: BenchmarkRows) -> Floats:
    """Let cross-validation prune the tree; maps are drawn to the pooled map."""
    grown = SelectedTreePartition(select="pruned", random_state=rows.seed)
    return _in_leaves(grown.fit(rows.train.X, rows.train.y).partition_, rows, shrinkage="cv")


def gaining_tree(rows: BenchmarkRows) -> Floats:
    """Cut where the AUC gains, on validation rows; maps are drawn to the pooled map."""
    own = rows.validation
    return _in_leaves(AucGainPartition().fit(own.X, own.y, own.scores).partition_, rows, "cv")


def instability_tree(rows: BenchmarkRows) -> Floats:
    """Cut where the map differs, on validation rows; maps are drawn to the pooled map."""
    own = rows.validation
    return _in_leaves(InstabilityPartition().fit(own.X, own.y, own.scores).partition_, rows, "cv")


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


SCHEMES: Mapping[str, Way] = {
    NETWORK: network,
    "pooled": pooled,
    "tree": tree,
    "tree by CV": tree_by_cross_validation,
    "pruned tree": pruned_tree,
    "auc-gain": gaining_tree,
    "instability": instability_tree,
    "forest": benchmark_schemes.forest,
    "boosted": benchmark_schemes.boosted,
    AUTO: benchmark_schemes.auto,
}


def all_ways() -> dict[str, Way]:
    """Return the ways by name; MCGrad is among them where it is installed."""
    rivals: dict[str, Way] = {
        UNIT: benchmark_rivals.boosted_trees,
        "sklearn sigmoid": benchmark_rivals.calibrated_sigmoid,
        "sklearn isotonic": benchmark_rivals.calibrated_isotonic,
    }
    if find_spec("mcgrad"):
        rivals["MCGrad"] = benchmark_rivals.multicalibrated
    return {**SCHEMES, **rivals}
