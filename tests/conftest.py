"""Small tables with a known truth, shared by the tests."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax


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
