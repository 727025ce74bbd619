import numpy as np
import pytest

from hetcal.cells.cells import ascending_order
from hetcal.metrics.ranking import rank_class, rank_classes

SCORES = np.array([2.0, -1.0, 2.0, 0.5])
WEIGHT = np.array([1.0, 3.0, 4.0, 0.5])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_weight_above_and_below_counts_ties_as_said(weight):
    ranked = rank_class(SCORES, weight)
    w = np.ones(4) if weight is None else weight
    for value in (-2.0, -1.0, 0.0, 0.5, 2.0, 3.0):
        at = np.array([value])
        assert ranked.at_or_above(at) == pytest.approx(w[value <= SCORES].sum())
        assert ranked.above(at) == pytest.approx(w[value < SCORES].sum())
        halves = w[value > SCORES].sum() + w[value == SCORES].sum() / 2
        assert ranked.below(at) == pytest.approx(halves)
    assert ranked.total == w.sum()


def test_classes_are_ranked_apart_without_rows_of_no_weight():
    y = np.array([1, 0, 1, 0], dtype=np.int8)
    positive, negative = rank_classes(y, SCORES, np.array([1.0, 3.0, 0.0, 0.5]))
    assert (positive.scores.tolist(), positive.total) == ([2], 1)
    assert (negative.scores.tolist(), negative.total) == ([-1, 0.5], 3.5)


def test_tied_rows_are_ordered_by_number():
    scores = np.repeat([3.0, 1.0, 2.0], 1_000)
    expected = [*range(1_000, 2_000), *range(2_000, 3_000), *range(1_000)]
    assert ascending_order(scores).tolist() == expected


@pytest.mark.parametrize("rows", [5_000, 20_000])
@pytest.mark.parametrize("kind", ["close", "tied", "wide", "signed zeros"])
def test_many_rows_are_ordered_as_a_stable_sort_orders_them(rows, kind):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=rows)
    scores = {
        "close": 1 + 1e-12 * scores,
        "tied": np.round(scores, 1),
        "wide": scores * 10.0 ** rng.integers(-300, 300, rows),
        "signed zeros": rng.choice([0.0, -0.0, 1.0, -np.inf, np.inf], rows),
    }[kind]
    expected = np.argsort(scores, kind="stable")
    assert np.array_equal(ascending_order(scores), expected)


def test_distinct_scores_are_in_ascending_order():
    scores = np.random.default_rng(0).normal(size=500)
    assert np.all(np.diff(scores[ascending_order(scores)]) > 0)


def test_an_empty_class_weighs_nothing():
    empty = rank_class(np.array([]))
    assert empty.total == 0
    assert empty.at_or_above(np.array([0.0])).tolist() == [0]
