"""Keras models of images, sequences and ids of words, with what Keras itself predicts."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 600
FACTS = ["height", "width"]


def build_array_models(folder):
    """Save the models; `truth.npz` holds their arrays, and for each model Keras's output."""
    import keras

    folder.mkdir()
    keras.utils.set_random_seed(5)
    truth = draw_arrays()
    given = {
        "image": truth["image"] / np.float32(255),
        "rescaled": truth["image"],
        "steps": truth["steps"],
        "words": truth["words"],
        "mixed": {"image": truth["image"] / np.float32(255), "facts": truth["facts"]},
        "kinds": truth["image"] / np.float32(255),
    }
    for name, model in array_models().items():
        model.save(folder / f"{name}.keras")
        truth[f"{name} predicted"] = model.predict(given[name], verbose=0)
    model = keras.saving.load_model(folder / "kinds.keras")
    hidden = keras.Model(model.inputs, model.get_layer("hidden").output)
    truth["kinds hidden"] = hidden.predict(given["kinds"], verbose=0)
    np.savez(folder / "truth.npz", **truth)
    np.savez(folder / "found.npz", **{name: scored(folder, name, truth) for name in given})
    np.savez(folder / "decoded.npz", **decoded(folder, truth))


def scored(folder, name, truth):
    """What the code of the child makes of the arrays, all in this one process."""
    from hetcal.data.array_files import open_array
    from hetcal.models.file import inspect_model
    from hetcal.models.inputs import ArrayInput, write_array, write_input
    from hetcal.models.worker import score

    model, written = inspect_model(folder / f"{name}.keras"), []
    place = folder / name
    place.mkdir()
    for number, spec in enumerate(model.inputs):
        if spec.name == "facts":
            part = write_input(number, spec, pd.DataFrame(truth["facts"], columns=FACTS), place)
        else:
            file = open_array(save_array(place / f"{spec.name}.npy", truth), spec.name, place)
            scale = 255.0 if spec.name == "image" and name != "rescaled" else 1.0
            given = ArrayInput(spec.name, file, scale)
            part = write_array(number, spec, given, np.arange(ROWS), place)
        written.append(asdict(part[0]))
    request = {
        **{"name": name, "model": str(model.path), "parameters": model.parameters, "rows": ROWS},
        **{"output": None, "classes": model.units, "layer": "hidden" if name == "kinds" else None},
        **{"batch": 256, "inputs": written},
    }
    here = Path.cwd()
    os.chdir(place)
    score(request, lambda message: None)
    os.chdir(here)
    return np.load(place / "own.npy")


def decoded(folder, truth):
    """Write every image as a file; return what the child's code makes of some, and refuses."""
    import tensorflow as tf

    from hetcal.errors import TableError
    from hetcal.models.images import decode

    colours = tf.constant(np.repeat(truth["image"][:1], 3, axis=-1)[0])
    files = folder / "files"
    files.mkdir()
    for row, image in enumerate(truth["image"]):
        (files / f"{row}.png").write_bytes(tf.io.encode_png(image).numpy())
    (files / "0.jpg").write_bytes(tf.io.encode_jpeg(colours).numpy())
    jpeg, first = ((files / name).read_bytes() for name in ("0.jpg", "0.png"))

    def made_of(shape, *images):
        place = folder / "decoding"
        place.mkdir(exist_ok=True)
        ends = np.cumsum([len(each) for each in images]).tolist()
        (place / "images_bytes").write_bytes(b"".join(images))
        request = {"shape": (len(images), *shape), "ends": ends, "names": ["x"] * len(images)}
        here = Path.cwd()
        os.chdir(place)
        try:
            decode(request, lambda message: None)
            return np.load("decoded.npy")
        except TableError as error:
            return str(error)
        finally:
            os.chdir(here)

    return {
        "grey": made_of((8, 8, 1), first, (files / "1.png").read_bytes()),
        "colours": made_of((8, 8, 3), jpeg, first),
        "jpeg": tf.io.decode_jpeg(jpeg).numpy(),
        "other size": made_of((8, 9, 1), first),
        "damaged": made_of((8, 8, 1), first[:-30]),
        "damaged jpeg": made_of((8, 8, 3), jpeg[:40]),
    }


def save_array(path, truth):
    np.save(path, truth[path.stem])
    return path


def draw_arrays():
    rng = np.random.default_rng(2)
    bright = rng.uniform(0.1, 1, (ROWS, 1, 1, 1))
    return {
        "image": (bright * rng.integers(0, 256, (ROWS, 8, 8, 1))).astype(np.uint8),
        "steps": rng.normal(size=(ROWS, 6, 3)).astype(np.float32),
        "words": rng.integers(0, 20, (ROWS, 5)).astype(np.int32),
        "facts": rng.normal(size=(ROWS, 2)).astype(np.float32),
    }


def array_models():
    import keras
    from keras import layers

    wide = keras.initializers.RandomNormal(stddev=4.0)

    def image(*first):
        parts = layers.Conv2D(3, 3, activation="relu"), layers.GlobalAveragePooling2D()
        return [*first, *parts, layers.Dense(6, activation="relu", name="hidden")]

    def model(shape, name, *parts, dtype="float32"):
        end = layers.Dense(1, activation="sigmoid", kernel_initializer=wide)
        return keras.Sequential([keras.Input(shape, name=name, dtype=dtype), *parts, end])

    sight = keras.Input((8, 8, 1), name="image")
    facts = keras.Input((2,), name="facts")
    seen = keras.Sequential(image())(sight)
    both = layers.Concatenate()([seen, facts])
    words = layers.Embedding(20, 4), layers.GlobalAveragePooling1D()
    end = layers.Dense(3, activation="softmax", kernel_initializer=wide)
    return {
        "image": model((8, 8, 1), "image", *image()),
        "rescaled": model((8, 8, 1), "image", *image(layers.Rescaling(1 / 255))),
        "steps": model((6, 3), "steps", layers.Conv1D(4, 2), layers.LSTM(5)),
        "words": model((5,), "words", *words, dtype="int32"),
        "mixed": keras.Model(
            {"image": sight, "facts": facts}, layers.Dense(1, activation="sigmoid")(both)
        ),
        "kinds": keras.Sequential([keras.Input((8, 8, 1), name="image"), *image(), end]),
    }
