import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hetcal
from hetcal.models.scoring import ColumnScoring
from hetcal.notebook.finished import FinishedRun


@pytest.fixture(scope="session")
def customers():
    """3,000 rows; the score is twice too confident and blind to the segment."""
    rng = np.random.default_rng(5)
    n = 3_000
    segment, known = rng.choice(["old", "new"], n), rng.normal(size=n)
    y = rng.uniform(size=n) < expit(known + np.where(segment == "old", 1.0, -1.0))
    return pd.DataFrame(
        {
            "segment": segment,
            "age": rng.normal(40, 10, n).round(1),
            "p": expit(2 * known),
            "churned": np.where(y, "yes", "no"),
            "split": rng.choice(
                ["train", "validation", "calibration", "test"], n, p=[0.4, 0.1, 0.25, 0.25]
            ),
        }
    )


@pytest.fixture(scope="session")
def by_hand(customers):
    """The same run as the pages and the command line make it, with a tree."""
    roles = hetcal.Roles("churned", split="split", score="p")
    table = hetcal.make_table(customers, roles)
    scores = hetcal.scores_from_column(table.frame["p"], "probability")
    return hetcal.run(table, scores, hetcal.Settings(partition="tree"))


@pytest.fixture(scope="session")
def finished(by_hand):
    return FinishedRun.of(by_hand, ColumnScoring(("p",), "probability"))


@pytest.fixture(scope="session")
def chosen(customers):
    return hetcal.calibrate(customers, "churned", "p", split="split")


@pytest.fixture(scope="session")
def corrected(customers):
    return hetcal.calibrate(customers, "churned", "p", split="split", partition="additive")


@pytest.fixture(scope="session")
def animals():
    """Three classes, whose scores are rows by classes."""
    rng = np.random.default_rng(6)
    n = 2_400
    known, shift = rng.normal(size=(n, 3)), rng.choice([-1.0, 1.0], n)
    logits = known + np.column_stack([shift, 0 * shift, -shift])
    drawn = rng.gumbel(size=(n, 3)) + logits
    named = np.array(["ant", "bee", "cow"])[drawn.argmax(axis=1)]
    sure = np.exp(2 * known)
    return pd.DataFrame({"shift": shift}), named, sure / sure.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def of_animals(animals):
    return hetcal.calibrate(*animals, split=(0.4, 0.1, 0.25, 0.25), partition="tree")
