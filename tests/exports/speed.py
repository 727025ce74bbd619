"""How fast exports are: `python -m tests.exports.speed [ARTIFACT]`.

Without an artifact, the demo's customers are calibrated in up to 8 and in 16 leaves, and by curves.
Rates are those of one core: rows per second that the process computes, the best of `TIMES`. The
fused model and its network score `ROWS` rows in turn, in batches of `BATCH`; of `TIMES` ratios of
their times it is the median.
"""

import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.data.demo import DEMO_NETWORKS, demo_table
from hetcal.data.table import Roles, make_table
from hetcal.exports.export import make_exports
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import ModelScoring, score_model
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

ROWS, SINGLE, BATCH, TIMES = 1_000_000, 20_000, 8_192, 5
PAPER = 256, 128, 64  # units of the network in the paper


DEMO = (
    Settings(),
    Settings(max_depth=4, min_leaf=100),
    Settings(partition="additive"),
)


def main(paths):
    contents = [Path(path).read_bytes() for path in paths] or demo_artifacts()
    for content in contents:
        with tempfile.TemporaryDirectory() as folder:
            measure(open_artifact(content, Path(folder)))


def demo_artifacts():
    """Yield the demo calibrated in each of these ways."""
    frame, model = demo_table(), inspect_model(DEMO_NETWORKS["over-trained"].file)
    table = make_table(frame, Roles("churned", positive="yes", split="split"))
    inputs = suggest_inputs(model, list(frame.columns))
    scores = score_model(model, table.frame, inputs)
    for settings in DEMO:
        yield artifact_bytes(run(table, scores, settings), ModelScoring(model, inputs))


def measure(artifact):
    scheme = "maps" if artifact.scheme is None else artifact.choice.chosen
    sys.stdout.write(f"{scheme}, {len(artifact.partition.leaves)} leaves\n")
    (made,) = make_exports(artifact, ["python"])
    scorer = {"__name__": "calibrated"}
    exec(made.content.decode(), scorer)
    rng, recipe = np.random.default_rng(0), scorer["RECIPE"]
    columns = {recipe["score"]["column"]: rng.normal(size=ROWS)}
    for each in recipe["columns"]:
        known = each["categories"]
        drawn = rng.integers(0, 2, ROWS) if known else rng.normal(40, 20, ROWS)
        columns[each["name"]] = np.array(known, dtype=object)[drawn] if known else drawn
    frame = pd.DataFrame(columns)
    rows = frame[:SINGLE].to_dict("records")
    begin = time.perf_counter()
    for row in rows:
        scorer["score_row"](row)
    sys.stdout.write(f"one row: {(time.perf_counter() - begin) / SINGLE * 1e6:.1f} µs\n")
    texts = [each["name"] for each in recipe["columns"] if each["categories"]]
    for words, table in (
        ("arrays, categories as text", columns),
        ("frame, categories coded", frame.astype(dict.fromkeys(texts, "category"))),
    ):
        taken = []
        for _ in range(TIMES):
            begin = time.process_time()
            scorer["score_rows"](table)
            taken.append(time.process_time() - begin)
        sys.stdout.write(f"{words}: {ROWS / min(taken) / 1e6:.1f} million rows per second\n")
    if isinstance(artifact.scoring, ModelScoring):
        overhead(artifact, "the network")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "paper.keras")
            paper_network(artifact.scoring.model.inputs).save(path)
            scoring = ModelScoring(inspect_model(path), artifact.scoring.inputs)
            overhead(replace(artifact, scoring=scoring), f"a network of {PAPER} units")


def paper_network(inputs):
    """Build the paper's network on inputs of one column each; how fast it is needs no training."""
    import keras
    from keras import layers

    given = {each.name: keras.Input((1,), name=each.name, dtype=each.dtype) for each in inputs}
    texts = [tensor for tensor in given.values() if tensor.dtype == "string"]
    numbers = [tensor for tensor in given.values() if tensor.dtype != "string"]
    lookups = [layers.StringLookup(vocabulary=["monthly"], output_mode="one_hot") for _ in texts]
    coded = [lookup(text) for lookup, text in zip(lookups, texts, strict=True)]
    hidden = layers.Concatenate()([*numbers, *coded])
    for units in PAPER:
        hidden = layers.Dense(units, activation="relu")(hidden)
    return keras.Model(given, layers.Dense(1, activation="sigmoid")(hidden))


def overhead(artifact, words):
    """Compare the time of the fused model with that of its network alone, one after the other."""
    import keras
    import tensorflow as tf

    (made,) = make_exports(artifact, ["keras"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, made.name)
        path.write_bytes(made.content)
        models = [keras.saving.load_model(each) for each in (artifact.scoring.model.path, path)]
    calls = [tf.function(partial(each, training=False), autograph=False) for each in models]
    rng, rows = np.random.default_rng(0), {}
    for name, tensor in models[1].input.items():
        texts = rng.choice(np.array(["monthly", ""], dtype=object), (ROWS, 1))
        numbers = rng.normal(size=(ROWS, 1)).astype(np.float32)
        rows[name] = tf.constant(texts if tensor.dtype == "string" else numbers)

    def seconds(model, call):
        begin = time.process_time()
        for at in range(0, ROWS, BATCH):
            call({name: rows[name][at : at + BATCH] for name in model.input})
        return time.process_time() - begin

    pairs = [[seconds(*each) for each in zip(models, calls, strict=True)] for _ in range(TIMES + 1)]
    ratio = np.median([fused / plain for plain, fused in pairs[1:]])
    fastest = min(plain for plain, _ in pairs[1:])
    sys.stdout.write(
        f"fused model: {ratio:.2f} times the time of {words} alone ({fastest:.2f} s)\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
