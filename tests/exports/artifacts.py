"""Artifacts of every scheme, on a table with missing values, categories and odd names."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.artifacts.artifact import artifact_bytes, open_artifact
from hetcal.data.scores import scores_from_column
from hetcal.data.table import Roles, make_table
from hetcal.models.scoring import ColumnScoring
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

SIZE, CITY = 'size in "m"', "the city's name"


@cache
def people():
    """4,000 rows; the score is three times too confident and blind to two of the columns."""
    rng = np.random.default_rng(5)
    n = 4_000
    size, age = rng.normal(40, 10, n), rng.integers(18, 90, n).astype(float)
    city = rng.choice(["Basel", "Bern", "Zürich", "O'Fallon"], n, p=[0.4, 0.3, 0.2, 0.1])
    f = rng.normal(size=n)
    pull = np.where(city == "Bern", 1.2, -0.6) + np.where(size > 45, 0.8, -0.4)
    y = rng.uniform(size=n) < expit(f + pull)
    frame = pd.DataFrame({SIZE: size, "age": age, CITY: city})
    for name in frame:
        frame.loc[rng.uniform(size=n) < 0.08, name] = None
    split = np.repeat(["train", "validation", "calibration", "test"], n // 4)
    return frame.assign(score=3 * f, p=expit(3 * f), label=np.where(y, "yes", "no"), split=split)


@cache
def packed(kind="logit", **settings):
    frame, column = people(), "score" if kind == "logit" else "p"
    roles = Roles(label="label", positive="yes", split="split", score=column)
    table = make_table(frame.drop(columns="p" if column == "score" else "score"), roles, "digest")
    scores = scores_from_column(frame[column], kind, "digest")
    done = run(table, scores, Settings(**{"max_depth": 3, "min_leaf": 60} | settings))
    return artifact_bytes(done, ColumnScoring((column,), kind))


def artifact(kind="logit", **settings):
    return open_artifact(packed(kind, **settings), Path(tempfile.mkdtemp()))
