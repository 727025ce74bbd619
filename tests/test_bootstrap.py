from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from hetcal.bootstrap import areas, bootstrap_lift
from hetcal.cells import Cells
from hetcal.delong import paired_delong
from hetcal.errors import CalibrationError
from hetcal.grid import Grid
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.metrics import auc
from hetcal.sketch import sketch_rows

LEAVES = [1, 2, 3, 4]
SLOPE = np.array([np.nan, 0.3, 1.0, 0.7, 1.0])
SHIFT = np.array([np.nan, -2.0, 0.0, 1.0, -1.0])


def sample(rows, seed, small=0):
    """Rows in four leaves; leaf 4 has only `small` of them."""
    rng = np.random.default_rng(seed)
    leaf = np.append(rng.choice(LEAVES[:3], rows - small), np.full(small, 4))
    scores = rng.normal(scale=2, size=rows)
    return scores, rng.binomial(1, expit(SLOPE[leaf] * scores + SHIFT[leaf])), leaf


def fitted(rows=20_000, small=0, weight=None):
    calibration, test = (
        sketch_rows(*sample(rows, seed, small), LEAVES, Grid(bins=512), weight).cells()
        for seed in (0, 1)
    )
    calibrator = LeafCalibrator().fit(
        calibration.score, calibration.y, calibration.leaf, calibration.weight
    )
    return calibration, test, calibrator


def delong(test, calibrator):
    after = test.mapped(calibrator.predict_logit)
    return paired_delong(test.y, test.centre, after.centre, test.weight, test.squares, test.rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_without_refits_the_standard_error_is_delongs(weighted):
    weight = np.random.default_rng(2).exponential(size=20_000) if weighted else None
    calibration, test, calibrator = fitted(weight=weight)
    found = bootstrap_lift(calibration, test, calibrator, refit=False, replicates=4_000)
    expected = delong(test, calibrator)
    # The standard deviation of 4,000 replicates is known to 1.1 %.
    assert found.se == pytest.approx(expected.se, rel=0.05)
    assert [found.low, found.high] == pytest.approx(
        [expected.low, expected.high], abs=0.15 * expected.se
    )
    assert found.replicates == 4_000


def test_refits_give_the_spread_of_a_naive_bootstrap_of_rows():
    rows = 1_500
    calibration, test = (Cells.of_rows(*sample(rows, seed)) for seed in (0, 1))
    calibrator = LeafCalibrator().fit(calibration.score, calibration.y, calibration.leaf)
    found = bootstrap_lift(calibration, test, calibrator, replicates=1_000)
    rng, naive = np.random.default_rng(5), []
    for _ in range(400):
        a, b = (each.chosen(rng.integers(0, rows, rows)) for each in (calibration, test))
        again = LeafCalibrator().fit(a.score, a.y, a.leaf)
        naive.append(auc(b.y, again.predict_logit(b.score, b.leaf)) - auc(b.y, b.score))
    # The ratio of two such deviations has a standard error of 4.2 %.
    assert found.se == pytest.approx(np.std(naive), rel=0.15)
    assert [found.low, found.high] == pytest.approx(
        np.quantile(naive, [0.025, 0.975]), abs=0.5 * found.se
    )
    assert found.se > bootstrap_lift(calibration, test, calibrator, refit=False).se


def test_a_leaf_with_a_fallback_and_an_unknown_one_share_the_map_of_all_rows():
    calibration, test, calibrator = fitted(3_000, small=30)
    assert calibrator.maps_[3].fallback == "few rows"
    found = bootstrap_lift(calibration, test, calibrator, replicates=1_000)
    assert found.se == pytest.approx(delong(test, calibrator).se, rel=0.5)
    moved = replace(test, leaf=np.where(test.leaf == 4, 99, test.leaf))
    assert bootstrap_lift(calibration, moved, calibrator, replicates=1_000) == found


def test_equal_seeds_give_equal_intervals_and_other_seeds_others():
    sides = fitted(2_000)
    one, other, third = (bootstrap_lift(*sides, replicates=50, seed=s) for s in (3, 3, 4))
    assert one == other
    assert one != third


def test_compiled_replicates_are_those_of_numpy(monkeypatch):
    pytest.importorskip("numba")
    sides, found = fitted(4_000, small=60), []
    for switch in "01":
        monkeypatch.setenv("HETCAL_COMPILED", switch)
        found.append(bootstrap_lift(*sides, replicates=200))
    assert vars(found[0]) == pytest.approx(vars(found[1]), rel=1e-9)


def test_areas_are_those_of_rows_one_replicate_at_a_time():
    rng = np.random.default_rng(0)
    zeros, ones = rng.integers(0, 3, (2, 5, 40)).astype(float)
    logits = rng.normal(size=(5, 40))
    y = np.repeat([0, 1], 40)
    for r, found in enumerate(areas(zeros, ones, logits)):
        expected = auc(y, np.tile(logits[r], 2), np.append(zeros[r], ones[r]))
        assert found == pytest.approx(expected, abs=1e-12)


def test_one_class_has_no_interval():
    calibration, test, calibrator = fitted(2_000)
    found = bootstrap_lift(calibration, test.chosen(test.y == 1), calibrator, replicates=5)
    assert np.isnan([found.low, found.high, found.se]).all()
    assert found.replicates == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"method": "isotonic"}, "'isotonic'"), ({"shrinkage": 3.0}, "'platt' with shrinkage 3")],
)
def test_maps_that_cannot_be_fitted_again_are_refused(settings, message):
    calibration, test, _ = fitted(4_000)
    calibrator = LeafCalibrator(**settings).fit_cells(calibration, LEAVES)
    with pytest.raises(CalibrationError, match=message):
        bootstrap_lift(calibration, test, calibrator, replicates=2)


def test_straight_maps_of_any_method_can_be_kept():
    calibration, test, _ = fitted(4_000)
    calibrator = LeafCalibrator(shrinkage=3.0).fit_cells(calibration, LEAVES)
    found = bootstrap_lift(calibration, test, calibrator, replicates=500, refit=False)
    assert found.se == pytest.approx(delong(test, calibrator).se, rel=0.15)


def test_the_unit_of_the_weights_does_not_matter():
    weight = np.random.default_rng(3).uniform(0.5, 2, 2_000)
    found = []
    for unit in (1.0, 2.0**-30):
        scores, y, leaf = sample(2_000, 0)
        cells = Cells.of_rows(scores, y, leaf, unit * weight)
        calibrator = LeafCalibrator().fit_cells(cells, [1, 2])
        found.append(bootstrap_lift(cells, cells, calibrator, replicates=40))
    assert found[0].se == pytest.approx(found[1].se, rel=1e-9)
    assert found[0].low == pytest.approx(found[1].low, rel=1e-9)
