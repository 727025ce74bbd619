"""Honest models of many kinds, each with what Keras itself predicts for the rows of `rows()`.

`build` saves them and writes `expected.json` (the columns of each model's inputs) and
`expected.npz` (what Keras predicts); it runs in a process of its own, which alone imports Keras.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

NUMBERS = ["x1", "x2", "x3", "x4"]
CITIES, JOBS = 6, ["admin", "nurse", "pilot"]
WORDS = ["late payment again", "Paid in time!", "payment late, late", "asked for time", "paid"]


def rows(count=60):
    """Draw rows with numbers, an id, a category, a count and a short text."""
    rng = np.random.default_rng(3)
    numbers = pd.DataFrame(rng.normal(size=(count, 4)), columns=NUMBERS).astype(np.float32)
    return numbers.assign(
        age=rng.integers(18, 90, count).astype(float),
        city=rng.integers(0, CITIES, count),
        job=rng.choice([*JOBS, "unseen"], count),
        note=rng.choice(WORDS, count),
    )


def build(directory):
    """Save every model with what it predicts."""
    import keras

    from hetcal.models.worker import use_one_thread

    use_one_thread()
    frame, inputs, found, reach = rows(), {}, {}, {}
    for make in (plain, ends, nested, sequences, columns, prepared, arithmetic, precise):
        keras.utils.set_random_seed(1)
        for name, model in make(keras).items():
            suffix = "" if "." in name else ".keras"
            inputs[f"{name}{suffix}"] = [
                [given.name, NUMBERS if given.shape[-1] == 4 else [given.name]]
                for given in model.inputs
            ]
            found[f"{name}{suffix}"] = predict(model, frame)
            model.save(directory / f"{name}{suffix}")
            if make is plain:
                dense = [each for each in model.layers if isinstance(each, keras.layers.Dense)]
                reach[f"{name}{suffix}"] = np.sqrt(np.mean(dense[0].get_weights()[0] ** 2, axis=1))
    np.savez(directory / "reach.npz", **reach)
    np.savez(directory / "expected.npz", **found)
    (directory / "expected.json").write_text(json.dumps(inputs))
    (directory / "classes.json").write_text(json.dumps(public_classes(keras)))


def predict(model, frame):
    import tensorflow as tf

    given = {}
    for each in model.inputs:
        values = frame[NUMBERS if each.shape[-1] == 4 else [each.name]].to_numpy()
        values = values if each.dtype == "string" else values.astype(each.dtype)
        given[each.name] = tf.constant(values if len(each.shape) > 1 else values[:, 0])
    only = next(iter(given.values()))
    model.run_eagerly = True  # quicker, and another way than the one that is tested
    return model.predict_on_batch(given if len(given) > 1 else only)


def public_classes(keras):
    """Name every class of keras.layers, and every operation that keras.ops calls."""
    import importlib
    import inspect
    import pkgutil

    import keras.src.ops

    layers = {each.__name__ for each in vars(keras.layers).values() if inspect.isclass(each)}
    modules = [
        importlib.import_module(f"keras.src.ops.{each.name}")
        for each in pkgutil.iter_modules(sys.modules["keras.src.ops"].__path__)
        if not each.name.endswith("_test")
    ]
    operations = {
        each.__name__
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, keras.Operation)
        if each.__module__ == module.__name__
    }
    return {"layers": sorted(layers), "operations": sorted(operations)}


def matrix(keras, body, **more):
    """Make a model of one input of four numbers."""
    x = keras.Input((4,), name="x")
    return keras.Model(x, body(x), **more)


def chance(keras, values, activation="sigmoid"):
    return keras.layers.Dense(1, activation=activation)(values)


def plain(keras):
    layers = keras.layers

    def stack(*parts):
        return keras.Sequential([keras.Input((4,), name="x"), *parts])

    def trained(model):
        """Give batch normalisation averages that are not 0 and 1."""
        rng = np.random.default_rng(0)
        model.set_weights([rng.uniform(0.5, 1.5, each.shape) for each in model.get_weights()])
        return model

    def residual(x):
        hidden = layers.Dense(4, activation="gelu")(x)
        return chance(keras, layers.LayerNormalization()(layers.Add()([x, hidden])))

    def wide_and_deep(x):
        deep = layers.Dense(6, activation="silu")(x)
        return layers.Activation("sigmoid")(
            layers.Add()([layers.Dense(1)(x), layers.Dense(1)(deep)])
        )

    def experts(x):
        each = [layers.Dense(3, activation="tanh")(x) for _ in range(3)]
        return chance(keras, layers.Maximum()([layers.Average()(each), each[0]]))

    regular = keras.regularizers.L1L2(1e-3, 1e-3)
    return {
        "mlp": stack(layers.Dense(8, "relu"), layers.Dense(1, "sigmoid")),
        "mlp.h5": stack(layers.Dense(8, "relu"), layers.Dense(1, "sigmoid")),
        "batch_norm": trained(
            stack(layers.Dense(8), layers.BatchNormalization(), layers.ReLU(), layers.Dense(1))
        ),
        "batch_norm_functional.h5": trained(
            matrix(keras, lambda x: chance(keras, layers.BatchNormalization()(x)))
        ),
        "dropout": stack(
            layers.GaussianNoise(0.1),
            layers.Dense(8, "selu", kernel_regularizer=regular, kernel_initializer="lecun_normal"),
            layers.AlphaDropout(0.3),
            layers.Dense(1, "sigmoid", kernel_constraint=keras.constraints.MaxNorm(2.0)),
        ),
        "residual": matrix(keras, residual),
        "wide_and_deep": matrix(keras, wide_and_deep),
        "experts": matrix(keras, experts),
        "group_norm": stack(layers.Dense(8), layers.GroupNormalization(2), layers.Dense(1)),
        "spectral": stack(layers.SpectralNormalization(layers.Dense(8, "elu")), layers.Dense(1)),
    }


def ends(keras):
    layers, ops = keras.layers, keras.ops
    return {
        "softmax": matrix(keras, layers.Dense(2, "softmax")),
        "log_softmax": matrix(keras, layers.Dense(2, "log_softmax")),
        "linear": matrix(keras, layers.Dense(1)),
        "hard_sigmoid": matrix(keras, layers.Dense(1, "hard_sigmoid")),
        "sigmoid_operation": matrix(keras, lambda x: ops.sigmoid(layers.Dense(1)(x))),
        "softmax_as_activation": matrix(keras, layers.Dense(2, layers.Softmax())),
        "sigmoid_as_activation": matrix(keras, layers.Dense(1, layers.Activation("sigmoid"))),
        "leaky_inside": matrix(
            keras, lambda x: chance(keras, layers.Dense(8, layers.LeakyReLU(0.1))(x))
        ),
        "flat_end": matrix(keras, lambda x: ops.squeeze(chance(keras, x), axis=-1)),
        "clipped": matrix(keras, lambda x: ops.clip(chance(keras, x), 0.01, 0.99)),
    }


def nested(keras):
    layers = keras.layers

    def two_ends(x):
        inner = keras.Input((4,))
        hidden = layers.Dense(5, "relu")(inner)
        both = [layers.Dense(1)(hidden), layers.Dense(1, "sigmoid")(hidden)]
        return keras.Model(inner, both, name="two_ends")(x)[1]

    def encoder(x):
        inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, "relu")], name="encoder")
        return chance(keras, inner(x))

    def twin(x):
        tower = keras.Sequential([layers.Dense(3, "tanh")], name="tower")
        return chance(keras, layers.Concatenate()([tower(x), tower(-x)]))

    def of_applications(x):
        from keras.src.applications.convnext import LayerScale
        from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

        return chance(keras, CustomScaleLayer(0.2)([x, LayerScale(0.5, 4)(x)]))

    def own_loss(y, p):
        return keras.ops.mean((y - p) ** 2)

    compiled = matrix(keras, encoder)
    falling = keras.optimizers.schedules.CosineDecay(0.1, 10)
    compiled.compile(keras.optimizers.Adam(falling), own_loss, metrics=["AUC", own_loss])

    return {
        "two_ends": matrix(keras, two_ends),
        "compiled_inside": matrix(keras, lambda x: chance(keras, compiled(x))),
        "encoder": matrix(keras, encoder),
        "of_applications": matrix(keras, of_applications),
        "twin": matrix(keras, twin),
        "inside_sequential": keras.Sequential(
            [
                keras.Input((4,), name="x"),
                keras.Sequential([layers.Dense(4, "relu")]),
                matrix(keras, layers.Dense(1, "sigmoid")),
            ]
        ),
    }


def sequences(keras):
    layers = keras.layers

    def over(part, *more):
        def body(x):
            values = part(layers.Reshape((4, 1))(x))
            for each in more:
                values = each(values)
            return chance(keras, values)

        return matrix(keras, body)

    def tokens(x):
        each = layers.Dense(8)(layers.Reshape((4, 1))(x))
        seen = layers.MultiHeadAttention(2, 4)(each, each)
        return chance(keras, layers.Flatten()(layers.LayerNormalization()(each + seen)))

    def picture(x):
        values = layers.Conv3D(2, 1)(layers.Reshape((2, 2, 1, 1))(x))
        return chance(keras, layers.GlobalAveragePooling3D()(values))

    pooled = layers.GlobalAveragePooling1D()
    return {
        "conv": over(layers.Conv1D(3, 2, activation="relu"), layers.GlobalMaxPooling1D()),
        "adaptive": over(layers.Conv1D(3, 2), layers.AdaptiveAveragePooling1D(2), layers.Flatten()),
        "conv_3d": matrix(keras, picture),
        "lstm": over(layers.LSTM(3)),
        "gru": over(layers.Bidirectional(layers.GRU(3))),
        "cells": over(layers.RNN([layers.LSTMCell(3), layers.SimpleRNNCell(2)])),
        "each_step": over(layers.TimeDistributed(layers.Dense(2, "relu")), pooled),
        "tokens": matrix(keras, tokens),
    }


def inputs_of(keras, names=("age", "city", "job")):
    kinds = {"age": "float32", "city": "int32", "job": "string", "note": "string"}
    return {name: keras.Input((1,), name=name, dtype=kinds[name]) for name in names}


def columns(keras):
    """Models with an input for each column."""
    layers, found = keras.layers, {}

    def several(name, encode, names=("age", "city", "job")):
        given = inputs_of(keras, names)
        found[name] = keras.Model(given, chance(keras, encode(**given)))

    def embedded(age, city, job):
        place = layers.Flatten()(layers.Embedding(CITIES, 3)(city))
        work = layers.StringLookup(vocabulary=JOBS)(job)
        work = layers.Flatten()(layers.Embedding(len(JOBS) + 1, 2)(work))
        return layers.Concatenate()([age / 100.0, place, work])

    def one_hot(age, city, job):
        place = layers.IntegerLookup(vocabulary=list(range(1, 5)), output_mode="one_hot")(city)
        work = layers.StringLookup(vocabulary=JOBS, output_mode="multi_hot")(job)
        steps = layers.Discretization(bin_boundaries=[30.0, 50.0], output_mode="one_hot")(age)
        return layers.Concatenate()([place, work, steps])

    def hashed(age, city, job):
        work = layers.Hashing(5, salt=7, output_mode="one_hot")(job)
        both = layers.HashedCrossing(6, output_mode="one_hot")((layers.Hashing(9)(job), city))
        place = layers.CategoryEncoding(CITIES, output_mode="one_hot")(city)
        return layers.Concatenate()([age / 100.0, work, both, place])

    several("embedded", embedded)
    several("one_hot", one_hot)
    several("hashed", hashed)
    found["matrix_and_id"] = keras.Model(
        [x := keras.Input((4,), name="x"), city := keras.Input((1,), name="city", dtype="int64")],
        chance(
            keras,
            layers.Concatenate()([x, layers.Flatten()(layers.Embedding(CITIES, 2)(city))]),
        ),
    )
    return found


def prepared(keras):
    """Models with parts that learnt from data: vocabularies are members of the archive."""
    layers, frame, found = keras.layers, rows(), {}

    def of_text(name, after=(), **settings):
        note = keras.Input((1,), name="note", dtype="string")
        part = layers.TextVectorization(**settings)
        if "vocabulary" not in settings:
            part.adapt(frame["note"].to_numpy(dtype=object).astype(str))
        values = part(note)
        for each in after:
            values = each(values)
        found[name] = keras.Model(note, chance(keras, values))

    of_text("text_counts", output_mode="count")
    of_text("text_weights", output_mode="tf_idf", ngrams=2)
    of_text(
        "text_sequence",
        [layers.Embedding(20, 3, mask_zero=True), layers.GlobalAveragePooling1D()],
        output_sequence_length=4,
    )
    of_text(
        "text_listed", vocabulary=["late", "paid"], output_mode="multi_hot", standardize="lower"
    )
    normal = layers.Normalization()
    normal.adapt(frame[NUMBERS].to_numpy())
    found["normalised"] = matrix(keras, lambda x: chance(keras, normal(x)))
    job, age = keras.Input((1,), name="job", dtype="string"), keras.Input((1,), name="age")
    listed = {"vocabulary": ["admin", "pilot"], "idf_weights": [1.0, 2.0]}
    weighted = layers.StringLookup(output_mode="tf_idf", **listed)(job)
    found["weighted"] = keras.Model(job, chance(keras, weighted))
    lookup = layers.StringLookup(output_mode="one_hot", num_oov_indices=2)
    lookup.adapt(frame["job"].to_numpy(dtype=object).astype(str))
    steps = layers.Discretization(num_bins=4, output_mode="one_hot")
    steps.adapt(frame["age"].to_numpy())
    both = layers.Concatenate()([lookup(job), steps(age)])
    found["adapted"] = keras.Model({"job": job, "age": age}, chance(keras, both))
    found["feature_space"] = feature_space(keras, frame)
    return found


def feature_space(keras, frame):
    import tensorflow as tf

    space = keras.utils.FeatureSpace(
        {
            "age": "float_discretized",
            "x1": "float_normalized",
            "city": "integer_categorical",
            "job": "string_categorical",
        },
        crosses=[("city", "job")],
        crossing_dim=8,
        output_mode="concat",
    )
    given = frame[["age", "x1", "city", "job"]]
    table = {name: values.to_numpy() for name, values in given.items()}
    table["job"] = table["job"].astype(str)
    space.adapt(tf.data.Dataset.from_tensor_slices(table).batch(8))
    return keras.Model(space.get_inputs(), chance(keras, space.get_encoded_features()))


def arithmetic(keras):
    layers, ops = keras.layers, keras.ops

    def of(change):
        return matrix(keras, lambda x: chance(keras, change(x)))

    def gated(x):
        each = layers.Reshape((4, 1))(x)
        seen = ops.squeeze(layers.Attention()([each, each]), axis=-1)
        return (x * ops.sigmoid(x) + seen)[:, 1:]

    return {
        "operations.h5": of(gated),  # Keras itself does not read what it writes here
        "ratios": of(lambda x: ops.divide_no_nan(x, 1.0 + ops.abs(ops.roll(x, 1, axis=1)))),
        "hypot": of(lambda x: ops.hypot(x[:, :2], x[:, 2:])),
        "products": of(lambda x: ops.einsum("bi,bj->bij", x, x)[:, 0]),
        "ranks": of(lambda x: ops.cast(ops.argsort(x, axis=1), "float32")),
        "padded": of(lambda x: ops.diff(ops.pad(x, ((0, 0), (1, 1))), axis=1)),
        "norms": of(lambda x: x / ops.norm(x, axis=1, keepdims=True)),
        "attention": of(
            lambda x: ops.reshape(
                ops.dot_product_attention(*[ops.reshape(x, (-1, 2, 1, 2))] * 3), (-1, 4)
            )
        ),
    }


def precise(keras):
    layers = keras.layers

    def body(x, **policy):
        hidden = layers.Dense(8, "relu", **policy)(x)
        return layers.Dense(1, "sigmoid", dtype="float32")(hidden)

    def quantised(mode):
        model = matrix(keras, body)
        model.quantize(mode)
        return model

    adapted = matrix(keras, lambda x: body(x, lora_rank=2))
    adapted.layers[1].lora_kernel_b.assign(np.ones((2, 8)))
    ids = keras.Input((1,), name="city", dtype="int32")
    small = keras.Model(ids, chance(keras, layers.Flatten()(layers.Embedding(CITIES, 8)(ids))))
    small.quantize("int8")
    return {
        "half": matrix(keras, lambda x: body(x, dtype="mixed_float16")),
        "brain": matrix(keras, lambda x: body(x, dtype="mixed_bfloat16")),
        "lora": adapted,
        "double": matrix(keras, lambda x: body(x, dtype="float64")),
        "int8": quantised("int8"),
        "int4": quantised("int4"),
        "int8_embedding": small,
    }


if __name__ == "__main__":
    build(Path(sys.argv[1]))
