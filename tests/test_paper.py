"""The paper's claims, on data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.metrics import roc_auc_score

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.partitions.tree import TreePartition


@pytest.fixture(scope="module")
def toy():
    """Section 3: f | y ~ N(±1, sd 2), P(x = y) = 3/4, and the network f + 1.8 x - 0.9."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400_000)
    f = rng.normal(2 * y - 1, 2)
    x = np.where(rng.random(len(y)) < 0.75, y, 1 - y)
    return pd.DataFrame({"x": x}), f + 1.8 * x - 0.9, y


@pytest.fixture(scope="module")
def calibrated(toy):
    X, scores, y = toy
    leaf = TreePartition(3).fit(X, y).apply(X)
    return leaf, LeafCalibrator().fit(scores, y, leaf)


def test_the_leaves_of_the_toy_are_the_values_of_x(toy, calibrated):
    assert np.array_equal(calibrated[0], toy[0]["x"] + 1)


def test_the_toy_gives_back_slope_and_intercept(calibrated):
    """In leaf x: logit P(y) = f / 2 ± ln 3, and f = score - 1.8 x + 0.9."""
    low, high = calibrated[1].maps_
    intercept = np.log(3) - 0.45
    assert intercept == pytest.approx(0.6486, abs=1e-4)
    assert [low.slope, high.slope] == pytest.approx([0.5, 0.5], abs=0.01)
    assert [low.intercept, high.intercept] == pytest.approx([-intercept, intercept], abs=0.02)
    assert abs(low.slope - 0.5) < 4 * low.slope_se
    assert abs(high.intercept - intercept) < 4 * high.intercept_se


def test_calibration_lifts_the_auc_of_the_toy(toy, calibrated):
    _, scores, y = toy
    leaf, calibrator = calibrated
    after = calibrator.predict_logit(scores, leaf)
    assert roc_auc_score(y, scores) == pytest.approx(0.8302, abs=0.002)
    assert roc_auc_score(y, after) == pytest.approx(0.8533, abs=0.002)


def test_the_lift_of_the_toy_comes_from_pairs_across_leaves(toy, calibrated):
    _, scores, y = toy
    leaf, calibrator = calibrated
    after = calibrator.predict_logit(scores, leaf)
    for inside in (leaf == 1, leaf == 2):
        assert roc_auc_score(y[inside], after[inside]) == pytest.approx(
            roc_auc_score(y[inside], scores[inside]), abs=1e-12
        )


def test_one_map_for_all_rows_leaves_the_auc_unchanged(toy, calibrated):
    _, scores, y = toy
    pooled = calibrated[1].pooled_.logit(scores)
    assert roc_auc_score(y, pooled) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)


def test_calibrated_probabilities_add_up_to_the_positives_of_each_leaf(toy, calibrated):
    _, scores, y = toy
    leaf, calibrator = calibrated
    after = calibrator.predict(scores, leaf)
    for inside in (leaf == 1, leaf == 2):
        assert after[inside].sum() == pytest.approx(y[inside].sum(), rel=1e-8)


def test_a_score_that_says_nothing_gives_back_the_tree():
    """Section 5.2: slope 0 and the logit of the leaf's rate."""
    rng = np.random.default_rng(1)
    leaf = np.repeat([1, 2], 50_000)
    y = (rng.random(len(leaf)) < np.where(leaf == 1, 0.2, 0.6)).astype(int)
    scores = np.tile([-1.0, 1.0], 50_000)
    for inside, rate in ((leaf == 1, 0.2), (leaf == 2, 0.6)):
        found = LeafCalibrator().fit(scores[inside], y[inside], leaf[inside]).pooled_
        assert found.slope == pytest.approx(0, abs=4 * found.slope_se)
        assert found.intercept == pytest.approx(logit(rate), abs=4 * found.intercept_se)
