"""The child process: it alone imports Keras, and it knows only its own directory.

Requests and results are JSON and `.npy` files, read without pickle. Messages are JSON
lines: progress, or one error in three sentences. Before it opens anything from outside,
the child shuts itself in through the kernel, which also binds TensorFlow's own code.
"""

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Ints, Singles
from hetcal.errors import HetcalError, ModelError
from hetcal.models.child import BATCH, SMALLER, Report
from hetcal.models.config import HARD_SIGMOID, check_width
from hetcal.models.keras_internals import (
    as_keras_3,
    described_weights,
    import_keras,
    origin,
    untrained,
    written_by,
)
from hetcal.models.sandbox import Limits, confine

_ACTIVATIONS = {"Sigmoid": "sigmoid", "Softmax": "softmax", "LogSoftmax": "log_softmax"}
# Layers and operations that bend their input: what they give is no logit.
_ACTIVATIONS |= {kind: kind for kind in ("ReLU", "LeakyReLU", "PReLU", "ELU", "Relu", "Relu6")}
_ACTIVATIONS |= {kind: kind for kind in ("LeakyRelu", "Elu", "Selu", "Gelu", "Silu", "Tanh")}
_ACTIVATIONS |= {kind: kind for kind in ("Softplus", "HardTanh", "Exp", "LogSigmoid")}
Batch = dict[str, NDArray[Any]]
Compute = Callable[[dict[str, Any]], dict[str, Any]]
Inputs = list[tuple[str, Any, list[Any] | None]]  # layer name, array, and texts for codes

