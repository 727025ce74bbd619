"""The parts of a candidate: stages before they are fitted, on some rows or on all."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.calibrators.class_map import (
    ClassMap,
    ClassRows,
    fit_leaf_class_maps,
    fit_pooled_class_map,
    mapped_logits,
)
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.many_trees import fit_shrunken_maps
from hetcal.calibrators.newton import GroupedRows, PenalisedLosses, minimise
from hetcal.calibrators.shapes import tame
from hetcal.choices import ClassMethod
from hetcal.data.splits import halves
from hetcal.errors import CalibrationError
from hetcal.partitions.boosting import ResidualTrees
from hetcal.partitions.ensemble import TreeColumns, TreeEnsemble, flat_tree
from hetcal.partitions.partition import Partition
from hetcal.schemes.rows import SchemeRows
from hetcal.schemes.stages import (
    ClassMapsStage,
    ForestStage,
    LeafMapsStage,
    NestedStage,
    PooledStage,
    Stage,
)

OUTSIDE = 0.005  # share of the rows on each side whose scores are tamed
WEAK = 1.0  # penalty in rows: it matters only where the rows have no information
NESTED_TREES = 15  # of nested calibration

Fitted = tuple[Floats, Callable[[], Stage]]


def fit_weights(
    columns: Floats, y: Ints, weight: Floats | None, prior: Floats, penalty: float = WEAK
) -> Floats:
    """Fit `intercept + columns @ weights`, shrunk towards prior weights.

    The loss is the log-loss plus `penalty / 2` times the squared distance from the prior, in
    deviations of each column. The penalty counts rows, whatever the unit of the weights. The
    intercept comes first, then one weight per column.
    """
    w = np.ones(len(y)) if weight is None else weight * (weight.sum() / (weight**2).sum())
    centre = np.average(columns, axis=0, weights=w)
    scale = np.sqrt(np.average((columns - centre) ** 2, axis=0, weights=w))
    scale = np.where(scale > 0, scale, 1.0)
    design = [np.ones(len(y)), *((columns - centre) / scale).T]
    target = np.concatenate([[0.0], prior * scale])
    strength = np.concatenate([[1e-9], np.full(scale.size, penalty)])
    rows = GroupedRows(columns[:, 0], y == 1, np.zeros(len(y), dtype=np.int64), w)
    bounded = np.zeros(target.size, dtype=np.bool_)
    losses = PenalisedLosses(rows, design, np.zeros(len(y)), target, strength, bounded)
    point, _ = minimise(losses, losses.at(target[:, None]))
    place = point.place[:, 0]
    weights = place[1:] / scale
    return np.concatenate([[place[0] - weights @ centre], weights])


def fit_pooled(scores: Floats, y: Ints, weight: Floats | None = None) -> PooledStage:
    """Fit one map for all rows; scores beyond the outermost rows are tamed."""
    used = np.ones(len(y), dtype=np.bool_) if weight is None else weight > 0
    low, high = np.quantile(scores[used], [OUTSIDE, 1 - OUTSIDE]).tolist()
    tamed = tame(scores, low, high)
    intercept, slope = fit_weights(tamed[:, None], y, weight, np.zeros(1), 1e-3).tolist()
    return PooledStage(low, high, slope, intercept)


class Part(Protocol):
    """A stage before it is fitted, prepared for the rows on which candidates are compared."""

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit on `rows` only; return the new logits of all rows, and a function for the stage."""


class PooledPart:
    """One map for all rows."""

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit Platt's map on tamed scores."""
        stage = fit_pooled(logits[rows], held.y[rows], held.weights(rows))
        return stage.logit(logits, held.X), lambda: stage


@dataclass(frozen=True, eq=False)
class PlainLeavesPart:
    """A map for each leaf of a partition on its own: Algorithm 1."""

    partition: Partition  # grown without the scores of the rows to be compared
    leaf: Ints  # leaf id of each row

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit Platt's map in each leaf; where scores separate the classes, logits do not change."""
        ids = [leaf.id for leaf in self.partition.leaves]
        calibrator = LeafCalibrator()
        slope, shift = np.ones(len(ids)), np.zeros(len(ids))
        try:
            calibrator.fit(logits[rows], held.y[rows], self.leaf[rows], held.weights(rows), ids)
        except CalibrationError:  # no pooled map has the highest likelihood
            return logits, lambda: LeafMapsStage(self.partition, slope, shift)
        slope = np.array([each.slope for each in calibrator.maps_])
        shift = np.array([each.intercept for each in calibrator.maps_])
        mapped = slope[self.leaf - 1] * logits + shift[self.leaf - 1]
        return mapped, lambda: LeafMapsStage(self.partition, slope, shift)


@dataclass(frozen=True, eq=False)
class ShrunkenLeavesPart:
    """A map for each leaf of a partition, shrunk towards the incoming logit."""

    partition: Partition  # grown without the scores of the rows to be compared
    leaf: Ints  # leaf id of each row

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit shrunken maps."""
        leaf, count = self.leaf[:, None] - 1, len(self.partition.leaves)
        y, weight = held.y[rows], held.weights(rows)
        maps = fit_shrunken_maps(logits[rows], y, leaf[rows], count, strength, weight)
        stage = LeafMapsStage(self.partition, maps.slope, maps.intercept)
        return maps.mean_logit(logits, leaf), lambda: stage


@dataclass(frozen=True, eq=False)
class ForestPart:
    """Shrunken maps for the leaves of many trees, averaged."""

    trees: TreeEnsemble
    leaf: NDArray[np.int32]  # leaf numbers, rows by trees

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit shrunken maps."""
        y, weight = held.y[rows], held.weights(rows)
        leaf = self.leaf[rows]
        maps = fit_shrunken_maps(logits[rows], y, leaf, self.trees.leaves, strength, weight)
        stage = ForestStage(self.trees, maps.slope, maps.intercept)
        return maps.mean_logit(logits, self.leaf), lambda: stage


