"""Make the models of Keras 2 that tests read, and what Keras 2 predicts.

    pip install tensorflow-cpu==2.15.1 pandas    (the last Keras of that name), or
    pip install tensorflow-cpu==2.21.0 tf_keras==2.21.0 pandas    (what it is called since), or
    pip install tensorflow-cpu==2.8.4 pandas    (which only writes the .h5 file)
    python -m tests.models.honest.make_keras_2_models [NAME ...]

Every .keras file is packed again, which leaves a few KB of it.
"""

import sys
import zipfile
from pathlib import Path

import numpy as np

from tests.models.honest.models import CITIES, JOBS, NUMBERS, rows

PLACE = Path(__file__).parent / "keras_2"


def main():
    import tensorflow as tf

    try:
        import tf_keras as keras
    except ImportError:
        import keras

    place = PLACE / keras.__version__
    place.mkdir(exist_ok=True)
    tf.random.set_seed(1)
    expected = place / "expected.npz"
    frame, found = rows(), {**np.load(expected)} if expected.exists() else {}
    made = {**models(keras, frame), **trained(keras, frame)}
    for name in sys.argv[1:] or made:
        model = made[name]
        names = [tensor.name for tensor in model.inputs]
        given = [
            frame[NUMBERS].to_numpy()
            if each == "x"
            else frame[[each]].to_numpy().astype(str if each in {"job", "note"} else float)
            for each in names
        ]
        given = {each: tf.constant(values) for each, values in zip(names, given, strict=True)}
        only = next(iter(given.values()))
        file = name if name.endswith(".h5") else f"{name}.keras"
        found[file] = model.predict(given if len(given) > 1 else only, verbose=0)
        model.save(place / file)
        if file.endswith(".keras"):
            pack(place / file)
    np.savez_compressed(expected, **found)


def pack(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def models(keras, frame):
    layers = keras.layers

    def matrix(body):
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Dense(1, activation="sigmoid")(body(x)))

    def steps(x):
        return layers.Reshape((4, 1))(x)

    def tokens(x):
        each = layers.Dense(4)(steps(x))
        return layers.Flatten()(layers.MultiHeadAttention(2, 2)(each, each))

    def encoder(x):
        inner = keras.Input((4,))
        return keras.Model(inner, layers.Dense(3, activation="relu")(inner), name="inner")(x)

    def wrapped(x):
        wider = layers.Conv1DTranspose(2, 2)(layers.SpatialDropout1D(0.2)(steps(x)))
        each = layers.TimeDistributed(layers.Dense(2))(layers.Attention()([wider, wider]))
        return layers.Bidirectional(layers.GRU(2))(each)

    normalised = keras.Sequential(
        [
            keras.Input((4,), name="x"),
            layers.Dense(4),
            layers.BatchNormalization(),
            layers.LeakyReLU(alpha=0.2),
            layers.Dropout(0.2),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    rng = np.random.default_rng(0)
    normalised.set_weights([rng.uniform(0.5, 1.5, w.shape) for w in normalised.get_weights()])
    age, city = keras.Input((1,), name="age"), keras.Input((1,), name="city", dtype="int32")
    job = keras.Input((1,), name="job", dtype="string")
    steps_of_age = layers.Discretization(bin_boundaries=[30.0, 50.0], output_mode="one_hot")(age)
    place = layers.Flatten()(layers.Embedding(CITIES, 2, input_length=1)(city))
    work = layers.StringLookup(vocabulary=JOBS, output_mode="one_hot")(job)
    joined = layers.Concatenate()([steps_of_age, place, work])
    note = keras.Input((1,), name="note", dtype="string")
    words = layers.TextVectorization(output_mode="count")
    words.adapt(frame["note"].to_numpy(dtype=object).astype(str))
    return {
        "normalised": normalised,
        "lstm": matrix(lambda x: layers.LSTM(2)(steps(x))),
        "tokens": matrix(tokens),
        "encoder": matrix(encoder),
        "columns": keras.Model(
            {"age": age, "city": city, "job": job}, layers.Dense(1, activation="sigmoid")(joined)
        ),
        "text": keras.Model(note, layers.Dense(1, activation="sigmoid")(words(note))),
        "hard_sigmoid": matrix(layers.Dense(2, activation="hard_sigmoid")),
        "hard_gates.h5": matrix(
            lambda x: layers.Activation("hard_sigmoid")(
                layers.LSTM(2, recurrent_activation="hard_sigmoid")(steps(x))
            )
        ),
        **{name: matrix(body) for name, body in between_layers().items()},
        "wrapped.h5": matrix(wrapped),
    }


def between_layers():
    """Return functions of TensorFlow that a model calls on its input."""
    import tensorflow as tf

    def functions(x):
        scaled = (2.0 - x / 10.0) * tf.abs(x) + tf.reduce_mean(x, axis=1, keepdims=True)
        pairs = tf.squeeze(tf.stack([x, tf.maximum(x, 0.0)], axis=1)[:, 1:2, :], axis=1)
        return tf.concat([scaled, pairs], axis=-1)

    def shaped(x):
        pairs = tf.transpose(tf.reshape(x, (-1, 2, 2)), (0, 2, 1))
        return tf.reshape(tf.clip_by_value(pairs, -0.5, 0.5), (-1, 4))

    def chosen(x):
        above = tf.cast(tf.gather(x, [0, 2], axis=1) > 0.25, tf.float32)
        return tf.concat([above, tf.where(x <= 0.0, x * x, -1.0)], axis=1)

    return {
        "slicing": lambda x: x[:, :2],
        "functions": functions,
        "gathered": lambda x: tf.gather(x, [0, 2], axis=1),
        "shaped": shaped,
        "chosen": chosen,
        "whole": lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
    }


def trained(keras, frame):
    """Make a model that keeps what its optimizer and its metrics counted."""
    layers = keras.layers
    model = keras.Sequential([keras.Input((4,), name="x"), layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC(10), "accuracy"])
    model.fit(frame[NUMBERS].to_numpy(), frame["x1"].to_numpy() > 0, verbose=0)
    return {"trained": model}


if __name__ == "__main__":
    main()
