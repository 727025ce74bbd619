"""The paper's Section 3: golden numbers, and the same by drawn rows and by quadrature of scipy."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score

from hetcal.data.demo import toy_table
from hetcal.results.example import (
    BEST_WEIGHT,
    Network,
    calibrated,
    calibration_error,
    density,
    estimated_error,
    leaf_densities,
    leaf_fits,
    log_loss,
    train_auc,
    true_auc,
)


@pytest.mark.parametrize(
    ("weight", "area"), [(0, 0.7602), (1.8, 0.8302), (3.6, 0.8520), (4 * math.log(3), 0.8533)]
)
def test_the_auc_of_new_rows_has_the_golden_numbers(weight, area):
    assert true_auc(Network(weight)) == pytest.approx(area, abs=5e-5)


def test_no_weight_ranks_new_rows_better_than_4_ln_3():
    found = minimize_scalar(lambda each: -true_auc(Network(each)), (1, 3), tol=1e-10)
    assert found.x == pytest.approx(BEST_WEIGHT, abs=1e-3)


def test_training_converges_to_the_default_network():
    start, how = (1.0, 0.0), {"method": "Nelder-Mead", "tol": 1e-7}
    found = minimize(lambda each: log_loss(Network(*each), "train"), start, **how).x
    assert found == pytest.approx([1.8004, -0.9002], abs=1e-4)


@pytest.mark.parametrize(("rows", "scale"), [("train", 2.076), ("truth", 0.5)])
def test_training_rows_want_a_larger_scale_and_new_rows_half(rows, scale):
    found = minimize_scalar(lambda each: log_loss(Network(0, 0, each), rows), (0.3, 1)).x
    assert found == pytest.approx(scale, abs=1e-3)


@pytest.mark.parametrize(("weight", "area"), [(1.06, 0.9758), (1.8, 0.9727)])
def test_the_auc_of_train_rows_is_largest_at_a_smaller_weight(weight, area):
    assert train_auc(Network(weight)) == pytest.approx(area, abs=5e-5)
    assert train_auc(Network(1.06)) > max(train_auc(Network(each)) for each in (0.8, 1.3, 1.8))


@pytest.mark.parametrize("rows", ["train", "truth"])
def test_densities_have_an_area_of_one(rows):
    for label in (0, 1):
        inner = quad(lambda f, label=label: float(density(np.array(f), label, rows)), -20, 20)[0]
        assert inner == pytest.approx(1, abs=1e-6)


def test_drawn_rows_have_these_numbers():
    rows = toy_table(400_000, seed=3)
    train, new = (rows[(rows["split"] == "train") == each] for each in (True, False))
    for part, area, name in ((train, train_auc, "train"), (new, true_auc, "truth")):
        assert roc_auc_score(part["y"], part["score"]) == pytest.approx(area(Network()), abs=0.003)
        loss = sklearn_log_loss(part["y"], expit(part["score"]))
        assert loss == pytest.approx(log_loss(Network(), name), abs=0.005)


def test_maps_of_the_leaves_are_those_of_the_paper():
    low, high = leaf_fits(Network())
    assert [low.slope, high.slope] == pytest.approx([0.5, 0.5])
    assert [low.intercept, high.intercept] == pytest.approx([-0.6486, 0.6486], abs=5e-5)


def test_the_calibration_error_is_that_of_rows_and_of_groups_of_equal_score():
    """By brute force: rows whose true probability is known, and fine bins of the score."""
    rng = np.random.default_rng(5)
    network, y = Network(2.5, -1.5, 0.8), rng.integers(0, 2, 2_000_000)
    x = np.where(rng.random(y.size) < 0.75, y, 1 - y)
    f = rng.normal(2 * y - 1, 2)
    score = 0.8 * f + 2.5 * x - 1.5
    truth = expit(f / 2 + np.where(x == 1, 1, -1) * np.log(3))
    error = expit(score) - truth
    assert calibration_error(network) == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-3)
    place = np.digitize(score, np.linspace(-9, 11, 400))
    rows, total = np.bincount(place), np.bincount(place, error)
    grouped = np.sqrt(np.sum(total[rows > 0] ** 2 / rows[rows > 0]) / y.size)
    assert estimated_error(network) == pytest.approx(grouped, abs=1e-3)


@pytest.mark.parametrize("before", [Network(), Network(0, 2, 0.7)])
def test_a_calibrated_network_has_no_error(before):
    network = calibrated(before)
    assert true_auc(network) == pytest.approx(true_auc(Network(BEST_WEIGHT)), abs=1e-12)
    assert calibration_error(network) == pytest.approx(0, abs=1e-12)
    assert estimated_error(network) == pytest.approx(0, abs=1e-12)


def test_the_leaves_of_a_label_have_an_area_of_one_together():
    found = leaf_densities(Network(3, -1, 0.7))
    for _, part in found.groupby(["label", "rows"]):
        areas = [np.trapezoid(each["density"], each["logit"]) for _, each in part.groupby("leaf")]
        assert sum(areas) == pytest.approx(1, abs=1e-4)
