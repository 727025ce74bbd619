"""A model that stays in its process, for calls of few rows: none of them starts Keras."""

import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.data.scores import Scores
from hetcal.errors import ModelError
from hetcal.models.child import Child, read_object, reported_error
from hetcal.models.inputs import check_inputs
from hetcal.models.process import new_directory
from hetcal.models.sandbox import Limits
from hetcal.models.scoring import (
    ModelScoring,
    check_output,
    copy_model,
    finishing,
    read_scores,
    wanted_units,
    write_inputs,
)

BATCH = 32  # rows at a time: a call of one row computes so many
PATIENCE = 300.0  # seconds that a call, or the start, may take
PAUSE = 2e-4  # seconds between two looks for an answer
LASTING = 10 * 366 * 24 * 3600  # seconds: whoever keeps the model ends it
IN_MEMORY = Path("/dev/shm")  # where files are written without a disk, on Linux
ROOM = 2**25  # bytes that calls may take there
OUTPUTS = ("own.npy", "stripped.npy", "layer.npy", "output.json")


class KeptModel:
    """A model in a process of its own, which ends with this object or with the app.

    Parameters
    ----------
    scoring : ModelScoring
        Without arrays: rows are all that a call has.
    classes : int
        Number of classes, where there are more than two.
    """

    def __init__(self, scoring: ModelScoring, classes: int = 0) -> None:
        if scoring.inputs.arrays:
            raise ModelError(
                f"The model '{scoring.model.name}' takes arrays beside the table.",
                "A model that is kept for single rows takes columns of numbers and text.",
                "Score a table with its arrays.",
            )
        check_output(scoring.model, scoring.output)
        self._scoring, self._classes = scoring, classes
        self._wanted = wanted_units(scoring.model, classes, scoring.positive_unit)
        self._child: Child | None = None
        self.start()

    def start(self) -> None:
        """Start the process unless it runs, and wait until the model is loaded."""
        if self._child is not None and self._child.running:
            return
        self.close()
        model, usual = self._scoring.model, Limits()
        size = model.path.stat().st_size
        directory = _directory(size)
        try:
            request = {
                "name": model.name,
                "model": copy_model(model, directory).name,
                "parameters": model.parameters,
                "output": self._scoring.output,
                "classes": self._wanted,
                "layer": self._scoring.layer,
                "batch": BATCH,
            }
            memory = usual.memory + 3 * size
            self._child = Child("serve", request, directory, Limits(LASTING, memory))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        latest = time.monotonic() + PATIENCE
        while not any("serving" in each for each in self._child.messages()):
            self._wait(self._child, latest, 0.05)

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score some rows, in as little time as the model takes."""
        self.start()
        scoring, child = self._scoring, self._child
        assert child is not None
        check_inputs(scoring.model, frame, scoring.inputs)
        for name in OUTPUTS:
            (child.directory / name).unlink(missing_ok=True)
        rows = np.arange(len(frame))
        written, notes = write_inputs(scoring.model, frame, scoring.inputs, rows, child.directory)
        call = {"rows": len(frame), "inputs": [asdict(each) for each in written]}
        (child.directory / "call.json").write_text(json.dumps(call), encoding="utf-8")
        child.again()
        latest, answer = time.monotonic() + PATIENCE, child.directory / "output.json"
        while not answer.exists():
            self._wait(child, latest, PAUSE)
        error = reported_error([read_object(answer)])
        if error is not None:
            raise error
        given = scoring.model, scoring.inputs, self._classes, scoring.output, scoring.positive_unit
        units = (1, 2) if self._wanted is None else (self._wanted,)
        finish = finishing(*given, notes)
        return read_scores(child.directory, len(frame), units, finish, scoring.layer)

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _wait(self, child: Child, latest: float, pause: float) -> None:
        """Wait a moment for a child that still works, or say what became of it."""
        if not child.running:
            child.finish()  # raises what went wrong
        if time.monotonic() > latest:
            self.close()
            raise ModelError(
                f"The model did not answer within {PATIENCE:.0f} s.",
                "A call must be done in that time.",
                "Send fewer rows at a time.",
            )
        time.sleep(pause)


def _directory(size: int) -> Path:
    """Make a directory for a model of so many bytes, in memory: a call writes many small files."""
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > 4 * size + ROOM:
        return Path(tempfile.mkdtemp(prefix="hetcal-", dir=IN_MEMORY))
    return new_directory()
