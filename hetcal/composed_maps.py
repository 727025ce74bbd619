"""The one map of each leaf that a scheme amounts to, unless it has many trees."""

from collections.abc import Sequence

import numpy as np

from hetcal.arrays import Floats
from hetcal.class_calibrator import ClassCalibrator
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.map_shapes import Affine, Line, Tamed
from hetcal.partition import Partition
from hetcal.scheme import Scheme
from hetcal.stages import ClassMapsStage, LeafMapsStage, PooledStage


def composed_maps(scheme: Scheme, partition: Partition) -> tuple[Line, ...] | None:
    """Return the map of each leaf of the partition; None if leaves do not have one map each.

    A map for all rows is that of every leaf. Maps that follow on one another make one map:
    `a2 (a1 s + b1) + b2 = a2 a1 s + (a2 b1 + b2)`. A scheme does not keep standard errors.
    """
    leaves = len(partition.leaves)
    slope, intercept = np.ones(leaves), np.zeros(leaves)
    for i, stage in enumerate(scheme.stages):
        if isinstance(stage, PooledStage):
            if i > 0:  # what it tames is no score any more
                return None
        elif not isinstance(stage, LeafMapsStage) or stage.partition != partition:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            slope, intercept = stage.slope * slope, stage.slope * intercept + stage.intercept
    if not (np.isfinite(slope).all() and np.isfinite(intercept).all()):
        return None
    return _lines(slope, intercept, scheme)


def maps_apply(scheme: Scheme | None, partition: Partition) -> bool:
    """Tell whether the maps of leaves calibrate: many trees take their place."""
    return scheme is None or composed_maps(scheme, partition) is not None


def with_scheme(calibrator: LeafCalibrator, scheme: Scheme, partition: Partition) -> LeafCalibrator:
    """Put the maps that the scheme amounts to in the place of those that the leaves ask for."""
    maps = composed_maps(scheme, partition)
    return calibrator if maps is None else calibrator.with_shapes(maps)


def class_calibrator(scheme: Scheme, classes: int, leaves: Sequence[int]) -> ClassCalibrator:
    """Return the maps of more than two classes in every leaf, the identity without a stage."""
    stages = [each for each in scheme.stages if isinstance(each, ClassMapsStage)]
    if not stages:
        return ClassCalibrator.identity(classes, leaves)
    stage = stages[-1]
    calibrator = ClassCalibrator(stage.method, shrinkage=stage.shrinkage)
    own = dict(zip(leaves, stage.maps, strict=True)) if stage.maps else {}
    calibrator.pooled_, calibrator.shrinkage_ = stage.pooled, stage.shrinkage
    calibrator.maps_ = dict.fromkeys(leaves, stage.pooled) | own
    return calibrator


def _lines(slope: Floats, intercept: Floats, scheme: Scheme) -> tuple[Line, ...]:
    numbers = list(zip(slope.tolist(), intercept.tolist(), strict=True))
    first = scheme.stages[0] if scheme.stages else None
    if isinstance(first, PooledStage):
        return tuple(Tamed(*each, first.low, first.high) for each in numbers)
    unknown = (0.0, 0.0) if first is None else (np.nan, np.nan)
    return tuple(Affine(*each, *unknown) for each in numbers)
