import numpy as np
import pytest

from hetcal.scale_words import CHANGES, is_right, scale_words


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
        (1.5, "test scores should be raised by a half (under-confident)"),
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


def test_a_slope_two_errors_from_one_is_about_right():
    assert scale_words(0.81, 0.1) == "test scores are about right"
    assert scale_words(0.79, 0.1) == "test scores should be shrunk by a fifth"


@pytest.mark.parametrize("slope", [0.4, 1.0, 1.6])
def test_a_slope_known_too_badly_is_not_called_right(slope):
    assert scale_words(slope, 0.5) == "too few test rows to judge the size of the scores"
    assert not is_right(slope, 0.5)


def test_a_slope_that_may_be_zero_promises_nothing():
    assert scale_words(0.1, 0.1) == "test scores show no reliable relation to the label"
    assert scale_words(-0.1, 0.1) == "test scores show no reliable relation to the label"


def test_a_negative_slope_is_the_wrong_way_round():
    assert scale_words(-0.5, 0.1) == "test scores rank the rows the wrong way round"
