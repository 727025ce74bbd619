"""How fast exports are: `python -m tests.exports.speed ARTIFACT`."""

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import open_artifact
from hetcal.exports.export import make_exports
from hetcal.models.scoring import ModelScoring

ROWS, SINGLE, BATCH = 1_000_000, 20_000, 8_192


def main(path):
    artifact = open_artifact(Path(path).read_bytes(), Path(tempfile.mkdtemp()))
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
        begin = time.perf_counter()
        scorer["score_rows"](table)
        rate = ROWS / (time.perf_counter() - begin) / 1e6
        sys.stdout.write(f"{words}: {rate:.1f} million rows per second\n")
    if isinstance(artifact.scoring, ModelScoring):
        overhead(artifact)


def overhead(artifact):
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
        begin = time.perf_counter()
        for at in range(0, ROWS, BATCH):
            call({name: rows[name][at : at + BATCH] for name in model.input})
        return time.perf_counter() - begin

    pairs = [[seconds(*each) for each in zip(models, calls, strict=True)] for _ in range(6)]
    ratio = np.median([fused / plain for plain, fused in pairs[1:]])
    sys.stdout.write(f"fused model: {ratio:.2f} times the network's time\n")


if __name__ == "__main__":
    main(sys.argv[1])
