"""A model at work in a child process: its progress, its scores, and what a layer gives."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from hetcal.activations import Activations, read_activations
from hetcal.child import Child, last_numbers, read_object, read_outputs, unusable
from hetcal.model_output import ModelOutput
from hetcal.progress import Progress

PAUSE = 0.1  # seconds between two reports

Found = TypeVar("Found")
Finish = Callable[[ModelOutput], Any]


@dataclass(frozen=True)
class ScoringProgress:
    """How far the scoring of a table has come."""

    rows_done: int
    rows: int
    seconds_left: float

    @property
    def fraction(self) -> float:
        """Share of the rows that have their score."""
        return self.rows_done / self.rows


class ScoringJob(Generic[Found]):
    """Scoring at work; made by `start_scoring` or `start_class_scoring`."""

    def __init__(
        self,
        child: Child,
        rows: int,
        units: tuple[int, ...],
        finish: Finish,
        layer: str | None = None,
    ) -> None:
        self._child = child
        self._rows = rows
        self._units = units
        self._finish = finish
        self._layer = layer
        self._scores: Found | None = None
        self._activations: Activations | None = None

    @property
    def running(self) -> bool:
        """Whether the model is still at work."""
        return self._scores is None and self._child.running

    def progress(self) -> ScoringProgress | None:
        """Tell the latest state; None while Keras is being loaded."""
        if self._scores is not None:
            return ScoringProgress(self._rows, self._rows, 0.0)
        said = last_numbers(self._child.messages(), ("rows_done", "seconds_left"))
        if said is None:
            return None
        done, left = said
        return ScoringProgress(int(min(max(done, 0), self._rows)), self._rows, max(left, 0.0))

    def cancel(self) -> None:
        """Stop at once; there will be no scores."""
        self._child.stop()

    def watch(self, progress: Progress) -> None:
        """Tell how far the model has come until it ends; what that raises ends the model."""
        try:
            while self.running:
                said = self.progress()
                if said is None:
                    progress(0.0, "Starting the model")
                else:
                    progress(said.fraction, f"Scored {said.rows_done:,} of {said.rows:,} rows")
                time.sleep(PAUSE)
        except BaseException:
            self.cancel()
            raise

    def result(self) -> Found:
        """Wait for the scores, or raise what went wrong."""
        if self._scores is None:
            self._scores = self._read(self._child.finish())
            self._child.close()
        return self._scores

    def activations(self) -> Activations | None:
        """Wait for what the layer gives; None if no layer was asked for."""
        self.result()
        return self._activations

    def _read(self, directory: Path) -> Found:
        said = read_object(directory / "output.json")
        if self._layer is not None:
            self._activations = read_activations(
                directory, self._layer, self._rows, said.get("layer_units")
            )
        activation = said.get("activation")
        if activation is not None and not isinstance(activation, str):
            raise unusable("the last activation has no name")
        own, stripped = read_outputs(directory / "own.npy", self._rows, self._units), None
        if (directory / "stripped.npy").exists():
            stripped = read_outputs(directory / "stripped.npy", self._rows, self._units)
            if stripped.shape != own.shape:
                raise unusable("the output has two shapes")
        return self._finish(ModelOutput(own, stripped, activation))
