import numpy as np
import pytest

from hetcal.results.ladder import ladder_table, price_in_words, worth_in_words
from hetcal.schemes.cross_fitting import Gain
from tests.figures.test_ladder_figure import ladder


def test_the_table_adds_the_auc_of_the_model_to_what_is_left_without_the_network():
    table = ladder_table(ladder())
    assert table["AUC without the network"].tolist() == pytest.approx([0.5, 0.74, 0.765, 0.775])
    assert table["network adds"].tolist() == pytest.approx([0.25, 0.02, 0.005, 0.0])
    assert table["interval"].tolist()[2] == "+0.0160 to +0.0240"
    assert table["in use"].tolist() == [False, False, True, False]


def test_what_is_not_known_is_a_dash():
    table = ladder_table(ladder(adds_low=np.nan), "macro AUC")
    assert table["interval of that"].tolist() == ["–"] * 4
    assert "macro AUC" in table


def test_the_price_names_the_best_rung_and_the_best_simpler_one():
    assert price_in_words(ladder()) == (
        "Curves (640 numbers): +0.0200 AUC. Boosted trees beside the score (12,400 numbers) would "
        "add +0.0050. The best simpler rung, one tree (16 numbers), would give up 0.0100."
    )


def test_the_difference_of_two_rungs_has_an_interval_where_it_is_known():
    more = Gain(0.005, 0.001)
    assert "would add +0.0050 (+0.0030 to +0.0070)." in price_in_words(ladder(), more)
    unknown = Gain(0.005, float("nan"))
    assert price_in_words(ladder(), unknown) == price_in_words(ladder())


def test_above_the_model_as_it_is_the_interval_is_that_of_the_lift():
    left = ladder(chosen=[True, False, False, False])
    assert price_in_words(left) == (
        "Leave it: +0.0000 AUC. Boosted trees beside the score (12,400 numbers) would add +0.0250 "
        "(+0.0211 to +0.0289)."
    )


def test_nothing_is_better_than_the_rung_with_the_largest_lift():
    best = ladder(chosen=[False, False, False, True])
    assert price_in_words(best, measure="macro AUC") == (
        "Boosted trees beside the score (12,400 numbers): +0.0250 macro AUC. No other rung gives "
        "more. The best simpler rung, curves (640 numbers), would give up 0.0050."
    )


def test_a_simpler_rung_can_give_more():
    taken = ladder(lift=[0.0, 0.03, 0.02, 0.025])
    said = price_in_words(taken)
    assert said.endswith("tree (16 numbers), gives 0.0100 more.")
    assert "would add" not in said, "the same rung is named twice"


def test_the_worth_of_the_network_is_what_it_adds_to_the_best_rung_without_it():
    assert worth_in_words(ladder()) == (
        "Without your network, boosted trees beside the score would reach AUC 0.7750, the most of "
        "all rungs; your network adds +0.0000 to that (-0.0030 to +0.0030)."
    )
    assert worth_in_words(ladder(without=np.nan)) == ""
