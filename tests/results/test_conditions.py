"""The three conditions, against scikit-learn's likelihoods and simulated tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from hetcal.cells.cells import Cells
from hetcal.metrics.delong import Lift
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition
from hetcal.results.conditions import conditions, leaf_spread
from hetcal.results.evaluation import Comparison
from hetcal.results.overconfidence import diagnose

LIFT = Lift(0.8, 0.81, 0.01, 1.25, 0.002, 5.0, 1e-6, 0.006, 0.014)
LEAF, SPLIT = Node(1, 0.5), Node(2, 0.5, "x", 0.5, (), True, 1, 2)
TWO = Partition((Feature("x", "number"),), (SPLIT, LEAF, LEAF))
LEAVES = [1, 2, 3, 4, 5]


def drawn(rng, rows, offsets, slope=1.0):
    leaf = rng.integers(1, len(offsets) + 1, rows)
    score = rng.normal(size=rows)
    y = (rng.random(rows) < expit(slope * score + np.array(offsets)[leaf - 1])).astype(int)
    return score, y, leaf


def pooled(score, y):
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], y)
    return fitted.decision_function(score[:, None])


def test_the_score_test_is_near_the_likelihood_ratio_and_the_spread_near_the_truth():
    score, y, leaf = drawn(np.random.default_rng(0), 40_000, [-0.4, -0.2, 0.0, 0.2, 0.4])
    logit = pooled(score, y)
    found = leaf_spread(Cells.of_rows(score, y, leaf), logit, LEAVES)
    X = np.column_stack([score, *(leaf == each for each in LEAVES[1:])])
    full = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    gained = log_loss(y, expit(logit)) - log_loss(y, full.predict_proba(X)[:, 1])
    assert found.loss == pytest.approx(gained, rel=0.1)
    assert found.deviation == pytest.approx(np.std([-0.4, -0.2, 0, 0.2, 0.4], ddof=1), rel=0.1)
    assert found.p < 1e-50


def test_p_values_are_uniform_where_leaves_do_not_differ():
    rng = np.random.default_rng(1)
    p = []
    for _ in range(400):
        score, y, leaf = drawn(rng, 500, [0.0] * 5, slope=0.6)
        p.append(leaf_spread(Cells.of_rows(score, y, leaf), pooled(score, y), LEAVES).p)
    for level in (0.05, 0.2, 0.5, 0.8):
        low, high = binom.interval(0.999, len(p), level)
        assert low <= np.sum(np.array(p) < level) <= high


def judged(slope, offsets, rows=20_000, lift=LIFT):
    rng = np.random.default_rng(3)
    train, test = (Cells.of_rows(*drawn(rng, rows, offsets, each)) for each in (1.5, slope))
    # What the truth would say after.
    offset = np.array([0, *offsets])[test.leaf]
    truth = replace(test, score=slope * test.score + offset)
    both = Comparison(test, test, test, truth)
    return conditions(diagnose(train, test, TWO.leaves), both, lift)


def test_an_overconfident_model_that_ignores_leaves_meets_all_conditions():
    over, structure, rows = judged(0.5, [-0.5, 0.5])
    assert [each.level for each in (over, structure, rows)] == ["holds", "holds", "holds"]
    # One slope for leaves that differ is smaller than theirs, as the score says less of all rows.
    assert float(over.number.removeprefix("slope needed ")) == pytest.approx(0.48, abs=0.03)
    assert float(over.after) == pytest.approx(1, abs=0.04)
    assert structure.after == "none seen"
    assert "log-loss is" in over.reason
    assert structure.number.startswith("±0.7")  # of two leaves, one logit apart
    assert rows.number == f"for lifts from {2.8 * 0.002:.4f}"
    assert rows.reason.endswith("told from zero; this one is.")


def test_the_leaf_with_the_fewest_rows_of_its_rarer_class_is_named():
    rng = np.random.default_rng(4)
    score, y, leaf = drawn(rng, 4_000, [-3.0, 1.0])
    test = Cells.of_rows(score, y, leaf)
    both = Comparison(test, test, test, test)
    reason = conditions(diagnose(test, test, TWO.leaves), both, LIFT)[2].reason
    fewest = int(y[leaf == 1].sum())
    assert f"(leaf 1 has only {fewest} of its rarer class)" in reason


def test_a_calibrated_model_meets_neither_of_the_first_two():
    over, structure, _ = judged(1.0, [0.0, 0.0])
    assert (over.level, structure.level) == ("fails", "fails")


def test_a_score_that_ranks_nothing_leaves_open_whether_it_is_over_confident():
    rng = np.random.default_rng(8)
    score, y = rng.normal(0, 2, 4_000), rng.integers(0, 2, 4_000)
    test = Cells.of_rows(score, y, rng.integers(1, 3, 4_000))
    over = conditions(diagnose(test, test, TWO.leaves), Comparison(test, test, test, test), LIFT)[0]
    assert (over.name, over.level) == ("Over-confident", "open")


def test_few_rows_leave_open_whether_leaves_differ():
    assert judged(0.7, [0.0, 0.0], rows=60)[1].level == "open"


def test_one_leaf_has_no_structure():
    score, y, _ = drawn(np.random.default_rng(0), 500, [0.0])
    cells = Cells.of_rows(score, y, np.ones(500, dtype=int))
    found = leaf_spread(cells, score, [1, 2])
    assert (found.leaves, found.loss) == (1, 0.0)


def test_weights_of_two_count_a_row_once_and_its_loss_twice():
    score, y, leaf = drawn(np.random.default_rng(5), 2_000, [-0.3, 0.3])
    once = leaf_spread(Cells.of_rows(score, y, leaf), score, [1, 2])
    heavy = leaf_spread(Cells.of_rows(score, y, leaf, np.full(2_000, 2.0)), score, [1, 2])
    assert (heavy.p, heavy.deviation) == pytest.approx((once.p, once.deviation))


@pytest.mark.parametrize(("se", "level"), [(0.001, "holds"), (0.005, "open"), (0.05, "fails")])
def test_rows_are_enough_for_small_lifts_or_for_large_ones_only(se, level):
    assert judged(1.0, [0.0, 0.0], 2_000, replace(LIFT, se=se, low=-0.01))[2].level == level


def test_a_lift_of_the_smallest_detectable_size_is_significant_in_four_of_five_samples():
    rng = np.random.default_rng(2)
    drawn_lifts = rng.normal(LIFT.detectable, LIFT.se, 100_000)
    assert np.mean(drawn_lifts > 1.96 * LIFT.se) == pytest.approx(0.8, abs=0.005)


@pytest.mark.parametrize("se", [0.0, math.nan])
def test_without_a_standard_error_nothing_is_said_of_lifts(se):
    found = judged(1.0, [0.0, 0.0], 500, replace(LIFT, se=se))[2]
    assert (found.level, found.number) == ("open", "not known")


def test_a_model_that_is_left_as_it_is_has_no_lift_to_tell_from_zero():
    same = replace(LIFT, auc=0.0, se=0.0, low=0.0, high=0.0)
    found = judged(1.0, [0.0, 0.0], 500, same)[2]
    assert (found.level, found.number) == ("open", "no lift to tell")