@dataclass(frozen=True, eq=False)
class BoostedPart:
    """Nested calibration: trees grown one after the other, each on what the maps so far leave."""

    columns: TreeColumns
    matrix: Singles  # of the rows to be compared

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Grow a tree on the residuals of the calibrated score, fit maps in its leaves, repeat."""
        y, weight = held.y[rows], held.weights(rows)
        residual = ResidualTrees(self.matrix[rows], y, weight, strength)
        trees, slope, intercept = [], [], []
        for _ in range(NESTED_TREES):
            trees.append(residual.grow(logits[rows]))
            leaf = flat_tree(trees[-1]).leaves(self.matrix.T, 0, len(logits))[:, None]
            leaves = int((trees[-1].feature < 0).sum())
            maps = fit_shrunken_maps(logits[rows], y, leaf[rows], leaves, strength, weight)
            logits = maps.mean_logit(logits, leaf)
            slope.append(maps.slope)
            intercept.append(maps.intercept)

        def stage() -> NestedStage:
            grown = TreeEnsemble.of(self.columns.encoded(), trees)
            return NestedStage(grown, np.concatenate(slope), np.concatenate(intercept))

        return logits, stage


@dataclass(frozen=True, eq=False)
class BesidePart:
    """The weighted sum of the logit and of what other terms or trees say of the row."""

    margin: Floats  # of each row, from what was not fitted on it
    stage: Callable[[float, float, float], Stage]  # given both weights and the intercept

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit the weights; a negative one becomes 0, the smaller one first."""
        y, weight = held.y[rows], held.weights(rows)
        columns, prior = np.column_stack([logits, self.margin]), np.array([0.0, 1.0])
        found, kept = fit_weights(columns[rows], y, weight, prior), np.ones(2)
        while (found[1:] < 0).any():
            kept[found[1:].argmin()] = 0.0
            found = fit_weights(columns[rows] * kept, y, weight, prior)
            found[1:] *= kept
        intercept, score_weight, margin_weight = found.tolist()
        mapped = intercept + columns @ found[1:]
        return mapped, lambda: self.stage(score_weight, margin_weight, intercept)


@dataclass(frozen=True, eq=False)
class GrownLeavesPart:
    """Leaves of a partition that reads scores, grown on one half and calibrated on the other."""

    grow: Callable[[pd.DataFrame, Ints, Floats, Floats | None], Partition]
    _grown: dict[bytes, Partition] = field(default_factory=dict, init=False, repr=False)

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Grow on every other row, or on half of the groups, and fit shrunken maps on the rest."""
        group = None if held.group is None else np.asarray(held.group)[rows]
        first, second = (rows[half] for half in halves(held.y[rows], group))
        scores = held.known_scores[first]
        key = scores.tobytes() + first.tobytes()
        if key not in self._grown:  # with and without the model the tree is the same
            X, y, weight = held.X.iloc[first], held.y[first], held.weights(first)
            self._grown[key] = self.grow(X, y, scores, weight)
        partition = self._grown[key]
        part = ShrunkenLeavesPart(partition, partition.apply(held.X))
        return part.fit(logits, held, second, strength)


@dataclass(frozen=True, eq=False)
class PooledClassPart:
    """One map of the log-probabilities of all classes for all rows."""

    method: ClassMethod
    _fitted: dict[bytes, ClassMap] = field(default_factory=dict, init=False, repr=False)

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit the map."""
        stage = ClassMapsStage(self.method, self.map_of(logits, held, rows))
        return stage.logit(logits, held.X), lambda: stage

    def map_of(self, logits: Floats, held: SchemeRows, rows: Ints) -> ClassMap:
        """Fit the map, once for the same rows: leaf maps of every strength start from it."""
        key = rows.tobytes() + logits.tobytes()
        if key not in self._fitted:
            parts = logits[rows], held.y[rows], np.zeros_like(rows), held.weights(rows)
            self._fitted[key] = fit_pooled_class_map(self.method, ClassRows(*parts))
        return self._fitted[key]


@dataclass(frozen=True, eq=False)
class ClassLeavesPart:
    """A map of all classes for each leaf of a partition, shrunk towards that of all rows."""

    pooled: PooledClassPart
    partition: Partition  # grown without the scores of the rows to be compared
    leaf: Ints  # leaf id of each row

    def fit(self, logits: Floats, held: SchemeRows, rows: Ints, strength: float) -> Fitted:
        """Fit shrunken maps."""
        method, pooled = self.pooled.method, self.pooled.map_of(logits, held, rows)
        ids = [leaf.id for leaf in self.partition.leaves]
        fitted_on = ClassRows(logits[rows], held.y[rows], self.leaf[rows], held.weights(rows))
        maps = fit_leaf_class_maps(method, fitted_on, ids, pooled, strength)
        own = tuple(maps.values())
        stage = ClassMapsStage(method, pooled, self.partition, own, strength)
        return mapped_logits(pooled, maps, logits, self.leaf), lambda: stage
