import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hetcal.metrics.curves import (
    OperatingPoint,
    at_false_positive_rate,
    points_in_words,
)

Y = np.array([0, 0, 0, 0, 1, 1, 1])
SCORES = np.array([-2.0, -1.0, 0.0, 1.0, 0.0, 0.0, 2.0])


@pytest.fixture(params=range(6))
def drawn(request):
    """Labels, scores with and without ties, and weights or None."""
    rng = np.random.default_rng(request.param)
    y = rng.integers(0, 2, 60)
    scores = rng.normal(y, 1.5)
    if request.param % 2:
        scores = np.round(scores)
    return y, scores, rng.random(60) if request.param >= 3 else None


def test_rates_count_the_rows_above_the_threshold_and_a_share_of_those_on_it():
    point = at_false_positive_rate(Y, SCORES, 1.5 / 4)
    assert (point.threshold, point.tied_share) == (0.0, 0.5)
    assert point.true_positive_rate == pytest.approx((1 + 0.5 * 2) / 3)


@pytest.mark.parametrize("rate", [0, 0.1, 0.25, 0.5, 0.8, 1])
def test_every_false_positive_rate_is_reached(drawn, rate):
    y, scores, weight = drawn
    assert at_false_positive_rate(y, scores, rate, weight).false_positive_rate == pytest.approx(
        rate, abs=1e-12
    )


def test_the_point_of_a_rate_is_that_of_its_threshold_and_share(drawn):
    y, scores, weight = drawn
    w = np.ones(len(y)) if weight is None else weight
    found = at_false_positive_rate(y, scores, 0.3, weight)
    called = w * ((scores > found.threshold) + found.tied_share * (scores == found.threshold))
    rates = found.false_positive_rate, found.true_positive_rate
    expected = [np.sum(called[y == label]) / np.sum(w[y == label]) for label in (0, 1)]
    assert rates == pytest.approx(expected)


def test_the_true_positive_rate_averaged_over_false_positive_rates_is_the_auc(drawn):
    """The paper's lemma on AUC; the curve is straight between the rates of the rows."""
    y, scores, weight = drawn
    w = np.ones(len(y)) if weight is None else weight
    falls = np.unique([np.sum((w * (y == 0))[scores > s]) for s in scores])
    edges = np.append(falls / np.sum(w * (y == 0)), 1)
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    heights = [at_false_positive_rate(y, scores, x, weight).true_positive_rate for x in middle]
    assert np.sum(heights * width) == pytest.approx(roc_auc_score(y, scores, sample_weight=weight))


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 0.5, 3.0])])
def test_a_false_positive_rate_of_one_passes_every_row(weight):
    y, scores = np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, -3.0, 2.0])
    assert at_false_positive_rate(y, scores, 1.0, weight) == OperatingPoint(-3.0, 1.0, 1.0, 1.0)


def test_rows_too_light_to_be_counted_next_to_heavy_ones_have_rates():
    y, scores = np.array([0, 0, 1, 1]), np.array([-1.0, 2.0, 0.0, 1.0])
    point = at_false_positive_rate(y, scores, 1.0, np.array([1e-20, 1.0, 1.0, 3.0]))
    assert (point.true_positive_rate, point.false_positive_rate) == (1.0, 1.0)


def test_one_class_has_no_rates():
    y, scores = np.ones(3, int), np.arange(3.0)
    assert np.isnan(at_false_positive_rate(y, scores, 0.5).true_positive_rate)


def test_points_are_told_with_their_thresholds_as_probabilities():
    before = OperatingPoint(0.0, 0.5, 0.4321, 0.1)
    after = OperatingPoint(np.log(3), 0.5, 0.5, 0.1)
    assert points_in_words(before, after) == (
        "At this false positive rate the true positive rate is 43.2 % before (T = 0.5000) and "
        "50.0 % after (T = 0.7500)."
    )
    none = at_false_positive_rate(np.ones(3, int), np.arange(3.0), 0.5)
    assert points_in_words(none, none) == ("There are no rates: all test rows are of one class.")


@pytest.mark.parametrize("digits", [0, 1, 8])
@pytest.mark.parametrize("rate", [0.0, 0.001, 1 / 3, 0.5, 0.999, 1.0])
def test_rows_without_weights_have_the_point_of_rows_of_weight_one(digits, rate):
    rng = np.random.default_rng(digits)
    scores, y = np.round(rng.normal(size=300), digits), (np.arange(300) % 3 == 0).astype(int)
    weighted = at_false_positive_rate(y, scores, rate, np.ones(300))
    assert at_false_positive_rate(y, scores, rate) == weighted
