"""How fast exports are: `python -m tests.exports.speed ARTIFACT`."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import open_artifact
from hetcal.exports.export import make_exports

ROWS, SINGLE = 1_000_000, 20_000


def main(path):
    with tempfile.TemporaryDirectory() as folder:
        artifact = open_artifact(Path(path).read_bytes(), Path(folder))
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


if __name__ == "__main__":
    main(sys.argv[1])
