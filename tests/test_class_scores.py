import numpy as np
import pandas as pd
import pytest
from scipy.special import logit, softmax

from hetcal.class_scores import class_scores_from_columns, make_class_scores
from hetcal.errors import ScoreError

LOGITS = np.array([[1.0, 0.0, -1.0], [0.0, 3.0, 0.0], [2.0, np.nan, 0.0]])


def columns(values):
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_logits_become_logarithms_of_the_softmax():
    found = make_class_scores(LOGITS, "how", digest="d")
    assert np.exp(found.logs[:2]) == pytest.approx(softmax(LOGITS[:2], axis=1))
    assert np.isnan(found.logs[2]).all()
    assert found.excluded == 1
    assert found.usable.tolist() == [True, True, False]


def test_probabilities_are_the_same_scores_as_their_logits():
    chance = columns(softmax(LOGITS[:2], axis=1))
    found = class_scores_from_columns(chance, ["a", "b", "c"], "probability", "d")
    assert found.logs == pytest.approx(make_class_scores(LOGITS[:2], "", digest="d").logs)


def test_a_view_is_the_logit_of_one_probability():
    found = make_class_scores(LOGITS, "how", digest="d").view(1)
    assert found.logit[:2] == pytest.approx(logit(softmax(LOGITS[:2], axis=1)[:, 1]))
    assert found.excluded == 1


def test_probabilities_that_do_not_add_up_are_refused():
    with pytest.raises(ScoreError, match=r"add up to 1.2 in row 2"):
        class_scores_from_columns(
            columns([[0.2, 0.3, 0.5], [0.5, 0.5, 0.2]]), ["a", "b", "c"], "probability", "d"
        )


def test_a_probability_of_zero_is_pulled_in_and_counted():
    found = class_scores_from_columns(
        columns([[0.0, 0.5, 0.5]]), ["a", "b", "c"], "probability", "d"
    )
    assert found.clipped == 1
    assert np.isfinite(found.logs).all()


def test_values_outside_zero_to_one_are_no_probabilities():
    with pytest.raises(ScoreError, match="outside 0 to 1"):
        class_scores_from_columns(columns([[-1.0, 1.5, 0.5]]), ["a", "b", "c"], "probability", "d")
