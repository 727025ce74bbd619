import numpy as np
import pytest

from hetcal.partitions.nodes import Feature
from hetcal.partitions.terms import Axis, Curve, Pair, Terms
from hetcal.results.term_words import correction_words, term_table, term_words
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import AdditiveStage, PooledStage

NO_GROUPS = np.array([], dtype=np.int64)
AGE = Axis(Feature("age", "number", (), whole=True), np.array([20.0]), NO_GROUPS)
PLAN = Axis(Feature("plan", "category", ("a", "b")), np.array([]), np.array([0, 1]))
OLDER = Curve(AGE, np.log([0.5, 4.0, 9.0]), np.zeros(3), np.array([50, 50, 0]))
EITHER = Curve(PLAN, np.array([0.1, -0.1, 0.0, 0.0]), np.zeros(4), np.array([50, 50, 0, 0]))
BOTH = Pair(AGE, PLAN, np.zeros((3, 4)), np.zeros((3, 4)), np.ones((3, 4), dtype=np.int64))
TERMS = Terms((EITHER, OLDER, BOTH))


def test_terms_are_listed_by_their_share_of_the_variance():
    table = term_table(TERMS)
    assert table["term"].tolist() == ["age", "plan", "age × plan"]
    variance = np.array([(np.log(8) / 2) ** 2, 0.01, 0])
    assert table["share"].tolist() == pytest.approx(variance / variance.sum())
    assert table["together"].iloc[-1] == pytest.approx(1)
    assert table["columns"].tolist() == [1, 1, 2]
    assert table.loc[0, ["low", "high"]].tolist() == pytest.approx(np.log([0.5, 4.0]))


def test_a_term_is_said_in_odds_of_values_that_rows_had():
    assert term_words(OLDER) == "0.5 times the odds (up to 20) to 4 times the odds (above 20)"
    assert "a × " not in term_words(OLDER)
    assert term_words(EITHER).startswith("0.9 times the odds (b)")
    assert "up to 20 × a" in term_words(BOTH)


def test_the_weight_of_the_score_is_that_of_both_stages():
    stage = AdditiveStage(TERMS, 0.5, 0.1)
    words = correction_words(Scheme((PooledStage(-2.0, 2.0, 0.8, 0.0), stage)))
    assert "0.40 times the score plus 2 curves of one column and 1 pair of columns" in words
    assert "1 of these 3 terms carry 95 %" in words
    assert correction_words(Scheme((PooledStage(-2.0, 2.0, 0.8, 0.0),))) is None
