import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit, softmax

from hetcal.data.scores import (
    guess_kind,
    make_scores,
    require_ranking,
    scores_from_column,
    scores_from_columns,
    to_logits,
)
from hetcal.errors import ScoreError


def column(*values):
    return pd.Series(values, name="risk")


def test_a_probability_becomes_the_log_of_its_odds():
    scores = scores_from_column(column(0.5, 0.8, 0.1), "probability", "d")
    assert scores.logit == pytest.approx([0, math.log(4), -math.log(9)])
    assert (scores.clipped, scores.excluded) == (0, 0)


def test_certain_probabilities_are_clipped_and_counted():
    scores = scores_from_column(column(0.0, 1.0, 0.5), "probability", "d")
    assert scores.clipped == 2
    assert scores.logit[:2] == pytest.approx([-math.log(1e7 - 1), math.log(1e7 - 1)], rel=1e-8)


def test_logits_pass_unchanged():
    assert scores_from_column(column(-3.0, 40.0), "logit", "d").logit.tolist() == [-3.0, 40.0]


def test_rows_without_a_finite_score_are_set_aside_and_counted():
    scores = scores_from_column(column(1.0, np.nan, np.inf, -np.inf, 2.0), "logit", "d")
    assert scores.excluded == 3
    assert scores.usable.tolist() == [True, False, False, False, True]
    assert np.isnan(scores.logit[1:4]).all()


def test_infinite_probabilities_are_left_out_and_not_made_certain():
    scores = scores_from_column(column(0.5, np.inf, -np.inf, 0.75), "probability", "d")
    assert scores.logit == pytest.approx([0, np.nan, np.nan, np.log(3)], nan_ok=True)
    assert (scores.excluded, scores.clipped) == (2, 0)


def test_the_inverse_of_the_sigmoid_is_exact_away_from_the_ends():
    logits = np.linspace(-15, 15, 301)
    assert to_logits(1 / (1 + np.exp(-logits))) == pytest.approx(logits, abs=1e-8)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((0.0, 1.0, 0.3), "probability"),
        ((0.2, -0.1), "logit"),
        ((0.2, 1.1, np.nan), "logit"),
        (("low", "high"), "logit"),
    ],
)
def test_values_between_zero_and_one_are_taken_for_probabilities(values, kind):
    assert guess_kind(column(*values)) == kind


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ((0.2, 1.5), "probability", "'risk' has 1 value outside 0 to 1, such as 1.5"),
        (("low", "high"), "logit", "'risk' holds 'low', not numbers"),
        ((True, False), "logit", "not numbers"),
    ],
)
def test_useless_scores_are_refused_in_words(values, kind, words):
    with pytest.raises(ScoreError, match=words):
        scores_from_column(column(*values), kind, "d")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.3, 0.3, 0.3), r"All scores are equal \(logit 0.3\)"),
        ((np.nan, np.inf), "None of the 2 rows has a finite score"),
    ],
)
def test_scores_that_rank_nothing_cannot_be_calibrated(values, words):
    scores = scores_from_column(column(*values), "logit", "d")
    with pytest.raises(ScoreError, match=words):
        require_ranking(scores)


LOGITS = np.array([[1.0, 0.0, -1.0], [0.0, 3.0, 0.0], [2.0, np.nan, 0.0]])


def columns(values):
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_logits_become_logarithms_of_the_softmax():
    found = make_scores(LOGITS, "how", digest="d")
    assert np.exp(found.logit[:2]) == pytest.approx(softmax(LOGITS[:2], axis=1))
    assert np.isnan(found.logit[2]).all()
    assert found.excluded == 1
    assert found.usable.tolist() == [True, True, False]


def test_probabilities_are_the_same_scores_as_their_logits():
    chance = columns(softmax(LOGITS[:2], axis=1))
    found = scores_from_columns(chance, ["a", "b", "c"], "probability", "d")
    assert found.logit == pytest.approx(make_scores(LOGITS[:2], "", digest="d").logit)


def test_a_view_is_the_logit_of_one_probability():
    found = make_scores(LOGITS, "how", digest="d").view(1)
    assert found.logit[:2] == pytest.approx(logit(softmax(LOGITS[:2], axis=1)[:, 1]))
    assert found.excluded == 1


def test_probabilities_that_do_not_add_up_are_refused():
    with pytest.raises(ScoreError, match=r"add up to 1.2 in row 2"):
        scores_from_columns(
            columns([[0.2, 0.3, 0.5], [0.5, 0.5, 0.2]]), ["a", "b", "c"], "probability", "d"
        )


def test_a_probability_of_zero_is_pulled_in_and_counted():
    found = scores_from_columns(columns([[0.0, 0.5, 0.5]]), ["a", "b", "c"], "probability", "d")
    assert found.clipped == 1
    assert np.isfinite(found.logit).all()


def test_values_outside_zero_to_one_are_no_probabilities():
    with pytest.raises(ScoreError, match="outside 0 to 1"):
        scores_from_columns(columns([[-1.0, 1.5, 0.5]]), ["a", "b", "c"], "probability", "d")
