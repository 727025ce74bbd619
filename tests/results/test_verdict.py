import math
from dataclasses import replace
from functools import partial

import pytest

from hetcal.metrics.delong import Lift, lift_between
from hetcal.results.words import outcome, p_in_words, verdict


def lift(low, high, before=0.8):
    middle = (low + high) / 2
    return Lift(
        before=before, after=before + middle, auc=middle, percent=125 * middle,
        se=(high - low) / 3.92, z=0.0, p=0.5, low=low, high=high,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "expected", "words"),
    [
        (0.001, 0.021, "gain", "helps"),
        (
            -0.02,
            -0.001,
            "harm",
            "Leave your model as it is: this calibration makes its ranking worse",
        ),
        (-0.01, 0.02, "unclear", "Leave your model as it is, unless"),
    ],
)
def test_only_an_interval_clear_of_zero_is_a_gain_or_a_harm(low, high, expected, words):
    assert outcome(lift(low, high)) == expected
    assert words in verdict(lift(low, high), 500)
    assert "500 test rows" in verdict(lift(low, high), 500)


def test_no_difference_at_all_leaves_the_order_as_it_is():
    assert outcome(lift(0.0, 0.0)) == "same"


def test_a_score_that_ranks_backwards_is_no_gain():
    turned = lift(0.55, 0.65, before=0.2)
    assert outcome(turned) == "backwards"
    assert "Check the positive value" in verdict(turned, 500)


def test_an_auc_just_below_one_half_is_chance_and_not_backwards():
    assert outcome(lift(0.01, 0.03, before=0.49)) == "gain"
    assert outcome(lift(-0.01, 0.03, before=0.48)) == "unclear"


def test_the_verdict_on_classes_speaks_of_the_macro_auc_and_the_order_of_classes():
    advice = partial(verdict, several_classes=True)
    assert "helps. Macro AUC 0.8000 before" in advice(lift(0.001, 0.021), 500)
    assert advice(lift(-0.02, -0.001), 500).startswith("Leave your model as it is")
    assert "Check the order of the classes" in advice(lift(0.5, 0.6, before=0.2), 500)
    assert "includes zero" in advice(lift(-0.01, 0.02), 500)
    assert "One map for all rows helps. AUC 0.8000" in verdict(lift(0.001, 0.021), 500, True)
    one_map = advice(lift(0.001, 0.021), 500, one_map=True)
    assert one_map.startswith("One map for all rows helps. Macro AUC")


def test_the_verdict_names_the_groups_that_the_interval_counts():
    assert "on 500 test rows of 40 groups: +0.0110" in verdict(lift(0.001, 0.021), 500, groups=40)
    assert "500 test rows of 1 group, before" in verdict(lift(0.0, 0.0), 500, groups=1)


def test_without_an_interval_there_is_none_to_read():
    unknown = replace(lift(0.001, 0.021), low=math.nan, high=math.nan)
    advice = verdict(unknown, 500, groups=1)
    assert advice.startswith("Leave your model as it is, unless")
    assert advice.endswith(
        "+0.0110, without an interval, because there are too few rows or groups."
    )


@pytest.mark.parametrize("distance", [10, 37.6, 38.4, 1e6, float("inf")])
def test_a_p_value_is_never_written_as_zero(distance):
    p = lift_between(0.7, 0.8, 0.1 / distance).p
    assert (p < 1e-300) == (distance > 37.1)  # twice the tail of the normal distribution
    words = p_in_words(p)
    assert words == "< 1e-300" if distance > 37.1 else float(words) == pytest.approx(p, rel=0.05)
