import numpy as np
import pandas as pd
import pytest

from hetcal.data.checks import check_scores, check_training
from hetcal.data.scores import make_scores
from hetcal.data.table import Roles, make_table


def checked(scores, positives=0.2):
    y = np.arange(len(scores)) < positives * len(scores)
    frame = pd.DataFrame({"score": scores, "y": y.astype(int), "x": 0.0})
    table = make_table(frame, Roles("y", score="score"), "")
    return check_scores(table, make_scores(np.asarray(scores, float), "", digest=""))


def test_percentages_that_were_taken_for_logits_are_pointed_out():
    (finding,) = checked(np.linspace(0.4, 99.5, 100))
    assert (finding.level, finding.column) == ("warning", "score")
    assert "all 100 rows more likely positive than not, of which 20.0% are" in finding.message
    assert "from 0.4 to 99.5; if they are percentages, divide them by 100" in finding.message


@pytest.mark.parametrize(
    ("scores", "positives"),
    [
        (np.linspace(-0.1, 60, 100), 0.2),  # a logit below 0
        (np.linspace(0, 1e3, 100), 0.2),  # no percentages
        (np.linspace(0, 0.5, 100), 0.9),  # as rare negatives would have it
        (np.full(100, np.nan), 0.2),
    ],
)
def test_other_scores_are_not(scores, positives):
    assert checked(scores, positives) == ()


def test_a_random_division_leaves_open_what_the_model_was_trained_on():
    (finding,) = check_training(Roles("y"))
    assert finding.level == "warning"
    assert "which of them the model was trained on" in finding.message
    assert check_training(Roles("y", split="part")) == ()
