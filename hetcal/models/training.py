"""Train the paper's network in a child process."""

import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats
from hetcal.data.columns import column_kind, counted
from hetcal.data.splits import Split
from hetcal.errors import ModelError
from hetcal.models.child import (
    Child,
    last_numbers,
    numbers_of,
    read_bytes,
    read_object,
    unusable,
)
from hetcal.models.config import ModelInput
from hetcal.models.inputs import write_input
from hetcal.models.network import NetworkSettings
from hetcal.models.process import new_directory
from hetcal.models.sandbox import Limits

_SECONDS = 6 * 3600
_LARGEST = 2**28  # bytes of a network
_COLUMNS = ["epoch", "train_auc", "validation_auc", "train_loss", "validation_loss", "seconds"]


@dataclass(frozen=True)
class TrainingProgress:
    """The state of a training; the AUCs are None until the first epoch has ended."""

    epoch: int
    epochs: int
    fraction: float
    train_auc: float | None
    validation_auc: float | None
    seconds_left: float


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network.

    `history` has the columns epoch, train_auc, validation_auc, train_loss, validation_loss
    and seconds.
    """

    content: bytes  # the `.keras` file: one input per column, preprocessing inside, a logit out
    history: pd.DataFrame
    best_epoch: int  # the one of the best validation AUC, whose weights were kept
    last: bytes | None = None  # the `.keras` file of the last epoch, if the settings keep it


class TrainingJob:
    """A running training; made by `start_training`."""

    def __init__(self, child: Child, epochs: int, *, keep_last: bool = False) -> None:
        self._child = child
        self._epochs = epochs
        self._keep_last = keep_last
        self._network: TrainedNetwork | None = None

    @property
    def running(self) -> bool:
        """Whether the network is still being trained."""
        return self._network is None and self._child.running

    @property
    def cancelled(self) -> bool:
        """Whether the user has cancelled it."""
        return self._child.cancelled

    def history(self) -> pd.DataFrame:
        """One row per epoch that has ended; columns as in `TrainedNetwork.history`."""
        if self._network is not None:
            return self._network.history
        return _history(message.get("done") for message in self._child.messages())

    def progress(self) -> TrainingProgress | None:
        """Return the latest state; None while Keras is being loaded."""
        history = self.history()
        train_auc = validation_auc = None
        if len(history):
            train_auc, validation_auc = history[["train_auc", "validation_auc"]].iloc[-1]
        if self._network is not None:
            fraction, left = 1.0, 0.0
        else:
            numbers = last_numbers(self._child.messages(), ("fraction", "seconds_left"))
            if numbers is None:
                return None
            fraction, left = min(max(numbers[0], 0.0), 1.0), max(numbers[1], 0.0)
        return TrainingProgress(
            len(history), self._epochs, fraction, train_auc, validation_auc, left
        )

    def cancel(self) -> None:
        """Stop after the current step; `result` then returns the best weights so far."""
        self._child.ask_to_stop()

    def result(self) -> TrainedNetwork:
        """Wait for the network, or raise what went wrong."""
        if self._network is None:
            self._network = _read(self._child.finish(), self._keep_last)
            self._child.close()
        return self._network


def _read(directory: Path, keep_last: bool) -> TrainedNetwork:
    facts = read_object(directory / "history.json")
    epochs = facts.get("epochs")
    history = _history(epochs if isinstance(epochs, list) else [])
    best = numbers_of(facts, ["best_epoch"])
    if best is None or best[0] not in range(1, len(history) + 1):
        raise unusable("the best epoch is not among those of the training")
    content = read_bytes(directory / "network.keras", _LARGEST)
    last = read_bytes(directory / "last.keras", _LARGEST) if keep_last else None
    return TrainedNetwork(content, history, int(best[0]), last)


def _history(epochs: Iterable[object]) -> pd.DataFrame:
    rows = [row for each in epochs if (row := numbers_of(each, _COLUMNS[1:]))]
    return pd.DataFrame([(i, *row) for i, row in enumerate(rows, start=1)], columns=_COLUMNS)


def start_training(
    X: pd.DataFrame,
    y: NDArray[np.integer],
    split: Split,
    settings: NetworkSettings,
    weight: Floats | None = None,
) -> TrainingJob:
    """Check the settings and start to train on the training rows.

    The validation rows choose the epoch; calibration and test rows are not read.
    """
    check_settings(settings, X)
    _check_classes(y, split)
    rows = np.concatenate([split.train, split.validation])
    numbers = [str(name) for name in X.columns if column_kind(X[name]) == "number"]
    texts = [str(name) for name in X.columns if str(name) not in set(numbers)]
    directory = new_directory()
    try:
        chosen = X.iloc[rows]
        write_input(0, ModelInput("numbers", None), chosen[numbers], directory)
        write_input(1, ModelInput("texts", None, "string"), chosen[texts], directory)
        np.save(directory / "y.npy", np.asarray(y)[rows].astype(np.int8))
        if weight is not None:
            np.save(directory / "weight.npy", weight[rows])
        request = {
            "settings": asdict(settings),
            "numbers": numbers,
            "texts": texts,
            "train_rows": len(split.train),
        }
        child = Child("train", request, directory, _limits(directory))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return TrainingJob(child, settings.epochs, keep_last=settings.keep_last)


def check_settings(settings: NetworkSettings, X: pd.DataFrame) -> None:
    """Refuse settings with which no network can be trained."""
    unknown = [name for name in settings.embed if name not in X.columns]
    for wrong, found, needed in (
        (X.shape[1] == 0, "no feature columns", "at least one column"),
        (settings.size < 1, f"size {settings.size}", "a size of 1, 2 or 4"),
        (
            settings.regularisation not in {"none", "batch norm", "dropout"},
            f"regularisation '{settings.regularisation}'",
            "none, batch norm or dropout",
        ),
        (
            not 0 < settings.learning_rate < 10,
            f"learning rate {settings.learning_rate}",
            "a learning rate above 0, such as 0.001",
        ),
        (settings.batch_size < 1, f"batch size {settings.batch_size}", "a batch size of 1 or more"),
        (settings.epochs < 1, f"{settings.epochs} epochs", "at least one epoch"),
        (bool(unknown), f"unknown columns to embed: {unknown}", "columns of the features"),
    ):
        if wrong:
            raise ModelError(
                f"The training was given {found}.",
                f"The network needs {needed}.",
                "Change that setting and train again.",
            )


def _check_classes(y: NDArray[np.integer], split: Split) -> None:
    for role in ("train", "validation"):
        labels = np.asarray(y)[split.of(role)]
        if np.unique(labels).size < 2:
            do = "does" if labels.size == 1 else "do"
            raise ModelError(
                f"The {counted(labels.size, f'{role} row')} {do} not contain both classes.",
                "Training needs both classes among the training rows, and among the validation "
                "rows, which choose the best epoch.",
                "Give that role more rows, or choose another split.",
            )


def _limits(directory: Path) -> Limits:
    data = sum(file.stat().st_size for file in directory.iterdir())
    return Limits(seconds=_SECONDS, memory=Limits().memory + 12 * data, file_bytes=_LARGEST)
