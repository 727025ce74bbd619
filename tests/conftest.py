"""Small tables with a known truth, shared by the tests."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit


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
