"""Decisions by a threshold, against scikit-learn and by trying every threshold."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from hetcal.cells.cells import Cells
from hetcal.metrics.thresholds import (
    MOVES,
    Costs,
    changed_sides,
    cost_curve,
    decision_table,
    sides_in_words,
)

COSTS = Costs(false_alarm=1.0, miss=3.0)


@pytest.fixture(params=range(4))
def drawn(request):
    """Labels, scores with and without ties, leaves, and weights or None."""
    rng = np.random.default_rng(request.param)
    y = rng.integers(0, 2, 80)
    scores = rng.normal(y - 0.5, 1.5)
    if request.param % 2:
        scores = np.round(scores)
    return y, scores, rng.integers(1, 4, 80), rng.random(80) if request.param >= 2 else None


def cost_of(y, called, weight, costs=COSTS):
    each = np.where(called & (y == 0), costs.false_alarm, 0) + np.where(
        ~called & (y == 1), costs.miss, 0
    )
    return np.average(each, weights=weight)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_counts_precision_and_recall_are_those_of_scikit_learn(drawn, threshold):
    y, scores, leaf, weight = drawn
    cells = Cells.of_rows(scores, y, leaf, weight)
    found = decision_table({"model": cells}, {"model": threshold}, COSTS).iloc[0]
    called = scores >= logit(threshold)
    counts = confusion_matrix(y, called, labels=[0, 1], sample_weight=weight)
    names = [["true_negatives", "false_positives"], ["false_negatives", "true_positives"]]
    np.testing.assert_allclose(found[np.ravel(names)].astype(float), counts.ravel(), atol=1e-9)
    for name, score in (("precision", precision_score), ("recall", recall_score)):
        expected = score(y, called, sample_weight=weight, zero_division=np.nan)
        assert found[name] == pytest.approx(expected, nan_ok=True)
    assert found["cost"] == pytest.approx(cost_of(y, called, weight))


def test_the_curve_is_the_cost_at_each_threshold(drawn):
    y, scores, leaf, weight = drawn
    curve = cost_curve("model", Cells.of_rows(scores, y, leaf, weight), COSTS)
    each = [cost_of(y, scores >= logit(at), weight) for at in curve.threshold]
    np.testing.assert_allclose(curve.cost, each, atol=1e-12)
    assert curve.rows == 80


def test_no_threshold_is_cheaper_than_the_cheapest(drawn):
    y, scores, leaf, weight = drawn
    curve = cost_curve("model", Cells.of_rows(scores, y, leaf, weight), COSTS)
    tried = [cost_of(y, scores >= edge, weight) for edge in [-np.inf, *scores, np.inf]]
    assert curve.lowest == pytest.approx(min(tried))
    assert cost_of(y, scores >= logit(curve.cheapest), weight) == pytest.approx(min(tried))


@pytest.mark.parametrize(("costs", "cheapest"), [(Costs(1, 0), 1.0), (Costs(0, 1), 0.0)])
def test_where_one_error_is_free_nobody_or_everybody_is_called_positive(costs, cheapest):
    y, scores = np.array([0, 1, 0, 1]), np.array([-1.0, -2.0, 2.0, 1.0])
    curve = cost_curve("model", Cells.of_rows(scores, y, np.ones(4, int)), costs)
    assert curve.lowest == 0
    assert curve.cheapest == cheapest if cheapest else curve.cheapest < expit(-2.0)


def test_right_probabilities_are_cheapest_at_the_threshold_of_the_costs():
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1.5, 400_000)
    y = (rng.random(scores.size) < expit(scores)).astype(int)
    curve = cost_curve("model", Cells.of_rows(scores, y, np.ones(y.size, int)), COSTS)
    at_rule = np.interp(COSTS.threshold, curve.threshold, curve.cost)
    assert COSTS.threshold == 0.25
    assert at_rule - curve.lowest < 1e-3
    assert abs(curve.cheapest - 0.25) < 0.03


@pytest.mark.parametrize("threshold", [0.3, 0.5])
def test_rows_that_change_side_are_counted_leaf_by_leaf(drawn, threshold):
    y, scores, leaf, _ = drawn
    after = scores * 0.5 + np.array([0.0, 0.8, -0.8, 0.1])[leaf]
    was, now = (Cells.of_rows(each, y, leaf) for each in (scores, after))
    sides = changed_sides(was, now, threshold, [1, 2, 3]).set_index("leaf")
    rows = pd.DataFrame({"leaf": leaf, "y": y})
    rows["was"], rows["now"] = expit(scores) >= threshold, expit(after) >= threshold
    for number in range(4):
        inside = rows if number == 0 else rows[rows["leaf"] == number]
        expected = [
            ((inside["was"] == was) & (inside["now"] != was) & (inside["y"] == label)).sum()
            for was, label in ((False, 1), (False, 0), (True, 0), (True, 1))
        ]
        assert sides.loc[number, list(MOVES)].tolist() == expected


def test_words_say_that_nobody_changes_side():
    sides = pd.DataFrame([(0, 0, 0, 0, 0)], columns=["leaf", *MOVES])
    assert sides_in_words(sides) == "At this threshold no row changes side."
