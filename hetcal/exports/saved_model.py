"""The fused model as a SavedModel, for TensorFlow Serving."""

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from hetcal.artifacts.archive import zipped
from hetcal.exports.fused import FOUND, FUSED, GIVEN, SAVED, VERSION, layer_names
from hetcal.exports.keras_file import MOST_BYTES, Trial, run_child
from hetcal.exports.proof import Parity
from hetcal.exports.recipe import Document
from hetcal.models.child import read_bytes, read_outputs, unusable
from hetcal.models.process import new_directory

NAME = "calibrated_savedmodel.zip"
USE = (
    "unzip calibrated_savedmodel.zip -d calibrated",
    'tensorflow_model_server --model_name=calibrated --model_base_path="$PWD/calibrated" '
    "--rest_api_port=8501",
    "# POST /v1/models/calibrated:predict; saved_model_cli show --dir calibrated/1 --all",
)
WARM = 10  # rows in the requests to warm a server up


def saved_model(fused: bytes, about: Document, given: Trial) -> bytes:
    """Let a process of its own write the model of a `.keras` file, and pack what it wrote."""
    directory = new_directory()
    try:
        (directory / FUSED).write_bytes(fused)
        (directory / GIVEN).write_text(_rows_json(given, WARM), encoding="utf-8")
        run_child(directory, "export", SAVED)
        top = directory / SAVED
        if not top.resolve().is_relative_to(directory.resolve()):
            raise unusable("its folder is a link")
        files = sorted(each for each in top.rglob("*") if not each.is_dir())
        entries = {each.relative_to(top).as_posix(): read_bytes(each, MOST_BYTES) for each in files}
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return zipped({**entries, f"{VERSION}/assets.extra/hetcal.json": json.dumps(about).encode()})


def check(content: bytes, given: Trial) -> Parity:
    """Compare what the signature gives with the artifact, in a process of its own."""
    directory = new_directory()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(directory / SAVED)
        (directory / GIVEN).write_text(_rows_json(given), encoding="utf-8")
        run_child(directory, "serve", FOUND)
        found = read_outputs(Path(directory, FOUND), len(given.table), (1,))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return given.compared(found[:, 0].astype(np.float64), "the signature of the SavedModel")


def _rows_json(given: Trial, many: int | None = None) -> str:
    layers = layer_names(list(given.inputs))
    rows = {layers[name]: cells_of(given, each)[:many] for name, each in given.inputs.items()}
    return json.dumps(rows)


def cells_of(given: Trial, columns: tuple[str, ...]) -> list[list[Any]]:
    """Return the values of an input, rows x columns; missing text is empty."""
    table = given.table[list(columns)]
    texts = table.select_dtypes(exclude="number")
    return table.assign(**texts.astype(object).where(texts.notna(), "")).to_numpy().tolist()
