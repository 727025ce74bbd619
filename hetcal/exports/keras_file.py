"""The network with its calibration as one `.keras` file, which any Keras 3 opens."""

import io
import json
import shutil
import subprocess
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.artifacts.archive import EPOCH
from hetcal.artifacts.artifact import Artifact
from hetcal.errors import ExportError
from hetcal.exports.fused import FUSED, REQUEST, request_of
from hetcal.exports.proof import Parity, compare, expected_rows
from hetcal.exports.recipe import Document, columns_read
from hetcal.models.child import read_bytes, read_messages, reported_error, require_keras
from hetcal.models.file import inspect_model
from hetcal.models.inputs import InputColumns
from hetcal.models.process import begun, command_line, environment, kill, new_directory
from hetcal.models.sandbox import Limits
from hetcal.models.scoring import ModelScoring, score_model

NAME = "calibrated.keras"
ABOUT = "assets/hetcal.json"  # in the zip that the file is
MOST_BYTES = 512 * 2**20  # of a file that hetcal takes itself
Columns = dict[str, tuple[str, ...]]  # of each input
CANNOT = (
    "It does not prepare columns for the network: scale them as in training.",
    "Missing numbers are NaN, and a missing category is empty text.",
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

    A column that the network reads as it is shares the network's own input.
    """
    scoring, shared, taken = artifact.scoring, {}, {document["score"]["column"]}
    kinds = {each["name"]: each["kind"] for each in document["columns"]}
    if isinstance(scoring, ModelScoring):
        taken = {spec.name for spec in scoring.model.inputs}
        prepared = {each.column for each in scoring.inputs.steps.steps}
        for spec in scoring.model.inputs:
            columns = scoring.inputs.of(spec.name)
            alike = {"number": "float32", "category": "string"}.get(kinds.get(columns[0], ""))
            if spec.width == 1 and alike == spec.dtype and columns[0] not in prepared:
                shared[columns[0]] = spec.name
    names = {}
    for column in columns_read(document):
        names[column] = shared.get(column, column)
        while names[column] in taken and column not in shared:
            names[column] += "_column"
    return names


def names(artifact: Artifact, document: Document) -> list[str]:
    """Return the names of all inputs of the file."""
    scoring, score = artifact.scoring, document["score"]["column"]
    model = scoring.model if isinstance(scoring, ModelScoring) else None
    own = [score] if model is None else [spec.name for spec in model.inputs]
    return list(dict.fromkeys([*own, *input_names(artifact, document).values()]))


def keras_file(artifact: Artifact, document: Document, about: Document) -> bytes:
    """Join network and calibration in a process of its own, and add what the file is of."""
    require_keras()
    directory = new_directory()
    try:
        network = _network(artifact, directory)
        limits = Limits(file_bytes=MOST_BYTES)
        names = input_names(artifact, document)
        (directory / REQUEST).write_bytes(request_of(document, network, names, limits))
        _run(directory, limits.seconds)
        content = io.BytesIO(read_bytes(directory / FUSED, MOST_BYTES))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(zipfile.ZipInfo(ABOUT, EPOCH), json.dumps(about, indent=1))
    return content.getvalue()


def _network(artifact: Artifact, directory: Path) -> Document | None:
    scoring = artifact.scoring
    if not isinstance(scoring, ModelScoring):
        return None
    file = f"model.{scoring.model.format}"
    shutil.copyfile(scoring.model.path, directory / file)
    return {
        "model": file,
        "inputs": {spec.layer: spec.name for spec in scoring.model.inputs},
        "output": scoring.output,
        "unit": scoring.positive_unit,
    }


def _run(directory: Path, seconds: int) -> None:
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
                popen.wait(seconds)
        finally:
            kill(popen)
    error = reported_error(read_messages(directory / "messages"))
    if error is not None:
        raise ExportError(error.wrong, error.needed, error.remedy)
    if not (directory / FUSED).is_file():
        raise ExportError(
            "The process that joins network and calibration ended without a result.",
            f"It has {seconds} s and limited memory.",
            "Choose the format 'python' or 'sql', which take the score as a column.",
        )


def check(content: bytes, artifact: Artifact, document: Document, rows: pd.DataFrame) -> Parity:
    """Scan the file, and compare what it gives with the artifact, in processes of their own.

    The network's own inputs are drawn at random. A row in another leaf would have another
    probability: the file gives no leaves.
    """
    scoring, names = artifact.scoring, input_names(artifact, document)
    columns: Columns = {name: (column,) for column, name in names.items()}
    rows = _as_keras_reads(rows, document)
    if isinstance(scoring, ModelScoring):
        drawn, inputs = _network_rows(scoring, len(rows), columns)
        table = pd.concat([rows, drawn], axis=1)
        of_network = {spec.name: inputs[spec.name] for spec in scoring.model.inputs}
        plain = InputColumns(tuple(of_network.items()))
        output, unit = scoring.output, scoring.positive_unit
        scores = score_model(scoring.model, table, plain, output=output, positive_unit=unit)
        table = table.assign(**{document["score"]["column"]: scores.logit})
    else:
        table, score = rows, document["score"]["column"]
        inputs = {score: (score,)}
    expected = expected_rows(artifact, document, table)
    with tempfile.TemporaryDirectory(prefix="hetcal-") as folder:
        path = Path(folder, NAME)
        path.write_bytes(content)
        taken = InputColumns(tuple((inputs | columns).items()))
        found = score_model(inspect_model(path), table, taken)
    return compare(expected, (expected["leaf"].tolist(), expit(found.logit)), "Keras")


def _as_keras_reads(rows: pd.DataFrame, document: Document) -> pd.DataFrame:
    """Return numbers in single precision, infinite beyond it, and empty text as missing."""
    read = {}
    for each in document["columns"]:
        column = rows[each["name"]]
        if each["kind"] == "category":
            read[each["name"]] = column.mask(column == "")
        else:
            with np.errstate(over="ignore"):
                read[each["name"]] = column.astype(np.float32).astype(np.float64)
    return rows.assign(**read)


def _network_rows(
    scoring: ModelScoring, rows: int, shared: Columns
) -> tuple[pd.DataFrame, Columns]:
    """Draw what the network reads itself; also name the columns of each of its inputs."""
    rng, drawn, inputs = np.random.default_rng(1), {}, Columns()
    for number, spec in enumerate(scoring.model.inputs):
        if spec.name in shared:
            inputs[spec.name] = shared[spec.name]
            continue
        if spec.shape is not None:
            raise ExportError(
                f"The input '{spec.name}' of the network takes arrays.",
                "What the file gives is compared with the artifact on rows of numbers and text.",
                "Choose the format 'python' or 'sql', which take the score as a column.",
            )
        width = spec.width or len(scoring.inputs.prepared.of(spec.name))
        inputs[spec.name] = tuple(f"hetcal_{number}_{unit}" for unit in range(width))
        for name in inputs[spec.name]:
            if spec.dtype == "string":
                drawn[name] = rng.choice(np.array(["", "a", "b"], dtype=object), rows)
            elif "float" in spec.dtype:
                drawn[name] = rng.normal(size=rows)
            else:
                drawn[name] = rng.integers(0, spec.ids or 2, rows)
    return pd.DataFrame(drawn, index=range(rows)), inputs
