"""The network with its calibration as one `.keras` file, which any Keras 3 opens."""

import io
import json
import shutil
import subprocess
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.artifacts.archive import EPOCH
from hetcal.artifacts.artifact import Artifact
from hetcal.errors import ExportError
from hetcal.exports.about import inputs_of
from hetcal.exports.fused import FUSED, REQUEST, fusion, layer_names, request_of
from hetcal.exports.prepared import columns_to_prepare, prepared_inputs
from hetcal.exports.proof import MOST_DIFFERENCE, Parity, compare, expected_rows
from hetcal.exports.recipe import Document, columns_read
from hetcal.models.child import read_bytes, read_messages, reported_error, require_keras
from hetcal.models.config import ModelInput
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.process import begun, command_line, environment, kill, new_directory
from hetcal.models.sandbox import Limits
from hetcal.models.scoring import ModelScoring, score_model
from hetcal.models.steps import OF_CATEGORIES

NAME = "calibrated.keras"
ABOUT = "assets/hetcal.json"  # in the zip that the file is
MOST_BYTES = 512 * 2**20  # of a file that hetcal takes itself
Columns = dict[str, tuple[str, ...]]  # of each input
CANNOT = (
    "Missing numbers are NaN, and a missing category is empty text.",
    "TensorFlow takes numbers closer to 0 than 1.2e-38 for 0.",
)


def use(names: list[str]) -> list[str]:
    """Return how the file is used, in three lines."""
    return [
        f'model = keras.saving.load_model("{NAME}", safe_mode=True)',
        f"rows = {{…}}  # an array for each of {', '.join(map(repr, names))}; text as tf.constant",
        "probability = model.predict(rows)[:, 0]",
    ]


def input_names(artifact: Artifact, document: Document) -> dict[str, str]:
    """Return the input of every column that the steps read.

    A column that the network reads shares the network's own input.
    """
    scoring, taken = artifact.scoring, {document["score"]["column"]}
    shared: dict[str, str] = {}
    if isinstance(scoring, ModelScoring):
        kinds = {each["name"]: each["kind"] for each in document["columns"]}
        taken, shared = set(_own_inputs(scoring)), _shared(scoring, kinds)
    names = {}
    for column in columns_read(document):
        names[column] = shared.get(column, column)
        while names[column] in taken and column not in shared:
            names[column] += "_column"
    return names


def _shared(scoring: ModelScoring, kinds: dict[str, str]) -> dict[str, str]:
    """Return the network's input of each column that it reads as the tree does."""
    shared, several = {}, prepared_inputs(scoring)
    for spec in scoring.model.inputs:
        columns = scoring.inputs.of(spec.name)
        alike = {"number": "float32", "category": "string"}
        for column in columns if len(columns) == spec.width == 1 else ():
            if alike.get(kinds.get(column, "")) == spec.dtype and spec.name not in several:
                shared[column] = spec.name
    for each in _prepared(scoring):
        if kinds.get(each["name"]) == ("category" if each["text"] else "number"):
            shared[each["name"]] = each["name"]
    return shared


def names(artifact: Artifact, document: Document) -> list[str]:
    """Return the names of all inputs of the file."""
    scoring, score = artifact.scoring, document["score"]["column"]
    own = _own_inputs(scoring) if isinstance(scoring, ModelScoring) else [score]
    return list(dict.fromkeys([*own, *input_names(artifact, document).values()]))


def _own_inputs(scoring: ModelScoring) -> list[str]:
    """Name the inputs for what the network reads: its own, or the columns that are prepared."""
    several = prepared_inputs(scoring)
    return [name for spec in scoring.model.inputs for name in several.get(spec.name, (spec.name,))]


def _prepared(scoring: ModelScoring) -> list[Document]:
    return [
        each
        for columns in prepared_inputs(scoring).values()
        for each in columns_to_prepare(scoring.inputs, columns)
    ]


def keras_file(artifact: Artifact, document: Document, about: Document) -> bytes:
    """Join network and calibration in a process of its own, and add what the file is of."""
    content = io.BytesIO(joined(artifact, document, "fuse", FUSED))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(zipfile.ZipInfo(ABOUT, EPOCH), json.dumps(about, indent=1))
    return content.getvalue()


