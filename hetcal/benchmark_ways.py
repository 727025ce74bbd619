"""The ways of scoring that the benchmark compares: the network, hetcal's schemes, rivals."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from hetcal import benchmark_rivals
from hetcal.arrays import Floats
from hetcal.benchmark_rows import BenchmarkRows
from hetcal.calibrators import PlattCalibrator
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.tree_partition import TreePartition

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
    grown = TreePartition(random_state=rows.seed).fit(rows.train.X, rows.train.y)
    calibrator = LeafCalibrator().fit(
        rows.calibration.scores,
        rows.calibration.y,
        grown.apply(rows.calibration.X),
        leaves=[leaf.id for leaf in grown.leaves_],
    )
    return calibrator.predict_logit(rows.test.scores, grown.apply(rows.test.X))


SCHEMES: Mapping[str, Way] = {NETWORK: network, "pooled": pooled, "tree": tree}


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