# These change no value when a trained model predicts.
_TRANSPARENT = {"Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "Identity", "Cast"}
_TRANSPARENT |= {"ActivityRegularization", "Flatten", "Reshape", "Squeeze"}


def readable(path: Path) -> tuple[Path, str]:
    """Return a file that Keras 3 reads, and the version that wrote it where that was Keras 2."""
    version = written_by(path)
    return (as_keras_3(path), version) if version.startswith("2.") else (untrained(path), "")


def load(path: Path, version: str = "") -> Any:
    """Load a `readable` model file without compiling it and without running code from it."""
    import keras

    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if not version:
            raise
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        other = "keras" if path.suffix == ".h5" else "h5"
        raise ModelError(
            f"The model was written by Keras {version}, and Keras {keras.__version__} cannot read "
            "it.",
            "A file that Keras 3 can read is needed.",
            f"Open it in Keras {version} and save it again with model.save('model.{other}'), or "
            "write its predictions into a column of the table.",
        ) from error


def computation(model: Any, output: str | None, layer: str | None) -> tuple[Compute, str | None]:
    """Make a function that returns "own", "stripped" and "layer"; also name the last activation.

    "stripped" is the output without a final sigmoid or softmax, "layer" the output of an
    internal layer; both are left out where there is none.
    """
    import keras
    import tensorflow as tf

    last, watched = last_operation(model, output), None if layer is None else _find(model, layer)
    activation = activation_of(last)
    part = "activation" if hasattr(last, "activation") else "call"

    def predict(arrays: dict[str, Any]) -> Any:
        result = model(_arrange(model, arrays), training=False)
        return keras.ops.cast(_choose(result, output, model), "float32")

    def compute(arrays: dict[str, Any]) -> dict[str, Any]:
        found = {}
        if watched is None:
            found["own"] = predict(arrays)
        else:
            seen: list[Any] = []
            with _replaced(watched, "call", _recording(watched.call, seen)):
                found["own"] = predict(arrays)
            found["layer"] = keras.ops.cast(keras.tree.flatten(seen[0])[0], "float32")
        if activation in {"sigmoid", "softmax"}:
            with _replaced(last, part, _unchanged):
                found["stripped"] = predict(arrays)
        return found

    # Keras' layers need no translated Python, and looking for it takes most of the time.
    traced = tf.function(compute, autograph=False)

    def call(arrays: dict[str, Any]) -> dict[str, Any]:
        return traced({key: tf.convert_to_tensor(value) for key, value in arrays.items()})

    return call, activation


@contextmanager
def _replaced(operation: Any, name: str, value: Any) -> Iterator[None]:
    """Give a layer another function while TensorFlow records what the model does."""
    kept = getattr(operation, name)
    setattr(operation, name, value)
    try:
        yield
    finally:
        setattr(operation, name, kept)


def _recording(function: Callable[..., Any], seen: list[Any]) -> Callable[..., Any]:
    def call(*inputs: Any, **settings: Any) -> Any:
        seen.append(function(*inputs, **settings))
        return seen[-1]

    return call


def _unchanged(values: Any, **_: Any) -> Any:
    return values


def _find(model: Any, layer: str) -> Any:
    """Find a layer, or an operation between layers, by its path such as `encoder/hidden`."""
    import keras

    for name in layer.split("/"):
        parts = model.layers if isinstance(model, keras.Sequential) else model.operations
        model = next(each for each in parts if each.name == name)
    return model


def last_operation(model: Any, output: str | None = None) -> Any:
    """Find the layer that makes the last change to the values of the output."""
    import keras

    if isinstance(model, keras.Sequential):
        for layer in reversed(model.layers):
            if type(layer).__name__ not in _TRANSPARENT:
                return last_operation(layer) if isinstance(layer, keras.Model) else layer
    return _last_change(_choose(model.output, output, model))


def _last_change(tensor: Any) -> Any:
    import keras

    operation, place, before = origin(tensor)
    while type(operation).__name__ in _TRANSPARENT:
        operation, place, before = origin(before)
    if isinstance(operation, keras.Sequential):
        return last_operation(operation)
    if isinstance(operation, keras.Model):
        return _last_change(keras.tree.flatten(operation.output)[place])
    return operation


def activation_of(operation: Any) -> str | None:
    """Name the activation of a layer; None for one that has none.

    A layer that is one, or that another layer has as its activation, is told by its class.
    """
    activation = operation
    while hasattr(activation, "activation"):
        activation = activation.activation
    kind = type(activation).__name__
    if activation is operation and kind not in _ACTIVATIONS:
        return None
    if kind == "Sequential" and activation.name == HARD_SIGMOID:
        return HARD_SIGMOID
    return getattr(activation, "__name__", _ACTIVATIONS.get(kind, kind))


def _arrange(model: Any, arrays: dict[str, Any]) -> Any:
    """Give the arrays the structure and types that the model's inputs have."""
    import keras

    if isinstance(model, keras.Sequential):
        (values,) = arrays.values()
        return _fit(values, model.inputs[0]) if model.inputs else values
    return keras.tree.map_structure(lambda tensor: _fit(arrays[tensor.name], tensor), model.input)


def _fit(values: Any, tensor: Any) -> Any:
    import keras

    if len(tensor.shape) == 1:
        values = values[:, 0]
    return values if tensor.dtype == "string" else keras.ops.cast(values, tensor.dtype)


def _choose(outputs: Any, output: str | None, model: Any) -> Any:
    """Pick the chosen one of several outputs."""
    if isinstance(outputs, (list, tuple)):
        outputs = dict(zip(model.output_names, outputs, strict=True))
    elif not isinstance(outputs, dict):
        return outputs
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    if output not in outputs:
        listed = ", ".join(f"'{name}'" for name in outputs)
        raise ModelError(
            f"The model has {len(outputs)} outputs: {listed}.",
            "One of them must be the score.",
            "Choose the output to use.",
        )
    return outputs[output]


_SAMPLE = 64  # rows that are scored again, and as many beside them
# By how much of the largest output the same row may differ: a batch of another size adds numbers
# in another order, which shows where large numbers cancel.
_SAME_SIZE, _OTHER_SIZE = 1e-5, 1e-2
_TRACE = ("File ", "Detected at", "Stack trace", "[[{{", "<stack", "The above")


def main() -> None:
    """Load Keras, wait for the request in the current directory and carry it out."""
    report, turn = _claim_stdout(), _listen()
    with suppress(Exception):  # raised again where there is a request to fail
        import_keras()
        report({"ready": True})
    turn.acquire()
    request = json.loads(Path("request.json").read_text(encoding="utf-8"))
    confine(Limits(**request["limits"]))
    try:
        use_one_thread()
        if request["command"] == "score":
            score(request, report)
        elif request["command"] == "serve":
            serve(request, report, turn)
        elif request["command"] == "decode":
            from hetcal.models.images import decode

            decode(request, report)
        else:
            from hetcal.models.network_worker import train_network

            train_network(request, report, Path("cancel").exists)
    except HetcalError as error:
        _fail(report, error)
    except (MemoryError, SystemError):
        # Compiled code that gets no memory may end without saying so, as a SystemError.
        _fail(report, _out_of_memory())
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        _fail(report, explain(error, str(request.get("name", "network"))))
    os._exit(0)  # everything is written, and TensorFlow takes its time to leave


def _listen() -> threading.Semaphore:
    """Wait beside the work for requests, then for the end of the app, which is the child's too.

    The app holds the other end of stdin, and writes a byte for each request: reading ends when the
    app or its session does. One that was killed could not empty the directory.
    """
    turn = threading.Semaphore(0)

    def listen() -> None:
        while os.read(0, 1):
            turn.release()
        for each in Path().iterdir():
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    return turn


def use_one_thread() -> None:
    """Let TensorFlow add numbers in one fixed order, whatever the machine."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def score(request: dict[str, Any], report: Report) -> None:
    """Write the model's own output and its output before the last activation.

    Files: `own.npy` and, where the last activation can be removed, `stripped.npy`, both of
    shape (rows, units); `output.json` names the activation. Where the request names a
    layer, `layer.npy` holds its output.
    """
    compute, activation = _opened(request)
    inputs = open_inputs(request["inputs"])
    rows: int = request["rows"]
    files: Batch = {}
    started, reported = time.monotonic(), 0.0
    batch: int = request["batch"]
    for start in range(0, rows, batch):
        used = min(batch, rows - start)
        _score_batch(compute, inputs, request, files, start)
        if start == 0:
            first = {key: np.array(values[:used]) for key, values in files.items()}
            check_company(compute, inputs, first, rows, batch)
        now = time.monotonic()
        if now - reported > 0.2 or start + used == rows:
            left = (now - started) / (start + used) * (rows - start - used)
            report({"rows_done": start + used, "rows": rows, "seconds_left": left})
            reported = now
    Path("output.json").write_text(json.dumps(_facts(files, activation)), encoding="utf-8")


def _opened(request: dict[str, Any]) -> tuple[Compute, str | None]:
    path, version = readable(Path(request["model"]))
    _check_weights(path, request)
    return computation(load(path, version), request["output"], request["layer"])


def _score_batch(
    compute: Compute, inputs: Inputs, request: dict[str, Any], files: Batch, start: int
) -> None:
    """Score the rows of a batch, and write them into files, which are made with the first."""
    batch, rows = request["batch"], request["rows"]
    used = min(batch, rows - start)
    for key, result in compute(read_batch(inputs, start, used, batch)).items():
        values = as_matrix(result, batch)
        if key not in files:
            files[key] = _new_array(key, values.shape[1], request)
        files[key][start : start + used] = values[:used]


def _facts(files: Batch, activation: str | None) -> dict[str, Any]:
    units = files["layer"].shape[1] if "layer" in files else None
    return {"activation": activation, "layer_units": units}


def serve(request: dict[str, Any], report: Report, turn: threading.Semaphore) -> None:
    """Score one call after the other with a model that stays; each writes the files of `score`.

    `call.json` has the rows and inputs of a call; `output.json` appears when its files are there,
    with the error if there was one. Whether rows depend on each other was checked when the model
    scored its first table.
    """
    compute, activation = _opened(request)
    report({"serving": True})
    while True:
        turn.acquire()
        call = {**request, **json.loads(Path("call.json").read_text(encoding="utf-8"))}
        files: Batch = {}
        try:
            inputs = open_inputs(call["inputs"])
            for start in range(0, call["rows"], call["batch"]):
                _score_batch(compute, inputs, call, files, start)
            facts = _facts(files, activation)
        except HetcalError as error:
            facts = {"error": _in_parts(error)}
        except Exception as error:
            facts = {"error": _in_parts(explain(error, str(request["name"])))}
        Path("facts.json").write_text(json.dumps(facts), encoding="utf-8")
        Path("facts.json").replace("output.json")


def _check_weights(path: Path, request: dict[str, Any]) -> None:
    """Refuse a description of other weights than its file holds, before they get memory.

    Where Keras cannot build the model, it says so when it loads it. Of layers that get their
    weights when they are first called, the number is not known before: it may only be smaller.
    """
    described, complete = 0, False
    with suppress(Exception):
        described, complete = described_weights(path)
    held = request["parameters"]
    if described > held or (complete and described < held):
        raise ModelError(
            f"The model '{request['name']}' describes {described:,} weights, but its file holds "
            f"{held:,}.",
            "A file saved by Keras holds all weights of its model, and no others.",
            "Save the model again, or use a score column instead.",
        )


def open_inputs(entries: list[dict[str, Any]]) -> Inputs:
    """Map the input arrays into memory."""
    opened = []
    for entry in entries:
        array = np.load(entry["file"], mmap_mode="r", allow_pickle=False)
        texts = None
        if entry["texts"] is not None:
            listed = json.loads(Path(entry["texts"]).read_text(encoding="utf-8"))
            texts = [np.array(each, dtype=object) for each in listed]
        opened.append((entry["layer"], array, texts))
    return opened


def read_batch(inputs: Inputs, start: int, used: int, size: int = BATCH) -> Batch:
    """Read some rows, filled up to `size` with copies of the first.

    Every batch has the same shape, so that a row's score does not depend on the number of rows.
    """
    rows = np.arange(start, start + size)
    rows[used:] = start
    return read_rows(inputs, rows)


def read_rows(inputs: Inputs, rows: Ints) -> Batch:
    """Read rows by their numbers, in this order."""
    batch: Batch = {}
    for layer, array, texts in inputs:
        values = np.asarray(array[rows])
        if texts is not None:
            values = np.stack([each[values[:, j]] for j, each in enumerate(texts)], axis=1)
        batch[layer] = values
    return batch


def check_company(
    compute: Compute, inputs: Inputs, first: Batch, rows: int, most: int = BATCH
) -> None:
    """Refuse a model whose score of a row depends on the rows beside it.

    Some rows of the first batch, whose outputs are known, are scored again among rows of the
    whole table, in another order: in a batch of the same size, and in a smaller one.
    """
    used = len(first["own"])
    few = min(_SAMPLE, most // 2)
    known = np.unique(np.linspace(0, used - 1, few).astype(np.int64))
    others = np.linspace(0, rows - 1, few).astype(np.int64)
    sample = np.concatenate([known, others])[::-1]
    for size, tolerance in ((most, _SAME_SIZE), (sample.size, _OTHER_SIZE)):
        batch = np.resize(sample, size)
        among = np.flatnonzero(batch < used)
        for key, values in compute(read_rows(inputs, batch)).items():
            again = as_matrix(values, size)[among]
            if key != "layer":
                _check_same(first[key][batch[among]], again, batch[among], tolerance)


def _check_same(before: Singles, again: Singles, rows: Ints, tolerance: float) -> None:
    finite = np.isfinite(before)
    close = np.isclose(again, before, 0.0, tolerance * np.abs(before[finite]).max(initial=1.0))
    same = np.where(finite, close, ~np.isfinite(again))
    if same.all():
        return
    i, unit = np.argwhere(~same)[0]
    raise ModelError(
        f"The model mixes rows: row {rows[i] + 1} gives {before[i, unit]:.6g} beside some rows "
        f"and {again[i, unit]:.6g} beside others.",
        "The score of a row must depend on that row alone: not on the order or the number of the "
        "rows beside it, and not on chance.",
        "Take sums, means, sorting and flipping along axis 0, and random parts, out of the model, "
        "or use a score column instead.",
    )


def as_matrix(values: Any, rows: int) -> Singles:
    """Return one row per row that was given, one column per unit."""
    array = np.asarray(values, dtype=np.float32)
    found = array.shape[0] if array.ndim else 1
    if array.ndim == 0 or found != rows:
        raise ModelError(
            f"The model makes {found:,} of {rows:,} rows.",
            "A model must give an output for each row, in their order.",
            "Take sums, means and reshaping along axis 0 out of the model, or use a score column "
            "instead.",
        )
    return array.reshape(rows, -1)


def explain(error: Exception, name: str) -> ModelError:
    """Turn an error of Keras into three sentences without server paths or whole configurations."""
    if "ResourceExhausted" in type(error).__name__ or "OOM" in str(error):
        return _out_of_memory()
    if "Table not initialized" in str(error) or "idf_weights_const" in str(error):
        return ModelError(
            f"The model '{name}' has a vocabulary that its file does not hold.",
            "Keras leaves vocabularies that were learnt out of .h5 files.",
            "Save the model again with model.save('model.keras'), or use a score column instead.",
        )
    return ModelError(
        f"Keras could not use the model '{name}': {shorten(str(error))}",
        "The model must load and predict with the installed version of Keras.",
        "Check that the chosen columns are those the model was trained on, save the model again "
        "with a current Keras, or use a score column instead.",
    )


def shorten(message: str) -> str:
    """Keep the informative part of a long message.

    >>> shorten("Unknown layer: 'A'. Full object config: {'x': 1}")
    "Unknown layer: 'A'."
    >>> shorten("cannot open /srv/secret/file.h5")
    'cannot open ….'
    """
    # TensorFlow writes tracebacks into its messages; the message itself comes after them.
    lines = [line.strip() for line in message.splitlines()]
    if message.startswith("in user code:"):
        message = lines[-1]
    elif message.startswith("Graph execution error"):
        message = " ".join(line for line in lines[1:] if not line.startswith(_TRACE))
    message = re.split(r"Full (?:object )?config|config=|\n\nconfig|Arguments received", message)[0]
    message = re.sub(r"(?:[A-Za-z]:)?[/\\][\w.~-]+(?:[/\\][\w.~-]+)+", "…", message)
    message = re.sub(r"\{\{.*?\}\}|\s+", " ", message).strip()
    message = message if len(message) <= 240 else message[:239].rstrip() + "…"
    return message if message.endswith((".", "…")) and not message.endswith(" …") else f"{message}."


def _new_array(key: str, units: int, request: dict[str, Any]) -> Singles:
    rows = request["rows"]
    if key == "layer":
        check_width(request["name"], request["layer"], units, rows)
    else:
        _check_units(units, request)
    return np.lib.format.open_memmap(f"{key}.npy", "w+", np.float32, (rows, units))


def _check_units(units: int, request: dict[str, Any]) -> None:
    given = f"The model '{request['name']}' gives {units} numbers per row"
    classes = request["classes"]
    if classes is None and units > 2:
        raise ModelError(
            f"{given}.",
            "One number per row is needed, or two for a two-class softmax.",
            "Use a model for two classes, or use a score column instead.",
        )
    if classes is not None and units != classes:
        raise ModelError(
            f"{given}, but the label has {classes} values.",
            "The model must give one number for each value of the label.",
            "Use a model for these classes, or choose a positive value: all others then count "
            "as negative.",
        )


def _claim_stdout() -> Report:
    """Keep stdout for messages; whatever libraries print goes to the log."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return report


def _fail(report: Report, error: HetcalError) -> None:
    report({"error": _in_parts(error)})
    os._exit(1)


def _in_parts(error: HetcalError) -> dict[str, str]:
    return {"wrong": error.wrong, "needed": error.needed, "remedy": error.remedy}


def _out_of_memory() -> ModelError:
    return ModelError(
        "The model needs more memory than it may use.",
        "A model must work within its memory limit.",
        SMALLER,
    )
