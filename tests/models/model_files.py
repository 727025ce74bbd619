"""Keras models with weights drawn by hand, saved once for all processes that run the tests.

`model_files()` gives the directory; `truth.npz` holds the rows and the logits as
plain numpy computes them, `found.json` and `found.npz` what `hetcal.models.worker`
makes of each file.
"""

import fcntl
import functools
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from tests.models.arrays.array_models import build_array_models

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "HETCAL_TEST_MODELS"
LAST = "found.npz"
ROWS = 300
WATCHED = {"hidden", "inner/hidden", "negative", "grid", "steps"}


def place_for_models():
    """Name a new directory for the models, for this process and those that it starts."""
    directory = tempfile.TemporaryDirectory(prefix="hetcal-models-")
    os.environ[VARIABLE] = directory.name
    return directory


@functools.cache
def model_files():
    """Save the models, or wait until another process has done so."""
    directory = Path(os.environ[VARIABLE])
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / LAST).exists():
            run_build(directory)
    return directory


def run_build(directory):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [
        sys.executable,
        "-c",
        "from tests.models.model_files import build; build()",
        directory,
    ]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def build():
    from hetcal.models.worker import use_one_thread

    use_one_thread()
    directory = Path(sys.argv[1])
    truth = draw_truth()
    np.savez(directory / "truth.npz", **truth)
    for name, model in {**matrix_models(truth), **column_models(truth)}.items():
        model.save(directory / f"{name}.keras")
        if name in {"sigmoid", "activation", "sequential", "unshaped", "logit", "wide"}:
            model.save(directory / f"{name}.h5")
    write_as_keras_2(directory / "normalised.keras", directory / "older.keras")
    write_as_keras_2(directory / "sequential.keras", directory / "older_sequential.keras")
    build_array_models(directory / "arrays")
    look(directory, truth)


