from dataclasses import astuple

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn import metrics as sklearn_metrics

from hetcal.metrics.metrics import (
    auc,
    brier,
    calibration_error,
    equal_mass_bins,
    log_loss,
    mean_confidence_minus_accuracy,
    measure,
    rows_of_leaves,
)


def average_precision(*rows):
    return measure(*rows).average_precision


def calibration_error_debiased(*rows):
    return measure(*rows).calibration_error_debiased


SKLEARN = {
    auc: lambda y, s, w: sklearn_metrics.roc_auc_score(y, s, sample_weight=w),
    average_precision: lambda y, s, w: sklearn_metrics.average_precision_score(
        y, s, sample_weight=w
    ),
    log_loss: lambda y, s, w: sklearn_metrics.log_loss(y, expit(s), sample_weight=w),
    brier: lambda y, s, w: sklearn_metrics.brier_score_loss(y, expit(s), sample_weight=w),
}


def sample(rows=2_000, decimals=8, seed=0):
    """Noisy logits; few decimals make many ties."""
    rng = np.random.default_rng(seed)
    y = rng.binomial(1, 0.3, rows).astype(np.int8)
    return y, np.round(rng.normal(size=rows) + y, decimals), rng.exponential(size=rows)


@pytest.mark.parametrize("measure_of", SKLEARN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("decimals", [8, 1, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_agree_with_scikit_learn(measure_of, decimals, weighted):
    y, scores, weight = sample(decimals=decimals)
    weight = weight if weighted else None
    expected = SKLEARN[measure_of](y, scores, weight)
    assert measure_of(y, scores, weight) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure_of", SKLEARN, ids=lambda f: f.__name__)
def test_a_whole_weight_is_that_many_rows(measure_of):
    y, scores, _ = sample(300, decimals=1)
    times = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = measure_of(np.repeat(y, times), np.repeat(scores, times))
    assert measure_of(y, scores, times.astype(float)) == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_ranking_measures_of_one_class_are_not_defined(label):
    y, scores = np.full(3, label), np.array([-1.0, 0.0, 2.0])
    assert np.isnan([auc(y, scores), average_precision(y, scores)]).all()
    assert log_loss(y, scores) == pytest.approx(
        sklearn_metrics.log_loss(y, expit(scores), labels=[0, 1])
    )


def test_a_class_without_weight_counts_as_absent():
    y, scores, weight = np.array([0, 1, 0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 2.0])
    assert np.isnan([auc(y, scores, weight), average_precision(y, scores, weight)]).all()


def test_nothing_is_defined_without_rows():
    none = np.array([])
    measured = measure(none.astype(int), none)
    assert np.isnan(astuple(measured)).all()
    assert np.isnan(mean_confidence_minus_accuracy(none.astype(int), none))


def test_log_loss_of_extreme_logits_is_not_clipped():
    y, scores = np.array([1, 0, 1]), np.array([-800.0, 1000.0, 800.0])
    assert log_loss(y, scores) == pytest.approx(600)


def test_calibration_error_is_the_root_mean_squared_gap_of_equal_bins():
    rng = np.random.default_rng(3)
    scores = rng.permutation(np.linspace(-3, 3, 150))
    y = rng.binomial(1, 0.5, 150)
    bins = np.argsort(scores).reshape(15, 10)
    gaps = [expit(scores[b]).mean() - y[b].mean() for b in bins]
    assert calibration_error(y, scores) == pytest.approx(np.sqrt(np.mean(np.square(gaps))))


def test_calibration_error_of_two_tied_scores_by_hand():
    # 60 rows at probability 1/2 of which 20 are positive, 40 rows at 3/4 of which 36 are.
    scores = np.repeat([0.0, np.log(3)], [60, 40])
    y = np.repeat([1, 0, 1, 0], [20, 40, 36, 4])
    expected = np.sqrt(0.6 * (1 / 2 - 1 / 3) ** 2 + 0.4 * (3 / 4 - 9 / 10) ** 2)
    assert calibration_error(y, scores) == pytest.approx(expected)
    doubled = calibration_error(y[::-1], scores[::-1], np.full(100, 2.0))
    assert doubled == pytest.approx(expected)


def test_calibration_error_weighs_rows():
    scores, y = np.array([0.0, 0.0]), np.array([1, 0])
    assert calibration_error(y, scores, np.array([3.0, 1.0])) == pytest.approx(0.25)


def test_the_debiased_error_of_two_tied_scores_by_hand():
    # As above; the observed rates have the variances (1/3)(2/3)/59 and (9/10)(1/10)/39.
    scores = np.repeat([0.0, np.log(3)], [60, 40])
    y = np.repeat([1, 0, 1, 0], [20, 40, 36, 4])
    squares = (1 / 6) ** 2 - 2 / 9 / 59, (3 / 20) ** 2 - 9 / 100 / 39
    expected = np.sqrt(0.6 * squares[0] + 0.4 * squares[1])
    assert calibration_error_debiased(y, scores) == pytest.approx(expected)
    assert calibration_error_debiased(y, scores, np.full(100, 2.0)) == pytest.approx(expected)


def test_the_debiased_error_counts_weighted_rows_as_kish_does():
    scores, y, weight = np.zeros(4), np.array([1, 1, 1, 0]), np.array([1.0, 2.0, 3.0, 1.0])
    rate, rows = 6 / 7, 49 / 15
    expected = np.sqrt((1 / 2 - rate) ** 2 - rate * (1 - rate) / (rows - 1))
    assert calibration_error_debiased(y, scores, weight) == pytest.approx(expected)


def test_gaps_that_chance_explains_leave_no_debiased_error():
    scores, y = np.zeros(100), np.repeat([0, 1], [51, 49])
    assert calibration_error(y, scores) == pytest.approx(0.01)
    assert calibration_error_debiased(y, scores) == 0


def test_one_row_has_no_variance_to_take_off():
    y, scores = np.array([1]), np.array([0.0])
    assert calibration_error_debiased(y, scores) == calibration_error(y, scores) == 0.5


def test_the_squared_debiased_error_is_right_on_average_and_the_plain_one_too_large():
    """15 scores, each with its own rate 0.1 above the probability: the true error is 0.1."""
    rng = np.random.default_rng(0)
    scores = np.repeat(logit(np.linspace(0.2, 0.8, 15)), 40)
    squares = []
    for _ in range(400):
        y = rng.binomial(1, expit(scores) + 0.1)
        squares.append([f(y, scores) ** 2 for f in (calibration_error, calibration_error_debiased)])
    plain, debiased = np.mean(squares, axis=0)
    assert debiased == pytest.approx(0.01, abs=0.0006)
    assert plain == pytest.approx(
        0.01 + np.mean((0.1 + expit(scores)) * (0.9 - expit(scores))) / 40, rel=0.05
    )


def test_equal_mass_bins_hold_equal_rows_and_keep_ties_together():
    scores = np.random.default_rng(0).permutation(30.0 + np.arange(30))
    assert np.bincount(equal_mass_bins(scores, 15)).tolist() == [2] * 15
    tied = np.repeat([1.0, 2.0, 3.0], [70, 20, 10])
    assert all(np.unique(equal_mass_bins(tied, 15)[tied == v]).size == 1 for v in (1, 2, 3))


def test_equal_mass_bins_with_unit_weights_are_those_without():
    scores = sample(1_001, decimals=2)[1]
    with_ones = equal_mass_bins(scores, 15, np.ones(scores.size))
    assert with_ones.tolist() == equal_mass_bins(scores, 15).tolist()


def test_equal_mass_bins_do_not_depend_on_the_order_of_rows_with_equal_scores():
    _, scores, weight = sample(300, decimals=0)
    order = np.random.default_rng(1).permutation(scores.size)
    moved = equal_mass_bins(scores[order], 15, weight[order])
    assert moved.tolist() == equal_mass_bins(scores, 15, weight)[order].tolist()
    light_last = equal_mass_bins(np.array([0.0, 1.0, 1.0, 2.0]), 2, np.array([1.0, 4.0, 1.0, 4.0]))
    assert light_last.tolist() == [0, 0, 0, 1]  # by hand: below the last 1 is 2, half is 5


def test_equal_mass_bins_hold_equal_weight():
    _, scores, weight = sample(5_000)
    mass = np.bincount(equal_mass_bins(scores, 10, weight), weight)
    assert np.abs(mass - weight.sum() / 10).max() <= weight.max()


def test_confidence_minus_accuracy_by_hand():
    # Confidences 3/4, 3/4, 1/2; right, wrong, and half right at a score of zero.
    scores, y = np.array([np.log(3), -np.log(3), 0.0]), np.array([1, 1, 0])
    assert mean_confidence_minus_accuracy(y, scores) == pytest.approx((2 - 1.5) / 3)
    weight = np.array([1.0, 2.0, 1.0])
    assert mean_confidence_minus_accuracy(y, scores, weight) == pytest.approx((2.75 - 1.5) / 4)


def test_rows_of_leaves_are_in_order_and_empty_where_a_leaf_has_none():
    leaf = np.array([3, 1, 3, 5, 1])
    found = [rows.tolist() for rows in rows_of_leaves(leaf, [1, 2, 3, 7])]
    assert found == [[1, 4], [], [0, 2], []]
