"""The rows of one model in the benchmark: features, label, score and role."""

from dataclasses import dataclass

import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.benchmark_data import BenchmarkTable
from hetcal.splits import ROLES, Split


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model to calibrate: its logits and the roles of all rows of a data set.

    `training_seconds` is None if it was not trained here.
    """

    name: str
    scores: Floats
    split: Split
    training_seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one role: features, labels and logits."""

    X: pd.DataFrame
    y: Ints
    scores: Floats


@dataclass(frozen=True, eq=False)
class BenchmarkRows:
    """The rows that a contender is given; it must not read the labels of the test rows."""

    train: Part
    validation: Part
    calibration: Part
    test: Part
    seed: int = 0


def rows_of(table: BenchmarkTable, model: ScoredModel, seed: int = 0) -> BenchmarkRows:
    """Divide the rows of a data set by the roles that a model gave them."""

    def part(rows: Ints) -> Part:
        X = table.X.iloc[rows].reset_index(drop=True)
        return Part(X, table.y[rows], model.scores[rows])

    split = model.split
    train, validation, calibration, test = (part(split.of(role)) for role in ROLES)
    return BenchmarkRows(train, validation, calibration, test, seed)