def write_as_keras_2(path, older):
    """Describe a model as Keras 2.15 did; the weights are the same."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    for layer in config["config"]["layers"]:
        settings = layer["config"]
        if layer["class_name"] == "InputLayer":
            settings["batch_input_shape"] = settings.pop("batch_shape")
            settings["ragged"] = False
        if layer["class_name"] == "BatchNormalization":
            settings["axis"] = [1]
    members["config.json"] = json.dumps(config)
    members["metadata.json"] = json.dumps({"keras_version": "2.15.0"})
    with zipfile.ZipFile(older, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def draw_truth():
    """Rows, weights and the logit of x·W1 → ReLU → ·W2, in float64."""
    rng = np.random.default_rng(7)
    truth = {
        "x": rng.normal(size=(ROWS, 3)).astype(np.float32),
        "W1": rng.normal(size=(3, 8)).astype(np.float32),
        "b1": rng.normal(size=8).astype(np.float32),
        "W2": rng.normal(size=(8, 2)).astype(np.float32),
        "b2": rng.normal(size=2).astype(np.float32),
    }
    x, w1, b1, w2, b2 = (value.astype(np.float64) for value in truth.values())
    truth["logits"] = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    return truth


def matrix_models(truth):
    import keras
    from keras import layers, ops

    def body():
        x = keras.Input((3,), name="x")
        return x, hidden_layer(truth)(x)

    def functional(finish):
        x, hidden = body()
        return keras.Model(x, finish(hidden))

    sigmoid_of = layers.Activation("sigmoid")
    x, hidden = body()
    nested = keras.Model(x, last_layer(truth, "sigmoid")(hidden), name="inner")
    outer = keras.Input((3,), name="outer")
    shared = layers.Activation("sigmoid", name="shared")
    head, tail = body()
    return {
        "sigmoid": functional(last_layer(truth, "sigmoid")),
        "logit": functional(last_layer(truth, None)),
        "activation": functional(lambda h: sigmoid_of(last_layer(truth, None)(h))),
        "operation": functional(lambda h: ops.sigmoid(last_layer(truth, None)(h))),
        "dropout": functional(lambda h: layers.Dropout(0.5)(last_layer(truth, "sigmoid")(h))),
        "hard": functional(last_layer(truth, "hard_sigmoid")),
        "softmax": functional(last_layer(truth, "softmax", units=2)),
        "softmax_layer": functional(lambda h: layers.Softmax()(last_layer(truth, None, 2)(h))),
        "log_softmax": functional(last_layer(truth, "log_softmax", units=2)),
        "logs": functional(lambda h: ops.log_softmax(last_layer(truth, None, 2)(h))),
        "layer_as_end": functional(last_layer(truth, layers.LeakyReLU(0.5))),
        "nested": keras.Model(outer, nested(outer)),
        "shared": keras.Model(head, shared(last_layer(truth, None)(shared(tail)))),
        "sequential": keras.Sequential(
            [keras.Input((3,)), hidden_layer(truth), last_layer(truth, "sigmoid")]
        ),
        "unshaped": unshaped(truth),
        "three": functional(layers.Dense(3, activation="softmax", name="three")),
        "two_outputs": two_outputs(truth),
        "between": functional(lambda h: last_layer(truth, None)(ops.negative(ops.negative(h)))),
        "states": states(),
        **{name: functional(mix) for name, mix in mixing(truth).items()},
        "wide": keras.Sequential([keras.Input((3,)), layers.Dense(5_000), layers.Dense(1)]),
    }


def mixing(truth):
    """Ends of models in which rows touch each other, by the name of the model."""
    from keras import layers, ops

    def after(change):
        return lambda hidden: change(last_layer(truth, None)(hidden))

    return {
        "flipped": after(lambda s: ops.flip(s, axis=0)),
        "sorted": after(lambda s: ops.sort(s, axis=0)),
        "centred": after(lambda s: s - ops.mean(s, axis=0, keepdims=True)),
        "counted": after(lambda s: s + ops.sum(ops.ones_like(s), axis=0, keepdims=True)),
        "summed": after(lambda s: ops.sum(s, axis=0)),
        "doubled": after(lambda s: ops.concatenate([s, s], axis=0)),
        "normalised": lambda h: last_layer(truth, None)(layers.BatchNormalization()(h)),
    }


def states():
    """A layer with several outputs, of which the first one is the sequence of its states."""
    import keras
    from keras import layers

    x = keras.Input((3,), name="x")
    steps, last = layers.GRU(4, return_sequences=True, return_state=True, name="steps")(
        layers.Reshape((3, 1), name="grid")(x)
    )
    joined = layers.Concatenate()([layers.Flatten()(steps), last])
    return keras.Model(x, layers.Dense(1, name="last")(joined))


def hidden_layer(truth):
    from keras import layers

    return with_weights(layers.Dense(8, activation="relu", name="hidden"), truth["W1"], truth["b1"])


def last_layer(truth, activation, units=1):
    from keras import layers

    kernel, bias = truth["W2"][:, :units], truth["b2"][:units]
    return with_weights(layers.Dense(units, activation=activation, name="last"), kernel, bias)


def with_weights(layer, kernel, bias):
    layer.build((None, kernel.shape[0]))
    layer.set_weights([kernel, bias])
    return layer


def unshaped(truth):
    """A Sequential model that learnt its input's shape from a batch of two rows."""
    import keras

    model = keras.Sequential([hidden_layer(truth), last_layer(truth, "sigmoid")])
    model(truth["x"][:2])
    return model


def two_outputs(truth):
    import keras

    x = keras.Input((3,), name="x")
    hidden = hidden_layer(truth)(x)
    named = {"chance": last_layer(truth, "sigmoid")(hidden)}
    return keras.Model(x, {**named, "size": keras.layers.Dense(1, name="size")(hidden)})


