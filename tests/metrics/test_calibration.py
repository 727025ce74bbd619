"""Calibration without bins, against direct sums, scikit-learn and simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from hetcal.cells.cells import Cells
from hetcal.metrics.calibration import (
    cumulative_difference,
    loss_parts,
    range_p_value,
    smooth_error,
)


def cells(score, y, weight=None):
    return Cells.of_rows(np.asarray(score, float), np.asarray(y), np.zeros(len(y), int), weight)


def drawn(rng, rows, scale=1.0, base=0.0):
    score = base + rng.standard_normal(rows)
    return scale * score, (rng.random(rows) < expit(score)).astype(int)


def direct_smooth_error(p, y, weight):
    """Kernel sums over the rows and their mirror images, on a grid of their own."""
    t = (np.arange(3_000) + 0.5) / 3_000
    gap = weight * (y - p) / weight.sum()

    def error(width):
        images = (2 * k + sign * p for k in (-2, -1, 0, 1, 2) for sign in (1, -1))
        kernel = sum(norm.pdf(t[:, None], each[None], width) for each in images)
        return np.abs(kernel @ gap).mean()

    return brentq(lambda width: error(width) - width, 1e-3, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_smooth_error_is_that_of_kernel_sums_over_mirrored_rows(weighted):
    rng = np.random.default_rng(0)
    score, y = drawn(rng, 400, scale=2.5)
    weight = rng.uniform(0.5, 2, 400) if weighted else None
    found = smooth_error(cells(score, y, weight))
    expected = direct_smooth_error(expit(score), y, np.ones(400) if weight is None else weight)
    assert found == pytest.approx(expected, abs=2e-4)


def test_the_smooth_error_of_a_constant_score_is_its_distance_from_the_rate():
    y = np.repeat([1, 0], [700, 300])
    assert smooth_error(cells(np.zeros(1000), y)) == pytest.approx(0.2, abs=1e-3)


def test_the_range_of_a_motion_has_the_mean_that_feller_found():
    reach = np.linspace(0, 8, 4_001)
    mean = np.trapezoid([range_p_value(each) for each in reach], reach)
    assert mean == pytest.approx(math.sqrt(8 / math.pi), abs=1e-6)
    assert range_p_value(60.0) == 0


def test_cumulative_differences_are_those_of_rows_in_order_and_tied_rows_come_at_once():
    score, y = np.array([2.0, -1.0, 0.5, 0.5]), np.array([1, 1, 0, 1])
    p = expit(score)
    path = np.cumsum([0, 1 - p[1], (0 - p[2]) + (1 - p[3]), 1 - p[0]])
    assert cumulative_difference(cells(score, y)).range == pytest.approx(np.ptp(path) / 4)


@pytest.mark.parametrize(("rows", "base"), [(1_000, 0.0), (150, -1.0)])
def test_p_values_of_calibrated_rows_are_uniform(rows, base):
    rng = np.random.default_rng(1)
    p = np.array([cumulative_difference(cells(*drawn(rng, rows, 1, base))).p for _ in range(2_000)])
    for level in (0.05, 0.2, 0.5, 0.8):
        low, high = binom.interval(0.999, p.size, level)
        assert low <= np.sum(p < level) <= high


def test_p_values_of_few_expected_positives_are_not_too_small():
    rng = np.random.default_rng(2)
    p = np.array([cumulative_difference(cells(*drawn(rng, 60, 1, -4.5))).p for _ in range(2_000)])
    for level in (0.01, 0.05, 0.2):
        assert np.sum(p < level) <= binom.ppf(0.999, p.size, level)


def test_saturated_scores_that_are_wrong_are_found_out():
    y = np.repeat([1, 0], [450, 50])
    assert cumulative_difference(cells(np.full(500, 12.0), y)).p < 1e-6


def test_the_parts_of_the_log_loss_are_those_of_isotonic_regression():
    rng = np.random.default_rng(3)
    score, y = drawn(rng, 3_000, scale=3)
    score, weight = np.round(score, 1), rng.uniform(0.5, 2, 3_000)
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(score, y, weight).predict(score)
    left = log_loss(y, fitted, sample_weight=weight)
    found = loss_parts(cells(score, y, weight))
    assert found.refinement == pytest.approx(left)
    whole = log_loss(y, expit(score), sample_weight=weight)
    assert found.calibration == pytest.approx(whole - left)


def test_without_rows_nothing_is_known():
    none = cells([], np.zeros(0, int))
    assert math.isnan(smooth_error(none))
    assert math.isnan(cumulative_difference(none).p)
    assert math.isnan(loss_parts(none).calibration)
