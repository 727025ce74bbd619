"""A scheme: all that turns a score and a row's columns into a calibrated logit."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.class_calibrator import ClassCalibrator, map_fields, read_map
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.shapes import Affine, Line, Tamed
from hetcal.choices import CLASS_CALIBRATORS
from hetcal.data.columns import named_columns
from hetcal.errors import CalibrationError
from hetcal.partitions.ensemble import ensemble_fields, read_ensemble
from hetcal.partitions.nodes import Feature, read_tree_fields, tree_fields
from hetcal.partitions.partition import Partition
from hetcal.partitions.terms import read_terms, terms_fields
from hetcal.progress import Progress, between, silent
from hetcal.schemes.rows import finite_rows
from hetcal.schemes.stages import (
    AdditiveStage,
    ClassMapsStage,
    ForestStage,
    LeafMapsStage,
    NestedStage,
    PooledStage,
    Stage,
    broken,
    count_numbers,
)
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal scheme"
FORMAT = 1
MAX_STAGES = 8
PICKED = 1 << 18  # rows whose columns are copied at a time


@dataclass(frozen=True)
class Scheme:
    """Stages applied one after the other; without any the score does not change.

    Parameters
    ----------
    stages : tuple of Stage
        What is done, first to last.
    """

    stages: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        if len(self.stages) > MAX_STAGES:
            raise broken(f"it has more than {MAX_STAGES} stages")

    def logit(self, scores: Floats, X: pd.DataFrame | Any, progress: Progress = silent) -> Floats:
        """Return the calibrated logits; NaN where a score is not finite.

        For more than two classes, scores and result are log-probabilities, rows x classes.
        """
        logits = np.array(scores, dtype=np.float64)
        frame = named_columns(X)
        self._check(logits, len(frame))
        logits[~finite_rows(logits)] = np.nan
        for i, stage in enumerate(self.stages):
            part = between(progress, i / len(self.stages), (i + 1) / len(self.stages))
            logits = stage.logit(logits, frame, part)
        return logits

    def _check(self, logits: Floats, rows: int) -> None:
        if logits.shape[:1] != (rows,):
            raise CalibrationError(
                f"There are {logits.size:,} scores for {rows:,} rows.",
                "Every row needs one score, or one of each class.",
                "Give the scores of the same rows in the same order.",
            )
        read = {2 if isinstance(each, ClassMapsStage) else 1 for each in self.stages}
        if logits.ndim > 2 or read - {logits.ndim}:
            raise CalibrationError(
                f"The scores are an array of shape {logits.shape}.",
                "A scheme for two classes needs one logit per row, one for more classes the "
                "log-probability of each.",
                "Pass such an array.",
            )

    def logit_of(
        self, rows: Ints, scores: Floats, X: pd.DataFrame, progress: Progress = silent
    ) -> Floats:
        """Return the calibrated logits of some rows of a table without a copy of all their columns.

        `X` is the whole table, and `scores` are those of the rows.
        """
        logits = np.empty(scores.shape)
        for begin in range(0, rows.size, PICKED):
            part = slice(begin, begin + PICKED)
            done = between(progress, begin / rows.size, min(begin + PICKED, rows.size) / rows.size)
            logits[part] = self.logit(scores[part], X.iloc[rows[part]], done)
        return logits

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that the stages read, one stage after the other."""
        features: list[Feature] = []
        for stage in self.stages:
            if isinstance(stage, ForestStage | NestedStage):
                features += stage.trees.columns.features
            elif isinstance(stage, AdditiveStage):
                features += stage.terms.features
            elif (partition := _partition_of(stage)) is not None:
                features += partition.features
        return tuple(features)

    @property
    def column_names(self) -> set[str]:
        """The columns that the scheme reads."""
        return {each.name for each in self.features}

    @property
    def partition(self) -> Partition | None:
        """The one partition of the scheme; None if it has none or many."""
        divided = [each for each in self.stages if _divides(each)]
        return _partition_of(divided[0]) if len(divided) == 1 else None

    @property
    def divided(self) -> bool:
        """Whether what is done to a score depends on the row's columns."""
        return any(map(_divides, self.stages))

    @property
    def numbers(self) -> int:
        """How many numbers decide."""
        return sum(map(count_numbers, self.stages))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the JSON text, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return JSON text that gives back every number bit for bit."""
        stages = [_stage_fields(stage) for stage in self.stages]
        content = {"kind": KIND, "format": FORMAT, "stages": stages}
        return json.dumps(content, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a scheme back; anything unsound is a `CalibrationError` or `PartitionError`."""
        try:
            fields = parse_object(text)
            fields.only("kind", "format", "stages")
            if fields.text("kind") != KIND or fields.integer("format", 0, 2**31) != FORMAT:
                raise broken(f"it is not of the kind {KIND!r}, format {FORMAT}")
            found = fields.objects("stages")
            return cls(tuple(_read_stage(each) for each in found[: MAX_STAGES + 1]))
        except JsonError as problem:
            raise broken(str(problem)) from problem


def _partition_of(stage: Stage) -> Partition | None:
    return stage.partition if isinstance(stage, LeafMapsStage | ClassMapsStage) else None


