"""The networks of the benchmark: trained here, or read as saved scores."""

import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks.data import BenchmarkTable
from hetcal.data.splits import ROLES, Split, split_by_column, split_by_fraction
from hetcal.errors import ScoreError
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.network import NetworkSettings
from hetcal.models.scoring import ScoringJob, start_scoring
from hetcal.models.training import start_training


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


# Good and bad networks: small and large, regularised or not, with standardised columns or not.
# Neighbours differ, and each data set starts one further than the one before.
CONFIGURATIONS = (
    NetworkSettings(size=1),
    NetworkSettings(size=2, regularisation="batch norm", standardise=False),
    NetworkSettings(size=4, regularisation="dropout"),
    NetworkSettings(size=2),
    NetworkSettings(size=1, regularisation="batch norm", standardise=False),
    NetworkSettings(size=2, regularisation="dropout", learning_rate=3e-4),
    NetworkSettings(size=4, regularisation="batch norm"),
    NetworkSettings(size=1, learning_rate=3e-3),
)
EPOCHS = ("best", "last")
_SHORT = {"none": "none", "batch norm": "bn", "dropout": "drop"}


@dataclass(frozen=True)
class Job:
    """Names of models, and the work that trains or reads them, given the data set."""

    names: tuple[str, ...]
    work: Callable[[BenchmarkTable], Iterable[ScoredModel]]


def training_jobs(data_set: str, first: int, models: int, seed: int) -> Iterator[Job]:
    """Plan the trainings of a data set; the best and the last epoch of each are models.

    They begin at number `first` of `CONFIGURATIONS`; each training has its own seed and split.
    """
    for number in range(-(-models // len(EPOCHS))):
        settings = replace(
            CONFIGURATIONS[(first + number) % len(CONFIGURATIONS)],
            seed=seed + number,
            keep_last=True,
        )
        kept = EPOCHS[: models - number * len(EPOCHS)]
        names = tuple(model_name(data_set, settings, epoch) for epoch in kept)
        yield Job(names, partial(_train, settings, names))


def saved_jobs(data_set: str, folder: Path, models: int | None) -> Iterator[Job]:
    """Find saved scores of a data set: files whose name begins with its name and a hyphen."""
    for path in sorted(folder.glob(f"{data_set}-*.npz"))[:models]:
        yield Job((path.stem,), partial(_read, path))


def model_name(data_set: str, settings: NetworkSettings, epoch: str) -> str:
    """Name a network by its settings.

    Examples
    --------
    >>> model_name("higgs", NetworkSettings(size=2, regularisation="dropout", seed=5), "last")
    'higgs-w2-drop-std-lr0.001-last-s5'
    """
    kind = f"w{settings.size}-{_SHORT[settings.regularisation]}"
    columns = "std" if settings.standardise else "raw"
    return f"{data_set}-{kind}-{columns}-lr{settings.learning_rate:g}-{epoch}-s{settings.seed}"


def _train(
    settings: NetworkSettings, names: Sequence[str], table: BenchmarkTable
) -> list[ScoredModel]:
    split = split_by_fraction(table.y, table.data_set.fractions, settings.seed)
    started = time.perf_counter()
    trained = start_training(table.X, table.y, split, settings).result()
    seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as directory:
        jobs = [
            _start_scoring(table, content, Path(directory) / f"{name}.keras")
            for content, name in zip((trained.content, trained.last), names, strict=False)
            if content is not None
        ]
        scores = [job.result().logit for job in jobs]
    return [
        ScoredModel(name, each, split, seconds) for name, each in zip(names, scores, strict=True)
    ]


def _start_scoring(table: BenchmarkTable, content: bytes, path: Path) -> ScoringJob:
    path.write_bytes(content)
    model = inspect_model(path)
    inputs = suggest_inputs(model, list(table.X.columns))
    assert inputs is not None, "a network of hetcal has one input per column"
    return start_scoring(model, table.X, inputs)


def _read(path: Path, table: BenchmarkTable) -> list[ScoredModel]:
    """Read the arrays s (logits), y (labels) and split (roles) of all rows of a data set."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            scores, y, roles = (arrays[name] for name in ("s", "y", "split"))
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ScoreError(
            f"The file '{path.name}' cannot be read as saved scores ({error}).",
            "It must hold the arrays s, y and split, with a value for every row of the data set.",
            "Save it again with numpy.savez_compressed(path, s=s, y=y, split=split).",
        ) from error
    if not np.array_equal(y, table.y):
        raise ScoreError(
            f"The labels of '{path.name}' are not those of the data set '{table.data_set.name}'.",
            "Saved scores belong to the rows of a data set in the order of its file.",
            "Use the file that the network was trained on, or save its scores anew.",
        )
    split = split_by_column(pd.Series(roles, name="split"))
    return [ScoredModel(path.stem, scores.astype(np.float64), split)]
