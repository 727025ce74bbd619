"""The fused model for runtimes that know no Keras: ONNX and LiteRT."""

import json
import shutil
from importlib.util import find_spec

import numpy as np

from hetcal.artifacts.artifact import Artifact
from hetcal.errors import ExportError
from hetcal.exports.converted import LITE, ONNX, OPSET
from hetcal.exports.fused import FOUND, GIVEN, layer_names
from hetcal.exports.keras_file import Trial, joined, names, run_child
from hetcal.exports.proof import Parity, missing
from hetcal.exports.recipe import Document
from hetcal.exports.saved_model import cells_of
from hetcal.models.child import read_outputs
from hetcal.models.process import new_directory

ONNX_NAME, LITE_NAME = "calibrated.onnx", "calibrated.tflite"
MOST_DIFFERENCE = 1e-5  # between probabilities: these calculate the network in their own order
ONNX_USE = (
    f'session = onnxruntime.InferenceSession("{ONNX_NAME}")  # opset {OPSET}',
    "rows = {…}  # rows x 1 for each of session.get_inputs(): float32, or text as object",
    "probability = session.run(None, rows)[0][:, 0]",
)
LITE_USE = (
    f'run = Interpreter("{LITE_NAME}").get_signature_runner()  # of ai_edge_litert.interpreter',
    "rows = {…}  # rows x 1 for each of run.get_input_details(); text as its number",
    f"# unzip -p {LITE_NAME} hetcal.json has the numbers of texts: codes, and other",
)
ONNX_CANNOT = (
    "It does not prepare columns for the network: scale them as in training.",
    "Missing numbers are NaN, and a missing category is empty text.",
    f"Probabilities are as near as {MOST_DIFFERENCE:g}: the runtime adds up in its own order.",
)
LITE_CANNOT = (
    "It takes no text: a category is the number that hetcal.json has for it.",
    "Missing numbers are NaN, and a missing category is 0.",
    f"Probabilities are as near as {MOST_DIFFERENCE:g}: it calculates in single precision.",
)
PARAMETRIC = ("affine", "tamed", "beta")
SINGLE = "float32"


def onnx_file(artifact: Artifact, document: Document, about: Document) -> bytes:
    """Write the fused model in ONNX; inputs have the names of the columns."""
    for library in ("onnx", "onnxruntime", "tf2onnx"):
        _require(library, "onnx")
    about["opset"] = OPSET
    return joined(artifact, document, "onnx", ONNX, about=about)


def lite_file(artifact: Artifact, document: Document, about: Document) -> bytes:
    """Write the fused model for LiteRT, with logits in single precision."""
    _require("ai_edge_litert", "litert")
    about["signature"] = layer_names(names(artifact, document))
    return joined(artifact, document, "tflite", LITE, about=about, precision=SINGLE)


def require_parametric(document: Document) -> None:
    """Refuse maps that jump: in single precision a score may be on the other side."""
    kinds = {each["kind"] for step in document["steps"] for each in step.get("maps", ())}
    if kinds - {*PARAMETRIC}:
        raise ExportError(
            "The maps of the leaves have steps or bins.",
            "LiteRT calculates in single precision: it holds parametric maps, and curves.",
            "Choose the calibrator 'platt' or 'beta', or the format 'onnx'.",
        )


def _require(library: str, extra: str) -> None:
    if find_spec(library) is None:
        raise missing(library, extra, f"The format is written and checked with {library}")


def check_onnx(content: bytes, given: Trial) -> Parity:
    """Compare what ONNX Runtime gives with the artifact, in a process of its own."""
    plain = {name: name for name in given.inputs}
    return _check(content, given, "onnx", plain, f"ONNX Runtime (opset {OPSET})")


def check_lite(content: bytes, given: Trial) -> Parity:
    """Compare what LiteRT gives with the artifact, in a process of its own."""
    return _check(content, given, "tflite", layer_names(list(given.inputs)), "LiteRT")


def _check(content: bytes, given: Trial, format: str, inputs: dict[str, str], by: str) -> Parity:
    directory = new_directory()
    try:
        (directory / {"onnx": ONNX, "tflite": LITE}[format]).write_bytes(content)
        rows = {inputs[name]: cells_of(given, columns) for name, columns in given.inputs.items()}
        (directory / GIVEN).write_text(json.dumps(rows), encoding="utf-8")
        run_child(directory, f"run {format}", FOUND)
        found = read_outputs(directory / FOUND, len(given.table), (1,))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return given.compared(found[:, 0].astype(np.float64), by, MOST_DIFFERENCE)
