"""A scheme: all that turns a score and a row's columns into a calibrated logit."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.ensemble_json import ensemble_fields, read_ensemble
from hetcal.errors import CalibrationError
from hetcal.feature_values import named_columns
from hetcal.nodes import Feature
from hetcal.partition import Partition
from hetcal.partition_json import read_tree_fields, tree_fields
from hetcal.progress import Progress, between, silent
from hetcal.stages import (
    ForestStage,
    LeafMapsStage,
    NestedStage,
    PooledStage,
    Stage,
    broken,
)
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal scheme"
FORMAT = 1
MAX_STAGES = 8
PICKED = 1 << 18  # rows whose columns are copied at a time


@dataclass(frozen=True)
class Scheme:
    """Stages applied one after the other; without any the score stays as it is.

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
        """Return the calibrated logits; NaN where a score is not finite."""
        logits = np.array(scores, dtype=np.float64)
        frame = named_columns(X)
        if logits.shape != (len(frame),):
            raise CalibrationError(
                f"There are {logits.size:,} scores for {len(frame):,} rows.",
                "Every row needs one score.",
                "Give the scores of the same rows in the same order.",
            )
        logits[~np.isfinite(logits)] = np.nan
        for i, stage in enumerate(self.stages):
            part = between(progress, i / len(self.stages), (i + 1) / len(self.stages))
            logits = stage.logit(logits, frame, part)
        return logits

    def logit_of(
        self, rows: Ints, scores: Floats, X: pd.DataFrame, progress: Progress = silent
    ) -> Floats:
        """Return the calibrated logits of some rows of a table without a copy of all their columns.

        Parameters
        ----------
        rows : array of int
            The rows.
        scores : array of float
            Their logits.
        X : DataFrame
            The whole table.
        progress : callable, optional
            Is told how far the work has come.
        """
        logits = np.empty(rows.size)
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
            if isinstance(stage, LeafMapsStage):
                features += stage.partition.features
            elif isinstance(stage, ForestStage | NestedStage):
                features += stage.trees.columns.features
        return tuple(features)

    @property
    def column_names(self) -> set[str]:
        """The columns that the scheme reads."""
        return {each.name for each in self.features}

    @property
    def partition(self) -> Partition | None:
        """The one partition of the scheme; None if it has none or many."""
        found = [each.partition for each in self.stages if isinstance(each, LeafMapsStage)]
        many = any(isinstance(each, ForestStage | NestedStage) for each in self.stages)
        return found[0] if len(found) == 1 and not many else None

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


def _stage_fields(stage: Stage) -> dict[str, Any]:
    if isinstance(stage, PooledStage):
        numbers = {"low": stage.low, "high": stage.high, "slope": stage.slope}
        return {"stage": "pooled", **numbers, "intercept": stage.intercept}
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
