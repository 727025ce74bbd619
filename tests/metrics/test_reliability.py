import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from hetcal.cells.cells import Cells
from hetcal.metrics.curves import reliability_curve, wilson_interval
from hetcal.metrics.metrics import calibration_error


def cells(y, scores, weight=None):
    return Cells.of_rows(scores, y, np.ones(y.size, dtype=int), weight)


def sample(rows=1_500, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.permutation(np.linspace(-4, 4, rows))
    return rng.binomial(1, expit(0.5 * scores)), scores, rng.exponential(size=rows)


def test_bins_hold_equal_rows_and_their_own_means():
    y, scores, _ = sample()
    curve = reliability_curve("before", cells(y, scores))
    bins = np.argsort(scores).reshape(15, 100)
    assert curve.name == "before"
    assert curve.count.tolist() == [100] * 15
    assert curve.predicted == pytest.approx([expit(scores[b]).mean() for b in bins])
    assert curve.observed == pytest.approx([y[b].mean() for b in bins])


def test_intervals_are_wilsons():
    y, scores, _ = sample()
    curve = reliability_curve("before", cells(y, scores))
    positives = np.round(curve.observed * curve.count).astype(int)
    expected = [binomtest(int(k), 100).proportion_ci(method="wilson") for k in positives.tolist()]
    assert curve.low == pytest.approx([each.low for each in expected], abs=1e-6)
    assert curve.high == pytest.approx([each.high for each in expected], abs=1e-6)


def test_the_gaps_of_the_curve_are_the_calibration_error():
    y, scores, weight = sample()
    curve = reliability_curve("a", cells(y, scores))
    error = np.sqrt(np.average((curve.predicted - curve.observed) ** 2, weights=curve.count))
    assert error == pytest.approx(calibration_error(y, scores))
    assert calibration_error(y, scores, weight) != pytest.approx(error)


def test_tied_scores_share_a_bin():
    scores = np.repeat([-1.0, 0.0, 1.0], [50, 30, 20])
    y = np.tile([0, 1], 50)
    curve = reliability_curve("a", cells(y, scores))
    assert curve.count.tolist() == [50, 30, 20]
    assert curve.predicted == pytest.approx(expit([-1, 0, 1]))
    assert curve.observed == pytest.approx([0.5, 0.5, 0.5])


def test_whole_weights_move_the_rates_as_repeated_rows_do():
    scores, y = np.repeat([-1.0, 1.0], 2), np.array([0, 1, 0, 1])
    curve = reliability_curve("a", cells(y, scores, np.array([3.0, 1.0, 1.0, 4.0])))
    assert curve.observed == pytest.approx([1 / 4, 4 / 5])
    assert curve.count.tolist() == [2, 2]


def test_equal_weights_leave_the_interval_as_it_is():
    y, scores, _ = sample()
    plain, doubled = (
        reliability_curve("a", cells(y, scores, w)) for w in (None, np.full(1_500, 2.0))
    )
    assert doubled.low == pytest.approx(plain.low)
    assert doubled.high == pytest.approx(plain.high)


def test_uneven_weights_widen_the_interval():
    y, scores, _ = sample()
    uneven = np.where(np.arange(y.size) % 10, 1.0, 50.0)
    even, wide = (reliability_curve("a", cells(y, scores, w)) for w in (None, uneven))
    assert np.all((wide.high - wide.low)[3:-3] > 1.5 * (even.high - even.low)[3:-3])


def test_bins_without_weight_are_left_out():
    curve = reliability_curve(
        "a", cells(np.array([0, 1]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    )
    assert curve.count.tolist() == [1]


def test_no_rows_give_an_empty_curve():
    curve = reliability_curve("a", cells(np.array([], dtype=int), np.array([])))
    assert [each.size for each in (curve.predicted, curve.observed, curve.low, curve.count)] == [
        0
    ] * 4


def test_the_interval_holds_the_rate_even_at_its_ends():
    rate, rows = np.array([0.0, 1.0, 1 / 3]), np.array([3.0, 7.0, 3.0])
    low, high = wilson_interval(rate, rows)
    assert np.all((low <= rate) & (rate <= high) & (low >= 0) & (high <= 1))
