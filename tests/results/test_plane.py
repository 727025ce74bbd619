"""The plane between network and tree: regions of the maps, and the AUC on the way."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.platt import fit_platt_cells
from hetcal.cells.cells import Cells
from hetcal.results.evaluation import score_four_schemes
from hetcal.results.plane import REACH, ellipse, leaf_plane, network_to_tree

SLOPE, INTERCEPT = 0.6, -0.4


def drawn(leaves, rows, seed=0):
    """Rows of leaves whose best map is known."""
    rng = np.random.default_rng(seed)
    leaf = np.repeat(np.arange(1, leaves + 1), rows)
    scores = rng.normal(1.0, 1.5, leaf.size)
    y = (rng.random(leaf.size) < expit(SLOPE * scores + INTERCEPT)).astype(int)
    return scores, y, leaf


def distance(plane):
    """How far the true map lies from that of each leaf, in standard errors of the pair."""
    away = np.stack([plane["slope"] - SLOPE, plane["intercept"] - INTERCEPT], axis=1)
    names = ["slope_variance", "covariance", "covariance", "intercept_variance"]
    covariance = plane[names].to_numpy().reshape(-1, 2, 2)
    return np.sqrt(np.einsum("li,lij,lj->l", away, np.linalg.inv(covariance), away))


@pytest.mark.parametrize("weighted", [False, True])
def test_regions_hold_the_true_map_in_95_of_100_leaves(weighted):
    scores, y, leaf = drawn(1000, 400)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 4.0], y.size) if weighted else None
    plane = leaf_plane(Cells.of_rows(scores, y, leaf, weight), range(1, 1001))
    assert np.mean(distance(plane) <= REACH) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_are_the_squared_standard_errors_of_the_fit(weighted):
    scores, y, leaf = drawn(3, 500)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, y.size) if weighted else None
    cells = Cells.of_rows(scores, y, leaf, weight)
    plane, fit = leaf_plane(cells, [1, 2, 3]), fit_platt_cells(cells, [1, 2, 3])
    np.testing.assert_allclose(plane["slope_variance"], fit.slope_se**2, rtol=1e-6)
    np.testing.assert_allclose(plane["intercept_variance"], fit.intercept_se**2, rtol=1e-6)


def test_maps_and_rates_are_those_of_scikit_learn_and_of_the_counts():
    scores, y, leaf = drawn(2, 300)
    plane = leaf_plane(Cells.of_rows(scores, y, leaf), [1, 2]).set_index("leaf")
    for number in (1, 2):
        own, labels = scores[leaf == number], y[leaf == number]
        best = LogisticRegression(C=np.inf, tol=1e-10).fit(own[:, None], labels)
        found = plane.loc[number]
        assert found["slope"] == pytest.approx(best.coef_[0, 0], abs=1e-4)
        assert found["intercept"] == pytest.approx(best.intercept_[0], abs=1e-4)
        assert found["rate"] == pytest.approx(logit(labels.mean()))
        assert found["rows"] == 300


def test_an_ellipse_lies_at_the_same_distance_all_around():
    scores, y, leaf = drawn(1, 400)
    plane = leaf_plane(Cells.of_rows(scores, y, leaf), [1])
    slope, intercept = ellipse(plane.iloc[0], 40)
    # Moved so that the centre is the true map, from which distances are measured.
    moved = plane.loc[np.zeros(40, int)].assign(
        slope=SLOPE + slope - plane["slope"].iloc[0],
        intercept=INTERCEPT + intercept - plane["intercept"].iloc[0],
    )
    np.testing.assert_allclose(distance(moved), REACH)


def test_leaves_of_one_class_have_no_map_but_a_rate():
    scores, y, leaf = drawn(2, 50)
    y[leaf == 2] = 0
    plane = leaf_plane(Cells.of_rows(scores, y, leaf), [1, 2]).set_index("leaf")
    assert plane.loc[2, ["slope", "intercept", "covariance"]].isna().all()
    assert plane.loc[2, "rate"] == pytest.approx(logit(0.5 / 50))


def test_the_way_goes_from_the_network_to_the_rates():
    scores, y, leaf = drawn(4, 200)
    scores = scores + leaf  # the network over-uses the leaves
    calibration = Cells.of_rows(*drawn(4, 100, seed=2))
    maps = LeafCalibrator(min_rows=10).fit_cells(calibration, [1, 2, 3, 4])
    compared = score_four_schemes(Cells.of_rows(scores, y, leaf), calibration, maps)
    way = network_to_tree(compared)
    rates = leaf_plane(calibration, [1, 2, 3, 4])["rate"].to_numpy()[leaf - 1]
    for share, found in zip(way["share"], way["auc"], strict=True):
        mixed = (1 - share) * scores + share * rates
        assert found == pytest.approx(roc_auc_score(y, mixed), abs=1e-9)
    assert way["rows"].tolist() == [800] * 21


def test_of_very_many_rows_some_are_drawn_evenly():
    scores, y, leaf = drawn(2, 500)
    cells = Cells.of_rows(scores, y, leaf)
    maps = LeafCalibrator(min_rows=10).fit_cells(cells, [1, 2])
    way = network_to_tree(score_four_schemes(cells, cells, maps), most=250)
    assert way["rows"][0] == 250
    assert way["auc"][0] == pytest.approx(roc_auc_score(y[::4], scores[::4]))
