"""Cohorts by conditions on columns, against pandas; their measures, against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table
from hetcal.errors import HetcalError
from hetcal.runs.cohorts import cohort_cells, group_table, rows_of_cohort
from hetcal.runs.run import run
from hetcal.runs.settings import Settings

FRAME = pd.DataFrame(
    {
        "age": [30, 50, 60, 41, 22],
        "Plan of day": ["Monthly", "yearly", None, "monthly", "a and b"],
        "fee": [1.5, np.nan, 2.5, -3.0, 1e3],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age >= 41", [1, 2, 3]),
        ("age < 41", [0, 4]),
        ("AGE != 30", [1, 2, 3, 4]),
        ("age ≤ 30 and fee > 2", [4]),
        ("plan of day = monthly", [0, 3]),
        ("plan of day != monthly", [1, 2, 4]),
        ("plan of day = missing", [2]),
        ("fee != missing AND fee <= 2.5", [0, 2, 3]),
        ("fee = 1.5", [0]),
        ("fee > -1e9", [0, 2, 3, 4]),  # a missing number is neither more nor less
    ],
)
def test_a_cohort_has_the_rows_that_meet_all_conditions(text, rows):
    assert np.flatnonzero(rows_of_cohort(FRAME, text)).tolist() == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no condition"),
        ("age", "'age' is no condition"),
        ("age = 3 and", "no number"),
        ("agee = 3", r"no column 'agee'.*Did you mean 'age'\?"),
        ("age = old", "'old' is no number"),
        ("plan of day < b", "cannot be compared by <"),
        ("plan of day = month", r"No row has 'month'.*Did you mean"),
    ],
)
def test_a_cohort_that_cannot_be_read_says_why(text, words):
    with pytest.raises(HetcalError, match=words):
        rows_of_cohort(FRAME, text)


@pytest.fixture(scope="module")
def finished():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3_000))
    y = (rng.random(3_000) < expit(z + np.where(x > 0, 1.5, -1.5))).astype(int)
    weight = rng.choice([1.0, 2.0], 3_000)
    frame = pd.DataFrame({"x": x, "plan": rng.choice([*"ab"], 3_000), "y": y, "w": weight})
    table = make_table(frame, Roles("y", weight="w"), "digest")
    settings = Settings(max_depth=1, fractions=(0.4, 0.1, 0.25, 0.25))
    return run(table, make_scores(3 * z, "made up", digest="scores"), settings)


def test_a_cohort_is_measured_on_its_test_rows(finished):
    text = "x > 0.5 and plan = b"
    table = group_table({text: cohort_cells(finished, text)})
    frame, test = finished.table.frame, finished.split.test
    rows = test[((frame["x"] > 0.5) & (frame["plan"] == "b")).to_numpy()[test]]
    y, w = frame["y"].to_numpy()[rows], frame["w"].to_numpy()[rows]
    found = table.iloc[0]
    assert found["rows"] == rows.size > 20
    assert found["positive_rate"] == pytest.approx(np.average(y, weights=w))
    for when, logits in (("before", finished.scores.logit), ("after", finished.after)):
        p = expit(logits[rows])
        assert found[f"auc_{when}"] == pytest.approx(roc_auc_score(y, p, sample_weight=w))
        assert found[f"log_loss_{when}"] == pytest.approx(log_loss(y, p, sample_weight=w))
        assert found[f"brier_{when}"] == pytest.approx(brier_score_loss(y, p, sample_weight=w))


def test_a_cohort_without_test_rows_has_no_measures(finished):
    table = group_table({"none": cohort_cells(finished, "x > 100")})
    assert table["rows"].tolist() == [0]
    assert table.drop(columns=["group", "rows"]).isna().all(axis=None)
