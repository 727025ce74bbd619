"""How the rows of a table get their scores: from columns, or from a model."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.data.array_files import require_rows
from hetcal.data.columns import check_names, counted
from hetcal.data.scores import (
    Activations,
    ScoreKind,
    Scores,
    guess_kind,
    make_scores,
    scores_from_column,
    scores_from_columns,
)
from hetcal.data.table import alike_values
from hetcal.digests import file_digest
from hetcal.errors import ModelError, ScoreError, did_you_mean
from hetcal.models.child import (
    BATCH,
    Child,
    last_numbers,
    read_object,
    read_outputs,
    unusable,
)
from hetcal.models.config import MOST_UNITS, MOST_VALUES, check_width
from hetcal.models.file import ModelFile
from hetcal.models.inputs import (
    InputColumns,
    WrittenInput,
    array_doubts,
    check_inputs,
    text_columns,
    write_array,
    write_input,
)
from hetcal.models.outputs import ModelOutput, to_class_logits, to_logit
from hetcal.models.process import new_directory
from hetcal.models.sandbox import Limits, reduced_isolation
from hetcal.progress import Progress, silent

PAUSE = 0.1  # seconds between two reports
_SLOWEST = 1_000  # rows per second that a model must score,
_SLOWEST_BYTES = 2**20  # with so many more bytes a second
_BATCH_BYTES = 2**26  # of the rows that are scored at a time

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
        """Wait for the scores and the output of the layer, or raise what went wrong."""
        if self._scores is None:
            self._scores = self._read(self._child.finish())
            self._child.close()
        return self._scores

    def _read(self, directory: Path) -> Scores:
        return read_scores(directory, self._rows, self._units, self._finish, self._layer)


def read_scores(
    directory: Path, rows: int, units: tuple[int, ...], finish: Finish, layer: str | None
) -> Scores:
    """Read what a child has written of so many rows."""
    facts = read_object(directory / "output.json")
    activation = facts.get("activation")
    if activation is not None and not isinstance(activation, str):
        raise unusable("the last activation has no name")
    own, stripped = read_outputs(directory / "own.npy", rows, units), None
    if (directory / "stripped.npy").exists():
        stripped = read_outputs(directory / "stripped.npy", rows, units)
        if stripped.shape != own.shape:
            raise unusable("the output has two shapes")
    scores = finish(ModelOutput(own, stripped, activation))
    if layer is None:
        return scores
    width = facts.get("layer_units")
    if type(width) is not int or not 1 <= width <= _most_units(rows):
        raise unusable("the layer has no width")
    values = read_outputs(directory / "layer.npy", rows, (width,))
    return replace(
        scores, activations=Activations(layer, values), digest=f"{scores.digest} {layer}"
    )


def start_scoring(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    *,
    classes: int = 0,
    output: str | None = None,
    positive_unit: int | None = None,
    layer: str | None = None,
    rows: Ints | None = None,
    limits: Limits | None = None,
) -> ScoringJob:
    """Check the columns and start to score every row of a frame.

    Parameters
    ----------
    model, frame, inputs, output, positive_unit, limits
        As in `score_model`.
    classes : int, default=0
        Number of classes where there are more than two: the model has an output for each.
    layer : str, optional
        An internal layer whose output is computed as well.
    rows : array of int, optional
        The rows of arrays beside the table that those of the frame are; default: all, in order.
    """
    wanted = wanted_units(model, classes, positive_unit)
    child, notes = _start(model, frame, inputs, output, wanted, limits, layer, rows)
    finish = finishing(model, inputs, classes, output, positive_unit, notes)
    units = (1, 2) if wanted is None else (wanted,)
    return ScoringJob(child, len(frame), units, finish, layer)


def wanted_units(model: ModelFile, classes: int, positive_unit: int | None) -> int | None:
    """Return how many numbers a model must give for a row; None for one or two."""
    many = not classes and (model.units or 0) > 2
    if (many and positive_unit is None) or (positive_unit or 0) >= max(model.units or 2, 2):
        raise _which_unit(model)
    return model.units if many else classes or None


def finishing(
    model: ModelFile,
    inputs: InputColumns,
    classes: int,
    output: str | None,
    positive_unit: int | None,
    notes: Sequence[str],
) -> Finish:
    """Return what turns the output of a model into scores."""

    def finish(given: ModelOutput) -> Scores:
        if classes:
            found = to_class_logits(given)
        else:
            found = to_logit(given.own, given.stripped, given.activation, positive_unit)
        steps = [asdict(each) for each in inputs.steps.steps]
        key = json.dumps([model.digest, inputs.columns, output, classes or positive_unit, steps])
        key += "".join(repr(each) for each in inputs.arrays)
        return make_scores(
            found.logit,
            " ".join([found.how, *notes]),
            digest=hashlib.sha256(key.encode() + found.logit.tobytes()).hexdigest(),
            clipped=found.clipped,
            largest_difference=found.largest_difference,
            doubts=array_doubts(model, inputs),
        )

    return finish


def _which_unit(model: ModelFile) -> ModelError:
    return ModelError(
        f"The model '{model.name}' gives {counted(model.units or 2, 'number')} per row.",
        "One number per row is needed, or which one belongs to the positive value of the label.",
        f"Name that unit, 0 to {max(model.units or 2, 2) - 1} (--positive-unit on the command "
        "line), or use a score column instead.",
    )


def _start(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    output: str | None,
    classes: int | None,
    limits: Limits | None,
    layer: str | None = None,
    rows: Ints | None = None,
) -> tuple[Child, list[str]]:
    """Start the child; also note what was converted."""
    check_inputs(model, frame, inputs)
    for each in inputs.arrays:
        if rows is None or rows.max() >= each.file.rows:
            require_rows(each.file, len(frame) if rows is None else int(rows.max()) + 1)
    rows = np.arange(len(frame)) if rows is None else rows
    check_output(model, output)
    units = (classes or 2) * 2 + (0 if layer is None else _width(model, layer, len(frame)))
    directory = new_directory()
    try:
        copy = copy_model(model, directory)
        written, notes = write_inputs(model, frame, inputs, rows, directory)
        request = {
            "name": model.name,
            "model": copy.name,
            "parameters": model.parameters,
            "rows": len(frame),
            "output": output,
            "classes": classes,
            "layer": layer,
            "batch": _batch(directory, written, len(frame)),
            "inputs": [asdict(each) for each in written],
        }
        room = limits or _limits(model, directory, len(frame), units)
        told = reduced_isolation()
        return Child("score", request, directory, room), notes if told is None else [*notes, told]
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def score_model(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    *,
    output: str | None = None,
    positive_unit: int | None = None,
    limits: Limits | None = None,
) -> Scores:
    """Score every row of a table with a Keras model, in a process of its own.

    Parameters
    ----------
    model : ModelFile
        From `inspect_model`.
    frame : DataFrame
        The table; only the columns of `inputs` are read.
    inputs : InputColumns
        Which columns feed which input, in which order.
    output : str, optional
        The output to use, where the model has several.
    positive_unit : int, optional
        Which of several units, from 0, is that of the positive class; by default the second of a
        softmax over two.
    limits : Limits, optional
        Default: room for TensorFlow, three times the model and the data.
    """
    return start_scoring(
        model, frame, inputs, output=output, positive_unit=positive_unit, limits=limits
    ).result()


def _width(model: ModelFile, layer: str, rows: int) -> int:
    """Return how many units a layer has at most; refuse unknown layers and those too wide."""
    found = next((each for each in model.layers if each.name == layer), None)
    if found is None:
        listed = ", ".join(f"'{each.name}'" for each in model.layers[:12]) or "none"
        raise ModelError(
            f"The model '{model.name}' has no internal layer '{layer}'.",
            f"Its internal layers are: {listed}.",
            "Choose one of them, or a partition on columns of the table.",
        )
    if found.width is not None:
        check_width(model.name, layer, found.width, rows)
    return _most_units(rows) if found.width is None else found.width


def _most_units(rows: int) -> int:
    return min(MOST_UNITS, MOST_VALUES // rows)


def check_output(model: ModelFile, output: str | None) -> None:
    """Refuse an output that the model does not have, or none where it has several."""
    if (output is None and len(model.outputs) == 1) or output in model.outputs:
        return
    listed = ", ".join(f"'{name}'" for name in model.outputs)
    other = "" if output is None else f"; none is called '{output}'"
    raise ModelError(
        f"The model '{model.name}' has {counted(len(model.outputs), 'output')}: {listed}{other}.",
        "One of them must be the score.",
        "Choose the output to use.",
    )


def copy_model(model: ModelFile, directory: Path) -> Path:
    """Copy the file under a name of our own, and check that it has not changed."""
    copy = directory / f"model.{model.format}"
    shutil.copyfile(model.path, copy)
    if file_digest(copy) != model.digest:
        raise ModelError(
            f"The model file '{model.name}' has changed since it was opened.",
            "The file must stay as it was when it was checked.",
            "Open the model again.",
        )
    return copy


def write_inputs(
    model: ModelFile, frame: pd.DataFrame, inputs: InputColumns, rows: Ints, directory: Path
) -> tuple[list[WrittenInput], list[str]]:
    """Write what each input reads into files; also note what was converted."""
    arrays = {each.input: each for each in inputs.arrays}
    written = [
        write_array(number, spec, arrays[spec.name], rows, directory)
        if spec.name in arrays
        else write_input(
            number, spec, inputs.steps.apply(frame[list(inputs.of(spec.name))]), directory
        )
        for number, spec in enumerate(model.inputs)
    ]
    prepared = [inputs.steps.words] if inputs.steps.steps else []
    notes = [*prepared, *(note for _, notes in written for note in notes)]
    return [each for each, _ in written], notes


def _batch(directory: Path, written: Sequence[WrittenInput], rows: int) -> int:
    """Return how many rows are scored at a time: fewer if they are large, such as images."""
    held = sum(np.load(directory / each.file, mmap_mode="r").nbytes // rows for each in written)
    return max(8, min(BATCH, _BATCH_BYTES // held))


def _limits(model: ModelFile, directory: Path, rows: int, units: int) -> Limits:
    data = sum(file.stat().st_size for file in directory.glob("*_*"))
    usual = Limits()
    weights = model.path.stat().st_size
    return Limits(
        seconds=usual.seconds + rows // _SLOWEST + data // _SLOWEST_BYTES,
        memory=usual.memory + 3 * weights + 4 * data + 4 * units * rows,
        file_bytes=max(usual.file_bytes, 2 * weights, 4 * units * rows),  # it may write it again
    )


@dataclass(frozen=True)
class ColumnScoring:
    """The scores are in one column of the table, or in one per class, in the classes' order."""

    columns: tuple[str, ...]
    kind: ScoreKind


