"""A model that scores rows in a child process: its progress, scores and layer outputs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hetcal.activations import Activations, read_activations
from hetcal.child import Child, last_numbers, read_object, read_outputs, unusable
from hetcal.model_output import ModelOutput
from hetcal.progress import Progress
from hetcal.scores import Scores

PAUSE = 0.1  # seconds between two reports

Finish = Callable[[ModelOutput], Scores]


@dataclass(frozen=True)
class ScoringProgress:
    """How many rows have been scored."""

    rows_done: int
    rows: int
    seconds_left: float

    @property
    def fraction(self) -> float:
        """Share of the rows that have a score."""
        return self.rows_done / self.rows


class ScoringJob:
    """A running model; made by `start_scoring`."""

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
        self._scores: Scores | None = None
        self._activations: Activations | None = None

    @property
    def running(self) -> bool:
        """Whether the model is still running."""
        return self._scores is None and self._child.running

    def progress(self) -> ScoringProgress | None:
        """Return the latest state; None while Keras is being loaded."""
        if self._scores is not None:
            return ScoringProgress(self._rows, self._rows, 0.0)
        numbers = last_numbers(self._child.messages(), ("rows_done", "seconds_left"))
        if numbers is None:
            return None
        done, left = numbers
        return ScoringProgress(int(min(max(done, 0), self._rows)), self._rows, max(left, 0.0))

    def cancel(self) -> None:
        """Stop at once; there will be no scores."""
        self._child.stop()

    def watch(self, progress: Progress) -> None:
        """Report progress until the model ends; an error in `progress` stops the model."""
        try:
            while self.running:
                state = self.progress()
                if state is None:
                    progress(0.0, "Starting the model")
                else:
                    progress(state.fraction, f"Scored {state.rows_done:,} of {state.rows:,} rows")
                time.sleep(PAUSE)
        except BaseException:
            self.cancel()
            raise

    def result(self) -> Scores:
        """Wait for the scores, or raise what went wrong."""
        if self._scores is None:
            self._scores = self._read(self._child.finish())
            self._child.close()
        return self._scores

    def activations(self) -> Activations | None:
        """Wait for the output of the layer; None if no layer was requested."""
        self.result()
        return self._activations

    def _read(self, directory: Path) -> Scores:
        facts = read_object(directory / "output.json")
        if self._layer is not None:
            units = facts.get("layer_units")
            self._activations = read_activations(directory, self._layer, self._rows, units)
        activation = facts.get("activation")
        if activation is not None and not isinstance(activation, str):
            raise unusable("the last activation has no name")
        own, stripped = read_outputs(directory / "own.npy", self._rows, self._units), None
        if (directory / "stripped.npy").exists():
            stripped = read_outputs(directory / "stripped.npy", self._rows, self._units)
            if stripped.shape != own.shape:
                raise unusable("the output has two shapes")
        return self._finish(ModelOutput(own, stripped, activation))
