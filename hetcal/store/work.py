"""Work for a run that takes long: each keeps what it has found in the run, as its last step."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from hetcal.artifacts.artifact import (
    READ_SHARE,
    new_row_notes,
    open_artifact,
    score_with_artifact,
)
from hetcal.data.reading import Source, file_per_role, from_path, one_file, read_file
from hetcal.data.splits import Split
from hetcal.data.table import Table
from hetcal.jobs.process import Call
from hetcal.models.network import NetworkSettings
from hetcal.models.scoring import ModelScoring, ScoringJob, start_scoring
from hetcal.models.training import TrainingJob, start_training
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.runs.fitting import fit_roles
from hetcal.runs.settings import Settings
from hetcal.schemes.choice import Choice
from hetcal.schemes.rows import SchemeRows
from hetcal.store.store import StoredRun
from hetcal.store.workspace import TableFile

PAUSE = 0.2  # seconds between two looks at a training


def kept_call(run: StoredRun, key: str, function: Callable[..., Any], *given: Any) -> Call:
    """Return work that calls a function in a process of its own, which keeps its result."""
    return Call(keep_found, run, key, function, given)


def keep_found(
    run: StoredRun,
    key: str,
    function: Callable[..., Any],
    given: Sequence[Any],
    progress: Progress,
) -> None:
    """Call a function, whose last argument is a `Progress`, and keep its result in the run."""
    found = function(*given, progress)
    if run.folder.exists():  # it may have been deleted meanwhile
        run.keep_result(key, found)


def read_source(files: Sequence[TableFile], progress: Progress = silent) -> Source:
    """Read the table of a run: one file, one for each role, or a folder."""
    if len(files) == 1 and os.path.isdir(files[0].path):
        return from_path(files[0].path, progress=progress)
    readings = {}
    for i, file in enumerate(files):
        part = between(progress, i / len(files), (i + 1) / len(files))
        reading = read_file(file.path, file.dialect, name=file.name, progress=part)
        if file.role is None:
            return one_file(reading)
        readings[file.role] = reading
    return file_per_role(readings)


def find_scheme(
    settings: Settings,
    training: SchemeRows,
    held: SchemeRows,
    tree: Partition | None,
    progress: Progress = silent,
) -> Choice:
    """Fit the scheme that the settings name, or choose one, on rows of `ensemble_rows`."""
    return fit_roles(settings, training, held, None, progress, tree)


def score_file(
    artifact: Path, table: Path, name: str, progress: Progress = silent
) -> tuple[pd.DataFrame, list[str]]:
    """Score the rows of a file with an artifact that is kept under its digest; add notes."""
    opened = open_artifact(artifact.read_bytes(), artifact.parent)
    reading, scoring = between(progress, 0.0, READ_SHARE), between(progress, READ_SHARE, 1.0)
    rows = read_file(table, name=name, kinds=opened.kinds, progress=reading)
    scored = score_with_artifact(opened, rows.frame, rows.digest, scoring)
    return scored, [*rows.notes, *new_row_notes(opened, rows.frame, scored)]


@dataclass
class ScoreRows:
    """Work that runs a model on all rows of a table."""

    run: StoredRun
    key: str
    table: Table
    scoring: ModelScoring
    _job: ScoringJob | None = field(default=None, init=False)

    def __call__(self, progress: Progress) -> None:
        """Wait for the model, which is in a process of its own."""
        progress(0.0, "Starting the model")
        scoring = self.scoring
        self._job = start_scoring(
            scoring.model,
            self.table.frame,
            scoring.inputs,
            classes=len(self.table.classes),
            output=scoring.output,
            positive_unit=scoring.positive_unit,
            layer=scoring.layer,
        )
        self._job.watch(progress)
        keep_found(self.run, self.key, _result_of, (self._job,), progress)


def _result_of(job: ScoringJob | TrainingJob, progress: Progress) -> Any:
    return job.result()


@dataclass
class TrainNetwork:
    """Work that trains the paper's network; stopped, it keeps the best epoch so far."""

    run: StoredRun
    key: str
    table: Table
    split: Split
    settings: NetworkSettings
    _job: TrainingJob | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)

    stop_words = "Stop and keep the best epoch so far"

    def __call__(self, progress: Progress) -> None:
        """Wait for the network, which is trained in a process of its own."""
        progress(0.0, "Starting Keras")
        table = self.table
        self._job = start_training(table.X, table.y, self.split, self.settings, table.weight)
        while self._job.running:
            state = self._job.progress()
            if self._stopped and not self._job.cancelled:
                self._job.cancel()
            if state is not None:
                doing = f"{state.epoch} of {state.epochs} epochs done"
                progress(state.fraction, f"{doing}, stopping" if self._stopped else doing)
            time.sleep(PAUSE)
        keep_found(self.run, self.key, _result_of, (self._job,), progress)

    def stop(self) -> None:
        """End after the current step."""
        self._stopped = True

    @property
    def history(self) -> pd.DataFrame | None:
        """One row per epoch that has ended; None before the first."""
        found = None if self._job is None else self._job.history()
        return found if found is not None and len(found) else None