def joined(artifact: Artifact, document: Document, command: str, result: str, **more: Any) -> bytes:
    """Let a process of its own join network and calibration; return the file that it writes."""
    require_keras()
    directory = new_directory()
    try:
        layers = layer_names(names(artifact, document))
        parts = _network(artifact, directory), input_names(artifact, document), layers
        run_child(directory, command, result, **(fusion(document, *parts) | more))
        return read_bytes(directory / result, MOST_BYTES)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _network(artifact: Artifact, directory: Path) -> Document | None:
    scoring = artifact.scoring
    if not isinstance(scoring, ModelScoring):
        return None
    file = f"model.{scoring.model.format}"
    shutil.copyfile(scoring.model.path, directory / file)
    return {
        "model": file,
        "inputs": {spec.layer: spec.name for spec in scoring.model.inputs},
        "prepared": {
            name: columns_to_prepare(scoring.inputs, columns)
            for name, columns in prepared_inputs(scoring).items()
        },
        "output": scoring.output,
        "unit": scoring.positive_unit,
    }


def run_child(directory: Path, command: str, result: str, **more: Any) -> None:
    """Let a process that is shut in carry out a command of `fused`; it leaves a result."""
    limits = Limits(file_bytes=MOST_BYTES)
    (directory / REQUEST).write_bytes(request_of(command, limits, **more))
    with (directory / "messages").open("wb") as out, (directory / "log").open("wb") as log:
        popen = begun(
            lambda: subprocess.Popen(
                command_line("hetcal.exports.fused", directory),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                cwd=directory,
                env=environment(directory),
                start_new_session=True,
            )
        )
        try:
            with suppress(subprocess.TimeoutExpired):  # there is no result then
                popen.wait(limits.seconds)
        finally:
            kill(popen)
    error = reported_error(read_messages(directory / "messages"))
    if error is not None:
        raise ExportError(error.wrong, error.needed, error.remedy)
    if not (directory / result).exists():
        raise ExportError(
            "The process that works with the network ended without a result.",
            f"It has {limits.seconds} s and limited memory.",
            "Choose the format 'python' or 'sql', which take the score as a column.",
        )


@dataclass(frozen=True)
class Trial:
    """Rows for the inputs of the file, and what the artifact makes of them.

    The network's own inputs are drawn at random. A row in another leaf would have another
    probability: the file gives no leaves.
    """

    table: pd.DataFrame
    inputs: Columns  # columns of the table for each input of the file
    expected: pd.DataFrame

    def compared(self, after: Floats, by: str, most: float = MOST_DIFFERENCE) -> Parity:
        """Compare the probabilities that were found."""
        return compare(self.expected, (self.expected["leaf"].tolist(), after.tolist()), by, most)


def trial(
    artifact: Artifact, document: Document, rows: pd.DataFrame, *, single: bool = False
) -> Trial:
    """Give difficult rows to the network and to the artifact; scores in single precision or not."""
    scoring, names = artifact.scoring, input_names(artifact, document)
    if single:
        score = document["score"]["column"]
        with np.errstate(over="ignore"):
            rows = rows.assign(**{score: rows[score].astype(np.float32).astype(np.float64)})
    columns: Columns = {name: (column,) for column, name in names.items()}
    rows = _as_keras_reads(rows, document)
    if isinstance(scoring, ModelScoring):
        drawn, inputs = _network_rows(scoring, len(rows), columns)
        table = pd.concat([rows, drawn], axis=1)
        taken = {spec.name: inputs.pop(spec.name) for spec in scoring.model.inputs}
        plain = InputColumns(tuple(taken.items()), scoring.inputs.steps)
        several = prepared_inputs(scoring)
        inputs |= {name: each for name, each in taken.items() if name not in several}
        output, unit = scoring.output, scoring.positive_unit
        scores = score_model(scoring.model, table, plain, output=output, positive_unit=unit)
        table = table.assign(**{document["score"]["column"]: scores.logit})
    else:
        table, score = rows, document["score"]["column"]
        inputs = {score: (score,)}
    return Trial(table, inputs | columns, expected_rows(artifact, document, table))


