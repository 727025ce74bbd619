"""The stages of a scheme: each turns a logit and a row's columns into a new logit."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.class_map import ClassMap, class_matrix, mapped_logits
from hetcal.calibrators.class_map import count_numbers as numbers_of_class_map
from hetcal.calibrators.leaf_calibrator import map_logits
from hetcal.calibrators.shapes import tame
from hetcal.choices import ClassMethod
from hetcal.compiled import compiled, use_compiled
from hetcal.errors import CalibrationError
from hetcal.partitions.additive import AdditiveTerms
from hetcal.partitions.boosted import BoostedPartition
from hetcal.partitions.ensemble import TreeEnsemble
from hetcal.partitions.partition import Partition
from hetcal.partitions.terms import Terms
from hetcal.progress import Progress, silent
from hetcal.trees.kernels import nest


@dataclass(frozen=True)
class PooledStage:
    """One map for all rows: `slope * tame(score, low, high) + intercept`."""

    low: float
    high: float
    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not np.isfinite([self.low, self.high, self.slope, self.intercept]).all():
            raise broken("a number of its pooled map is not finite")
        if self.low > self.high:
            raise broken("the limits of its scores are in the wrong order")

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the mapped logits; the columns are not read."""
        tamed = tame(scores, self.low, self.high)
        return np.where(np.isfinite(scores), map_logits(tamed, self.slope, self.intercept), np.nan)


@dataclass(frozen=True, eq=False)
class LeafMapsStage:
    """One map for each leaf of a partition, in the order of the leaf ids 1, 2, …."""

    partition: Partition
    slope: Floats
    intercept: Floats

    def __post_init__(self) -> None:
        _check_maps(self.slope, self.intercept, len(self.partition.leaves))

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the mapped logits."""
        leaf = self.partition.apply(X) - 1
        return map_logits(scores, self.slope[leaf], self.intercept[leaf])


@dataclass(frozen=True, eq=False)
class NestedStage:
    """One map for each leaf of every tree, applied one after the other.

    With trees 1, 2, …, this is `a2 (a1 s + b1) + b2` and so on, where a and b are those of
    the leaf that the row is in. Slopes of 1 and intercepts of 0 do not change the score; slopes
    of 1 with the leaf values of boosted trees add their margin to it.
    """

    trees: TreeEnsemble
    slope: Floats
    intercept: Floats

    def __post_init__(self) -> None:
        _check_maps(self.slope, self.intercept, self.trees.leaves)

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the mapped logits."""
        mapped = np.array(scores, dtype=np.float64)
        mapped[~np.isfinite(mapped)] = np.nan
        step = compiled(nest) if use_compiled() else _nest
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, leaves in self.trees.walk(X, progress):
                for leaf in leaves:
                    step(mapped[rows], leaf, self.slope, self.intercept)
        return mapped


def stacked_stage(
    boosted: BoostedPartition, weight: float, margin_weight: float, intercept: float
) -> NestedStage:
    """Return `weight * score + margin_weight * margin + intercept` as maps of trees.

    The maps of the first tree hold weight and intercept; those of the other trees
    add the value of the leaf.
    """
    trees, values = boosted.ensemble_, boosted.values_
    slope, shift = np.ones(values.size), margin_weight * values
    first = int(trees.leaf_starts[1]) if trees.trees > 1 else slope.size
    slope[:first] = weight
    shift[:first] += intercept
    return NestedStage(trees, slope, shift)


@dataclass(frozen=True, eq=False)
class ForestStage:
    """One map for each leaf of every tree; the logit is the mean over the trees."""

    trees: TreeEnsemble
    slope: Floats
    intercept: Floats

    def __post_init__(self) -> None:
        _check_maps(self.slope, self.intercept, self.trees.leaves)

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the mean of the mapped logits."""
        slope, intercept = np.zeros(len(scores)), np.zeros(len(scores))
        for rows, leaves in self.trees.walk(X, progress):
            for leaf in leaves:
                slope[rows] += self.slope.take(leaf)
                intercept[rows] += self.intercept.take(leaf)
        return map_logits(scores, slope / self.trees.trees, intercept / self.trees.trees)


@dataclass(frozen=True, eq=False)
class AdditiveStage:
    """The weighted logit plus terms of one or two columns: `weight * logit + intercept + terms`."""

    terms: Terms
    weight: float
    intercept: float

    def __post_init__(self) -> None:
        if not np.isfinite([self.weight, self.intercept]).all():
            raise broken("the weight of the score is not finite")

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the corrected logits."""
        return map_logits(scores, self.weight, self.intercept) + self.terms.total(X)


def additive_stage(
    found: AdditiveTerms, weight: float, margin_weight: float, intercept: float
) -> AdditiveStage:
    """Return `weight * score + margin_weight * margin + intercept` as terms."""
    shift = intercept + margin_weight * found.baseline_
    return AdditiveStage(found.terms_.scaled(margin_weight), weight, shift)


@dataclass(frozen=True, eq=False)
class ClassMapsStage:
    """Maps of the log-probabilities of more than two classes."""

    method: ClassMethod
    pooled: ClassMap  # the map of all rows
    partition: Partition | None = None  # None if all rows have the pooled map
    maps: tuple[ClassMap, ...] = ()  # in the order of the leaves
    shrinkage: float = np.inf  # of the maps towards the pooled one; infinite where there are none

    def __post_init__(self) -> None:
        if len(self.maps) != (0 if self.partition is None else len(self.partition.leaves)):
            raise broken("it does not have one map for each leaf")
        if {each.bias.shape for each in self.maps} - {self.pooled.bias.shape}:
            raise broken("its maps are not all of the same classes")

    def logit(self, scores: Floats, X: pd.DataFrame, progress: Progress = silent) -> Floats:
        """Return the mapped log-probabilities, rows x classes."""
        logs = class_matrix(scores, self.pooled.bias.size)
        leaf = np.zeros(len(logs), dtype=np.int64)
        if self.partition is not None:
            leaf = self.partition.apply(X)
        return mapped_logits(self.pooled, dict(enumerate(self.maps, 1)), logs, leaf)


Stage = PooledStage | LeafMapsStage | NestedStage | ForestStage | AdditiveStage | ClassMapsStage


def count_numbers(stage: Stage) -> int:
    """Return how many numbers of a stage decide, apart from where its leaves and steps begin."""
    if isinstance(stage, PooledStage):
        return 2
    if isinstance(stage, AdditiveStage):
        return 2 + stage.terms.numbers
    if isinstance(stage, ClassMapsStage):
        one = numbers_of_class_map(stage.method, stage.pooled.bias.size)
        return one * len(stage.maps or (stage.pooled,))
    return int(np.count_nonzero(stage.slope != 1) + np.count_nonzero(stage.intercept))


def _nest(logits: Floats, leaf: Ints, slope: Floats, intercept: Floats) -> None:
    """Map each logit in place: the numpy reference of the kernel."""
    logits *= slope.take(leaf)
    logits += intercept.take(leaf)


def _check_maps(slope: Floats, intercept: Floats, leaves: int) -> None:
    if slope.shape != (leaves,) or intercept.shape != (leaves,):
        raise broken("it does not have one map for each leaf")
    if not (np.isfinite(slope).all() and np.isfinite(intercept).all()):
        raise broken("a map is not finite")


def broken(problem: str) -> CalibrationError:
    """Build the error for a scheme that is not sound."""
    return CalibrationError(
        f"The calibration scheme cannot be used: {problem}.",
        "A scheme is a list of stages as hetcal saves it.",
        "Save it again from hetcal, or calibrate again.",
    )
