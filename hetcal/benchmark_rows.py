"""The rows of one model in the benchmark: its score, and the role of every row."""

from dataclasses import dataclass

import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.benchmark_data import BenchmarkTable
from hetcal.splits import ROLES, Split


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model that is to be calibrated.

    Parameters
    ----------
    name : str
        Data set, width, regularisation, columns, learning rate, epoch and seed.
    scores : array of float
        Its logit in the rows of the data set.
    split : Split
        Their roles.
    training_seconds : float or None
        How long the training took, if it was trained here.
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
    """What a way of scoring is given. It reads all but the labels of the test rows."""

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