@dataclass(frozen=True)
class ModelScoring:
    """A Keras model computes the scores; a partition may read the units of one `layer`."""

    model: ModelFile
    inputs: InputColumns
    output: str | None = None
    positive_unit: int | None = None
    layer: str | None = None


Scoring = ColumnScoring | ModelScoring


def read_as_text(scoring: Scoring | None, frame: pd.DataFrame) -> tuple[str, ...]:
    """Name the columns whose text the model needs as it is written; see `text_columns`."""
    if not isinstance(scoring, ModelScoring):
        return ()
    return text_columns(scoring.model, scoring.inputs, frame)


def score_rows(
    frame: pd.DataFrame,
    scoring: Scoring,
    classes: Sequence[str],
    digest: str,
    progress: Progress = silent,
    rows: Ints | None = None,
) -> Scores:
    """Return the scores of every row of a frame, as `start_rows` does, and wait for a model."""
    scores = start_rows(frame, scoring, classes, digest, rows)
    return scores if isinstance(scores, Scores) else scores(progress)


def start_rows(
    frame: pd.DataFrame,
    scoring: Scoring,
    classes: Sequence[str],
    digest: str,
    rows: Ints | None = None,
) -> Scores | Callable[[Progress], Scores]:
    """Return the scores of every row of a frame, and the output of a layer where one is named.

    `classes` is empty for two, as in `Table`; `digest` identifies the rows in caches; `rows` are
    those of arrays beside the table, as in `start_scoring`. A model
    runs in a child process, and what is returned waits for it; what its progress raises ends it.
    """
    if isinstance(scoring, ModelScoring):
        job = start_scoring(
            scoring.model,
            frame,
            scoring.inputs,
            classes=len(classes),
            output=scoring.output,
            positive_unit=scoring.positive_unit,
            layer=scoring.layer,
            rows=rows,
        )

        def wait(progress: Progress) -> Scores:
            job.watch(progress)
            return job.result()

        return wait
    if classes:
        require_column_per_class(scoring.columns, classes)
    check_names(list(frame.columns))
    for column in scoring.columns:
        if column not in frame.columns:
            raise ScoreError(
                f"The table has no score column '{column}'.",
                f"Its columns are {', '.join(map(repr, frame.columns[:12]))}.",
                did_you_mean(
                    column,
                    [str(each) for each in frame.columns],
                    "Choose from these, or choose a table that has the scores.",
                ),
            )
    digest = f"{digest} {scoring}"
    if classes:
        return scores_from_columns(frame, scoring.columns, scoring.kind, digest)
    (column,) = scoring.columns
    return scores_from_column(frame[column], scoring.kind, digest)


def require_column_per_class(columns: Sequence[str], classes: Sequence[str]) -> None:
    """Refuse columns that cannot be those of the classes."""
    if len(columns) != len(classes) or len(set(columns)) < len(columns):
        listed = ", ".join(f"'{name}'" for name in columns)
        twice = len(set(columns)) < len(columns)
        alike = [" and ".join(f"'{value}'" for value in group) for group in alike_values(classes)]
        raise ScoreError(
            f"The label has {counted(len(classes), 'value')} ({', '.join(classes[:8])}"
            f"{', …' if len(classes) > 8 else ''}), and {counted(len(columns), 'score column')} "
            f"{'is' if len(columns) == 1 else 'are'} named ({listed})"
            f"{', one of them twice' if twice else ''}.",
            "Each class needs a score column of its own.",
            "Name one column per class, or a positive value: all others are then negative."
            + (f" If {alike[0]} mean the same, use one spelling in the file." if alike else ""),
        )


def guess_kind_of(frame: pd.DataFrame, columns: Sequence[str]) -> ScoreKind:
    """Guess that columns whose values all lie between 0 and 1 are probabilities."""
    kinds = {guess_kind(frame[name]) for name in columns if name in frame}
    return "probability" if kinds == {"probability"} else "logit"
