"""Scores from a Keras model, computed in a child process."""

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from hetcal.activations import allowed_width
from hetcal.arrays import Floats
from hetcal.child import Child, Limits, new_directory
from hetcal.columns import counted
from hetcal.digests import file_digest
from hetcal.errors import ModelError
from hetcal.model_file import ModelFile
from hetcal.model_inputs import (
    InputColumns,
    WrittenInput,
    check_inputs,
    matrix_input,
    suggest_inputs,
    write_input,
)
from hetcal.model_output import ModelOutput, to_class_logits, to_logit
from hetcal.scores import Scores, make_scores
from hetcal.scoring_job import ScoringJob, ScoringProgress

__all__ = [
    "InputColumns",
    "ScoringJob",
    "ScoringProgress",
    "matrix_input",
    "score_model",
    "start_scoring",
    "suggest_inputs",
]


def start_scoring(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    *,
    classes: int = 0,
    output: str | None = None,
    positive_unit: int = 1,
    layer: str | None = None,
    limits: Limits | None = None,
) -> ScoringJob:
    """Check the columns and start to score every row of a frame.

    Parameters
    ----------
    model : ModelFile
        From `inspect_model`.
    frame : DataFrame
        The table; only the columns of `inputs` are read.
    inputs : InputColumns
        Which columns feed which input, in which order.
    classes : int, default=0
        Number of classes where there are more than two: the model has an output for each.
    output : str, optional
        The output to use, where the model has several.
    positive_unit : {0, 1}
        Which of two softmax units stands for the positive class.
    layer : str, optional
        An internal layer whose output is wanted next to the scores.
    limits : Limits, optional
        Default: room for TensorFlow, three times the model and the data.
    """
    child, notes = _start(model, frame, inputs, output, classes or None, limits, layer)

    def finish(given: ModelOutput) -> Scores:
        if classes:
            logits, how = to_class_logits(given)
            digest = _digest(model, inputs, output, classes, logits)
            return make_scores(logits, " ".join([how, *notes]), digest=digest)
        found = to_logit(given.own, given.stripped, given.activation, positive_unit)
        return make_scores(
            found.logit,
            " ".join([found.how, *notes]),
            digest=_digest(model, inputs, output, positive_unit, found.logit),
            clipped=found.clipped,
            largest_difference=found.largest_difference,
        )

    units = (classes,) if classes else (1, 2)
    return ScoringJob(child, len(frame), units, finish, layer)


def _digest(
    model: ModelFile, inputs: InputColumns, output: str | None, unit: int, logits: Floats
) -> str:
    key = json.dumps([model.digest, inputs.columns, output, unit])
    return hashlib.sha256(key.encode() + logits.tobytes()).hexdigest()


def _start(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    output: str | None,
    classes: int | None,
    limits: Limits | None,
    layer: str | None = None,
) -> tuple[Child, list[str]]:
    """Start the child; also return what was done to the inputs, in sentences."""
    check_inputs(model, frame, inputs)
    _check_output(model, output)
    units = (classes or 2) * 2 + (0 if layer is None else allowed_width(model, layer, len(frame)))
    directory = new_directory()
    try:
        copy = _copy_model(model, directory)
        written, notes = _write_inputs(model, frame, inputs, directory)
        request = {
            "name": model.name,
            "model": copy.name,
            "rows": len(frame),
            "output": output,
            "classes": classes,
            "layer": layer,
            "inputs": [asdict(each) for each in written],
        }
        room = limits or _limits(model, directory, len(frame), units)
        return Child("score", request, directory, room), notes
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def score_model(
    model: ModelFile,
    frame: pd.DataFrame,
    inputs: InputColumns,
    *,
    output: str | None = None,
    positive_unit: int = 1,
    limits: Limits | None = None,
) -> Scores:
    """Score every row of a frame and wait for it; parameters as in `start_scoring`."""
    return start_scoring(
        model, frame, inputs, output=output, positive_unit=positive_unit, limits=limits
    ).result()


def _check_output(model: ModelFile, output: str | None) -> None:
    if (output is None and len(model.outputs) == 1) or output in model.outputs:
        return
    listed = ", ".join(f"'{name}'" for name in model.outputs)
    said = "" if output is None else f"; none is called '{output}'"
    raise ModelError(
        f"The model '{model.name}' has {counted(len(model.outputs), 'output')}: {listed}{said}.",
        "One of them must be the score.",
        "Choose the output to use.",
    )


def _copy_model(model: ModelFile, directory: Path) -> Path:
    """Copy the file under a name of our own, and make sure that it is the one looked at."""
    copy = directory / f"model.{model.format}"
    shutil.copyfile(model.path, copy)
    if file_digest(copy) != model.digest:
        raise ModelError(
            f"The model file '{model.name}' has changed since it was opened.",
            "The file must stay as it was when it was checked.",
            "Open the model again.",
        )
    return copy


def _write_inputs(
    model: ModelFile, frame: pd.DataFrame, inputs: InputColumns, directory: Path
) -> tuple[list[WrittenInput], list[str]]:
    written, notes = [], []
    for number, spec in enumerate(model.inputs):
        columns = list(inputs.of(spec.name))
        one, said = write_input(number, spec, frame[columns], directory)
        written.append(one)
        notes += said
    return written, notes


def _limits(model: ModelFile, directory: Path, rows: int, units: int) -> Limits:
    data = sum(file.stat().st_size for file in directory.glob("*_*"))
    usual = Limits()
    weights = model.path.stat().st_size
    return Limits(
        memory=usual.memory + 3 * weights + 4 * data + 4 * units * rows,
        file_bytes=max(usual.file_bytes, 4 * units * rows),
    )