def column_models(truth):
    """Models with one input per column, text and ids among them."""
    import keras
    from keras import layers

    age = keras.Input((1,), name="age")
    job = keras.Input((1,), name="job", dtype="string")
    lookup = layers.StringLookup(vocabulary=["admin", "student"], output_mode="one_hot")
    joined = layers.Concatenate()([age, lookup(job)])
    weights = np.array([[0.5], [-1.0], [2.0], [3.0]], np.float32)
    last = with_weights(layers.Dense(1, activation="sigmoid"), weights, np.zeros(1, np.float32))
    strict = layers.StringLookup(vocabulary=["admin"], num_oov_indices=0, output_mode="one_hot")
    grade = keras.Input((1,), name="grade", dtype="string")
    graded = layers.StringLookup(vocabulary=["1.0", "2.0"], output_mode="one_hot")
    of_grade = with_weights(layers.Dense(1), weights[1:], np.zeros(1, np.float32))
    ids = keras.Input((1,), name="city", dtype="int32")
    embedded = layers.Flatten()(layers.Embedding(10, 2)(ids))
    return {
        "columns": keras.Model({"age": age, "job": job}, last(joined)),
        "grades": keras.Model(grade, of_grade(graded(grade))),
        "strict": keras.Model(job, layers.Dense(1)(strict(job))),
        "ids": keras.Model(ids, layers.Dense(1)(embedded)),
    }


def look(directory, truth):
    """Let the code under test load every matrix model, all in this one process."""
    from hetcal.models.file import inspect_model
    from hetcal.models.worker import BATCH, as_matrix, computation, load, readable

    arrays, activations, refusals = {}, {}, {}
    refusals["unlike"] = unlike_keras_3(directory)
    padded = np.resize(truth["x"], (BATCH, 3))
    for path in sorted(directory.glob("*.*")):
        if path.name.startswith("converted_"):
            continue
        if path.stem in {"truth", "columns", "grades", "strict", "ids", "two_outputs"}:
            continue
        model = load(*readable(path))
        if path.stem in mixing(truth):
            refusals[path.stem] = refusal(computation(model, None, None)[0], truth["x"])
            continue
        rows = {{"nested": "outer"}.get(path.stem, "x"): padded}
        compute, activations[path.name] = computation(model, None, None)
        for key, values in compute(rows).items():
            arrays[f"{path.name} {key}"] = as_matrix(values, BATCH)[:ROWS]
        for name in WATCHED & {each.name for each in inspect_model(path).layers}:
            watched = computation(model, None, name)[0](rows)
            arrays[f"{path.name} {name}"] = as_matrix(watched["layer"], BATCH)[:ROWS]
            arrays[f"{path.name} own beside {name}"] = as_matrix(watched["own"], BATCH)[:ROWS]
    (directory / "refusals.json").write_text(json.dumps(refusals))
    (directory / "found.json").write_text(json.dumps(activations))
    np.savez(directory / LAST, **arrays)


def refusal(compute, x):
    """What is said of a model in which rows may touch each other; None if they do not."""
    from hetcal.errors import ModelError
    from hetcal.models.worker import BATCH, as_matrix, check_company

    inputs = [("x", x, None)]
    try:
        found = compute({"x": np.resize(x, (BATCH, 3))})
        first = {key: as_matrix(values, BATCH)[:ROWS] for key, values in found.items()}
        check_company(compute, inputs, first, ROWS)
    except ModelError as error:
        return str(error)
    return None


def unlike_keras_3(directory):
    """What is said of a file of Keras 2 that has other weights than its layers."""
    from hetcal.errors import ModelError
    from hetcal.models.worker import load, readable

    path = Path(tempfile.mkdtemp(dir=directory)) / "unlike.keras"
    with zipfile.ZipFile(directory / "older.keras") as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(directory / "older_sequential.keras") as archive:
        weights = archive.read("model.weights.h5")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config)
        archive.writestr("metadata.json", json.dumps({"keras_version": "2.15.0"}))
        archive.writestr("model.weights.h5", weights)
    try:
        load(*readable(path))
    except ModelError as error:
        return str(error)
    return None
