"""Small tables with a known truth, shared by the tests, and how every run of them behaves."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from tests.models.model_files import place_for_models
from tests.shared_data import NOT_NAMED, refuse_wrong_folder

# One thread for linear algebra, here and in every process that a test starts: tests run side by
# side already, more threads wait for each other, and no sum depends on the number of cores.
threadpool_limits(1)
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Generated cases are the same in every run; `python -m tests --search` draws new ones.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None, max_examples=200)
settings.register_profile("search", deadline=None, max_examples=10_000)
settings.load_profile("fixed")


def pytest_configure(config):
    """Look at the folder of real tables, and make a place for models that all workers share."""
    refuse_wrong_folder()
    if not hasattr(config, "workerinput"):
        config.add_cleanup(place_for_models().cleanup)


def pytest_terminal_summary(terminalreporter):
    """Say at the end which tests had no real tables."""
    skipped = terminalreporter.getreports("skipped")
    names = sorted(each.nodeid for each in skipped if NOT_NAMED in str(each.longrepr))
    if names:
        terminalreporter.section("skipped for lack of data")
        terminalreporter.write_line(f"{len(names)} tests: {NOT_NAMED}.")
        for name in names:
            terminalreporter.write_line(f"  {name}")


@pytest.fixture
def segments():
    """2,400 rows in two segments; the score is three times too confident and blind to segments."""
    rng = np.random.default_rng(3)
    n = 2_400
    segment = rng.choice(["a", "b"], n)
    size = rng.normal(40, 10, n).round(1)
    f = rng.normal(size=n)
    y = rng.uniform(size=n) < expit(f + np.where(segment == "a", 1.0, -1.0))
    return pd.DataFrame(
        {
            "segment": segment,
            "size": size,
            "score": 3 * f,
            "label": np.where(y, "yes", "no"),
            "split": rng.choice(
                ["train", "validation", "calibration", "test"], n, p=[0.4, 0.1, 0.25, 0.25]
            ),
        }
    )


@pytest.fixture(scope="session")
def kinds():
    """3,000 rows of three kinds; the probabilities are too sure and blind to what `x` shifts."""
    rng = np.random.default_rng(0)
    n = 3_000
    x, z = rng.normal(size=(2, n))
    known = np.column_stack([z, -z, 0 * z])
    chance = softmax(known + np.where(x[:, None] > 0, [1.5, 0, 0], [0, 0, 1.5]), axis=1)
    y = (rng.uniform(size=(n, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    p = softmax(2.5 * known, axis=1)
    scores = {f"p_{name}": p[:, i] for i, name in enumerate(("ant", "bee", "cow"))}
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            **scores,
            "kind": np.array(["ant", "bee", "cow"])[y],
            "split": rng.choice(["train", "calibration", "test"], n, p=[0.5, 0.25, 0.25]),
        }
    )