def _divides(stage: Stage) -> bool:
    many = isinstance(stage, ForestStage | NestedStage | AdditiveStage)
    return many or _partition_of(stage) is not None


def _stage_fields(stage: Stage) -> dict[str, Any]:
    if isinstance(stage, PooledStage):
        return {"stage": "pooled", **asdict(stage)}
    if isinstance(stage, ClassMapsStage):
        return _class_fields(stage)
    if isinstance(stage, AdditiveStage):
        weights = {"weight": stage.weight, "intercept": stage.intercept}
        return {"stage": "additive", "terms": terms_fields(stage.terms), **weights}
    maps = {"slope": stage.slope.tolist(), "intercept": stage.intercept.tolist()}
    if isinstance(stage, LeafMapsStage):
        partition = tree_fields(stage.partition.features, stage.partition.nodes)
        return {"stage": "leaves", "partition": partition, **maps}
    kind = "nested" if isinstance(stage, NestedStage) else "forest"
    return {"stage": kind, "trees": ensemble_fields(stage.trees), **maps}


def _read_stage(fields: Fields) -> Stage:
    kind = fields.text("stage")
    if kind == "pooled":
        fields.only("stage", "low", "high", "slope", "intercept")
        return PooledStage(*(fields.number(key) for key in ("low", "high", "slope", "intercept")))
    if kind == "classes":
        return _read_class_stage(fields)
    if kind == "additive":
        fields.only("stage", "terms", "weight", "intercept")
        weights = fields.number("weight"), fields.number("intercept")
        return AdditiveStage(read_terms(fields.fields("terms")), *weights)
    if kind not in ("leaves", "nested", "forest"):
        raise JsonError("a stage is of a kind that is not known")
    trees = "partition" if kind == "leaves" else "trees"
    fields.only("stage", trees, "slope", "intercept")
    slope, intercept = (np.array(fields.numbers(key)) for key in ("slope", "intercept"))
    if kind == "leaves":
        partition = Partition(*read_tree_fields(fields.fields(trees)))
        return LeafMapsStage(partition, slope, intercept)
    ensemble = read_ensemble(fields.fields(trees))
    return (NestedStage if kind == "nested" else ForestStage)(ensemble, slope, intercept)


def _class_fields(stage: ClassMapsStage) -> dict[str, Any]:
    maps = [map_fields(leaf, each) for leaf, each in enumerate((stage.pooled, *stage.maps))]
    fields = {"stage": "classes", "method": stage.method, "maps": maps}
    if stage.partition is None:
        return fields
    partition = tree_fields(stage.partition.features, stage.partition.nodes)
    return {**fields, "partition": partition, "shrinkage": stage.shrinkage}


def _read_class_stage(fields: Fields) -> ClassMapsStage:
    divided = "partition" in fields
    fields.only("stage", "method", "maps", *(("partition", "shrinkage") if divided else ()))
    maps = [read_map(each) for each in fields.objects("maps")]
    if [leaf for leaf, _ in maps] != list(range(len(maps))) or not maps:
        raise JsonError("its maps are not numbered as they should be")
    pooled, *own = (each for _, each in maps)
    method = next((each for each in CLASS_CALIBRATORS if each == fields.text("method")), None)
    if method is None:
        raise JsonError("its maps are of a kind that is not known")
    if not divided:
        return ClassMapsStage(method, pooled, maps=tuple(own))
    partition = Partition(*read_tree_fields(fields.fields("partition")))
    return ClassMapsStage(method, pooled, partition, tuple(own), fields.number("shrinkage", 0))


def composed_maps(scheme: Scheme, partition: Partition) -> tuple[Line, ...] | None:
    """Return the map of each leaf of the partition; None if leaves do not have one map each.

    A map for all rows is that of every leaf. Maps that follow on one another make one map:
    `a2 (a1 s + b1) + b2 = a2 a1 s + (a2 b1 + b2)`. A scheme does not keep standard errors.
    """
    leaves = len(partition.leaves)
    slope, intercept = np.ones(leaves), np.zeros(leaves)
    for i, stage in enumerate(scheme.stages):
        if isinstance(stage, PooledStage):
            if i > 0:  # it would tame logits, not scores
                return None
        elif not isinstance(stage, LeafMapsStage) or stage.partition != partition:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            slope, intercept = stage.slope * slope, stage.slope * intercept + stage.intercept
    if not (np.isfinite(slope).all() and np.isfinite(intercept).all()):
        return None
    numbers = list(zip(slope.tolist(), intercept.tolist(), strict=True))
    first = scheme.stages[0] if scheme.stages else None
    if isinstance(first, PooledStage):
        return tuple(Tamed(*each, first.low, first.high) for each in numbers)
    unknown = (0.0, 0.0) if first is None else (np.nan, np.nan)
    return tuple(Affine(*each, *unknown) for each in numbers)


def maps_apply(scheme: Scheme | None, partition: Partition) -> bool:
    """Return whether each leaf has one map: schemes of many trees have none."""
    return scheme is None or composed_maps(scheme, partition) is not None


def with_scheme(calibrator: LeafCalibrator, scheme: Scheme, partition: Partition) -> LeafCalibrator:
    """Replace the maps of the leaves by those that the scheme is equivalent to."""
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
