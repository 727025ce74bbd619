import numpy as np
import pandas as pd
import pytest

from hetcal.results.overconfidence import (
    CHANGES,
    is_right,
    scale_words,
    state_of_model,
    whether_overconfident,
)


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (0.01, "test scores should be shrunk to less than a tenth"),
        (0.33, "test scores should be shrunk to a third"),
        (0.5, "test scores should be halved"),
        (0.46, "test scores should be roughly halved"),
        (0.3, "test scores should be shrunk to roughly a third"),
        (0.67, "test scores should be shrunk by a third"),
        (0.9, "test scores should be shrunk by a tenth"),
        (0.96, "test scores are about right"),
        (1.04, "test scores are about right"),
        (1.5, "test scores should be stretched by a half (under-confident)"),
        (2.0, "test scores should be doubled (under-confident)"),
        (3.0, "test scores should be tripled (under-confident)"),
        (7.0, "test scores should be multiplied by 7 (under-confident)"),
    ],
)
def test_a_well_known_slope_is_put_in_words(slope, words):
    assert scale_words(slope, 0.001) == words


def named_slope(words):
    plain = words.replace("roughly ", "").removeprefix("test scores should be ")
    plain = plain.removesuffix(" (under-confident)")
    return next(value for value, each in CHANGES.items() if each.format("") == plain)


def test_words_are_never_far_from_the_slope():
    for slope in np.geomspace(0.09, 3.25, 999):
        words = scale_words(slope, 1e-6)
        named = 1.0 if words.endswith("about right") else named_slope(words)
        assert slope == pytest.approx(named, rel=0.16)
        assert "roughly" in words or slope == pytest.approx(named, rel=0.052)
        assert words.endswith("(under-confident)") == (slope > 1.05)


@pytest.mark.parametrize(
    ("slope", "se"), [(1.0, 0.09), (0.92, 0.05), (1.1, 0.07), (0.96, 0.07), (1.04, 0.001)]
)
def test_an_interval_between_four_fifths_and_five_quarters_is_about_right(slope, se):
    assert scale_words(slope, se) == "test scores are about right"
    assert is_right(slope, se)


@pytest.mark.parametrize(
    ("slope", "se"),
    [(0.72, 0.1401), (1.29, 0.149), (0.9, 0.06), (1.0, 0.13), (0.4, 0.5), (1.0, 0.5), (1.6, 0.5)],
)
def test_a_wider_interval_around_one_leaves_it_open(slope, se):
    assert scale_words(slope, se) == "too few test rows to judge the size of the scores"
    assert not is_right(slope, se)


@pytest.mark.parametrize(
    ("slope", "se", "words"),
    [(0.79, 0.1, "shrunk by a fifth"), (0.9, 0.03, "shrunk by a tenth"), (0.72, 0.1, "shrunk by")],
)
def test_an_interval_beside_one_asks_for_a_change(slope, se, words):
    assert scale_words(slope, se).startswith(f"test scores should be {words}")


def test_a_slope_that_may_be_zero_promises_nothing():
    assert scale_words(0.1, 0.1) == "test scores show no reliable relation to the label"
    assert scale_words(-0.1, 0.1) == "test scores show no reliable relation to the label"


def test_a_negative_slope_is_the_wrong_way_round():
    assert scale_words(-0.5, 0.1) == "test scores rank the rows in reverse"


@pytest.mark.parametrize(
    ("slope", "se", "answer"),
    [
        (0.64, 0.02, "Yes: on rows it was not trained on its logits should be multiplied by 0.64"),
        (0.98, 0.03, "No: "),
        (1.5, 0.1, "No, it is under-confident: "),
        (0.9, 0.2, "The test rows are too few to tell: "),
        (0.01, 0.05, "No factor corrects it: "),
        (0.5, 0.4, "The test rows are too few to tell: "),
        (-0.6, 0.1, "The scores rank the rows in reverse: "),
        (np.nan, np.nan, "The test rows do not show whether the model is over-confident: no rows."),
    ],
)
def test_one_sentence_answers_whether_the_model_is_overconfident(slope, se, answer):
    rows = {
        "slope": [slope, 1.0],
        "slope_se": [se, 0.01],
        "auc_test": [0.5034, 0.8],
        "advice": ["no rows", "right"],
    }
    said = whether_overconfident(pd.DataFrame(rows))
    assert said.startswith(answer)
    if slope == 0.64:
        assert said.endswith("0.64 (0.60 to 0.68).")
    if slope == 0.01:
        assert said.endswith("no relation to the label (AUC 0.503).")


@pytest.mark.parametrize(
    ("slope", "se", "state"),
    [
        (0.64, 0.02, "Your model is over-confident."),
        (0.98, 0.03, "Your model is not over-confident."),
        (1.5, 0.1, "Your model is under-confident."),
        (0.9, 0.2, ""),
        (0.5, 0.4, ""),
        (0.01, 0.05, ""),
        (-0.6, 0.1, ""),
        (np.nan, np.nan, ""),
    ],
)
def test_the_state_is_said_only_where_the_sentence_has_an_answer(slope, se, state):
    assert state_of_model(pd.DataFrame({"slope": [slope], "slope_se": [se]})) == state