def inputs_of_file(artifact: Artifact, document: Document, given: Trial) -> list[Document]:
    """Return name, kind and known categories of each input, and what columns the network's have."""
    score, *columns = inputs_of(document)
    scoring, names = artifact.scoring, input_names(artifact, document)
    described = {names[each["name"]]: each for each in columns if each["name"] in names}
    fed: Columns = {}
    if isinstance(scoring, ModelScoring):
        fed = {each.name: scoring.inputs.prepared.of(each.name) for each in scoring.model.inputs}
    else:
        described[score["name"]] = score
    texts, inputs = given.table.select_dtypes(exclude="number"), []
    for name, own in given.inputs.items():
        kind = "category" if own[0] in texts else "number"
        others = {} if fed.get(name, (name,)) == (name,) else {"columns": list(fed[name])}
        inputs.append({"kind": kind, **described.get(name, {}), "name": name, **others})
    return inputs


def rows_of_inputs(given: Trial) -> pd.DataFrame:
    """Return what each input of the file is given, row by row: a list if it has several units."""
    return pd.DataFrame(
        {
            name: given.table[columns[0]]
            if len(columns) == 1
            else pd.Series(given.table[list(columns)].to_numpy().tolist(), dtype=object)
            for name, columns in given.inputs.items()
        }
    )


def check(content: bytes, given: Trial) -> Parity:
    """Scan the file, and compare what it gives with the artifact, in processes of their own."""
    with tempfile.TemporaryDirectory(prefix="hetcal-") as folder:
        path = Path(folder, NAME)
        path.write_bytes(content)
        taken = InputColumns(tuple(given.inputs.items()))
        found = score_model(inspect_model(path), given.table, taken)
    return given.compared(expit(found.logit), "Keras")


def _as_keras_reads(rows: pd.DataFrame, document: Document) -> pd.DataFrame:
    """Return numbers in single precision, infinite beyond it, and empty text as missing.

    TensorFlow takes numbers that single precision holds with fewer digits only for 0.
    """
    read = {}
    for each in document["columns"]:
        column = rows[each["name"]]
        if each["kind"] == "category":
            read[each["name"]] = column.mask(column == "")
        else:
            with np.errstate(over="ignore"):
                numbers = column.astype(np.float32).astype(np.float64)
            read[each["name"]] = numbers.mask(numbers.abs() < np.finfo(np.float32).tiny, 0.0)
    return rows.assign(**read)


def _network_rows(
    scoring: ModelScoring, rows: int, shared: Columns
) -> tuple[pd.DataFrame, Columns]:
    """Draw what the network reads itself; also name the columns of each of its inputs."""
    rng, drawn, inputs = np.random.default_rng(1), {}, Columns()
    for each in _prepared(scoring):
        inputs[each["name"]] = (each["name"],)
        drawn[each["name"]] = _prepared_rows(each, rows, rng)
    several = prepared_inputs(scoring)
    for number, spec in enumerate(scoring.model.inputs):
        if spec.name in shared or spec.name in several:
            inputs[spec.name] = several.get(spec.name) or shared[spec.name]
            continue
        if spec.shape is not None:
            raise ExportError(
                f"The input '{spec.name}' of the network takes arrays.",
                "What the file gives is compared with the artifact on rows of numbers and text.",
                "Choose the format 'python' or 'sql', which take the score as a column.",
            )
        width = spec.width or len(scoring.inputs.prepared.of(spec.name))
        inputs[spec.name] = tuple(f"hetcal_{number}_{unit}" for unit in range(width))
        drawn |= {name: _drawn(spec, rows, rng) for name in inputs[spec.name]}
    ours = [name for name in drawn if name not in shared]
    return pd.DataFrame(drawn, index=range(rows))[ours], inputs


def _drawn(spec: ModelInput, rows: int, rng: np.random.Generator) -> Any:
    if spec.dtype == "string":
        return rng.choice(np.array(["", "a", "b"], dtype=object), rows)
    if "float" in spec.dtype:
        return rng.normal(size=rows)
    return rng.integers(0, spec.ids or 2, rows)


def _prepared_rows(column: Document, rows: int, rng: np.random.Generator) -> Any:
    """Draw what a column holds before it is prepared, as single precision has it."""
    if column["way"] in OF_CATEGORIES:
        others = ["", "other"] if column["text"] else [-1.0]
        codes = column["codes"] if column["text"] else list(map(float, column["codes"]))
        return rng.choice(
            np.array([*codes, *others], dtype=object if column["text"] else float), rows
        )
    drawn = rng.normal(column.get("shift", 0.0), column.get("scale", 1.0), rows)
    return drawn.astype(np.float32).astype(np.float64)
