import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import poisson

from hetcal.calibrators.bootstrap import (
    Amounts,
    Refits,
    areas,
    best_heights,
    bootstrap_lift,
    percentiles,
)
from hetcal.calibrators.leaf_calibrator import FEW, LeafCalibrator
from hetcal.calibrators.platt import fit_platt
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.errors import CalibrationError
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import auc

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


def test_a_leaf_without_a_slope_has_an_intercept_in_every_replicate():
    calibration, test = (Cells.of_rows(*sample(3_000, seed, small=150)) for seed in (0, 1))
    parts = calibration.score, calibration.y, calibration.leaf
    calibrator = LeafCalibrator().fit(*parts)
    assert [each.fallback for each in calibrator.maps_] == [None, None, None, FEW]
    found = bootstrap_lift(calibration, test, calibrator, replicates=1_000)
    rng, naive = np.random.default_rng(5), []
    for _ in range(400):
        a, b = (each.chosen(rng.integers(0, 3_000, 3_000)) for each in (calibration, test))
        again = LeafCalibrator().fit(a.score, a.y, a.leaf)
        naive.append(auc(b.y, again.predict_logit(b.score, b.leaf)) - auc(b.y, b.score))
    assert found.se == pytest.approx(np.std(naive), rel=0.15)


def test_heights_minimise_the_penalised_loss():
    rng = np.random.default_rng(0)
    weight, logits = rng.uniform(0, 3, (4, 30)), rng.normal(-3, 2, (4, 30))
    positive = np.arange(30) < 25
    for w, z, found in zip(weight, logits, best_heights(weight, logits, positive), strict=True):

        def loss(height, w=w, z=z):
            wrong = np.where(positive, -z - height, z + height)
            return w @ np.logaddexp(0, wrong) + height**2 / 2

        assert found == pytest.approx(minimize_scalar(loss, tol=1e-12).x, abs=1e-6)


def test_the_kth_of_b_replicates_in_order_stands_for_k_by_b_plus_1():
    drawn = np.random.default_rng(0).permutation(np.append(np.arange(1.0, 40.0), np.nan))
    assert percentiles(drawn, [0.025, 0.5, 0.975]) == pytest.approx((1, 20, 39))
    assert percentiles(drawn, [0.03125, 0.001]) == pytest.approx((1.25, 1))


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


def test_linear_maps_of_any_method_can_be_kept():
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


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


def grouped(rows, seed=0):
    """Rows in two groups, 2 : 1, with slopes 1 and 0.3."""
    rng = np.random.default_rng(seed)
    group = np.sort(np.arange(rows) % 3 // 2)
    scores = rng.normal(scale=2, size=rows) + group
    y = rng.binomial(1, expit(np.where(group == 1, 0.3, 1.0) * scores - 0.5))
    return scores, y, group, rng.poisson(1.0, (20, rows)).astype(float)


def refits_of(scores, y, group):
    fit = fit_platt(scores, y, group, [0, 1])
    return Refits(scores, y == 1, np.searchsorted(group, [0, 1]), fit.slope, fit.intercept)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [60, 600, 6_000])
def test_every_replicate_has_the_maximum_likelihood_of_its_own_weights(rows):
    scores, y, group, weight = grouped(rows)
    slope, intercept = refits_of(scores, y, group).refit(weight)
    for r in range(len(weight)):
        fit = fit_platt(scores, y, group, [0, 1], weight[r])
        expected = np.where(fit.slope > 0, fit.slope, np.nan)
        assert slope[r] == pytest.approx(expected, rel=2e-3, nan_ok=True)
        close = pytest.approx(np.where(fit.slope > 0, fit.intercept, np.nan), abs=5e-3, nan_ok=True)
        assert intercept[r] == close


@pytest.mark.usefixtures("way")
def test_replicates_whose_steps_diverge_have_their_own_maximum_likelihood():
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(size=40), 1)
    y = rng.binomial(1, expit(2 * scores))
    weight = rng.poisson(1.0, (200, 40)).astype(float)
    fit = fit_platt(scores, y, np.zeros(40, int), [0])
    slope, _ = Refits(scores, y == 1, np.array([0]), fit.slope, fit.intercept).refit(weight)
    for found, drawn in zip(slope, weight, strict=True):
        expected = fit_platt(scores, y, np.zeros(40, int), [0], drawn).slope
        assert found == pytest.approx(expected, rel=5e-3, nan_ok=True)


@pytest.mark.usefixtures("way")
def test_a_replicate_without_a_rising_map_has_none():
    scores, y, group, weight = grouped(600)
    weight[0, (group == 0) & (y == 1)] = 0
    weight[1, (group == 1) & ((y == 1) != (scores < 1))] = 0
    slope, intercept = refits_of(scores, y, group).refit(weight)
    assert np.isnan(slope[0]).tolist() == np.isnan(intercept[0]).tolist() == [True, False]
    assert np.isnan(slope[1]).tolist() == [False, True]
    assert not np.isnan(slope[2:]).any()


def test_no_groups_have_no_maps():
    none = np.zeros(0)
    refits = Refits(none, none > 0, np.zeros(0, int), none, none)
    slope, intercept = refits.refit(np.zeros((3, 0)))
    assert slope.shape == intercept.shape == (3, 0)


@pytest.mark.usefixtures("way")
def test_maps_of_many_rows_are_within_a_fiftieth_of_their_standard_errors():
    scores, y, group, weight = grouped(30_000)
    slope, intercept = refits_of(scores, y, group).refit(weight)
    for r in range(3):
        fit = fit_platt(scores, y, group, [0, 1], weight[r])
        assert np.all(np.abs(slope[r] - fit.slope) <= 0.02 * fit.slope_se)
        assert np.all(np.abs(intercept[r] - fit.intercept) <= 0.02 * fit.intercept_se)


def test_many_rows_take_no_step_with_exponentials_of_their_own(monkeypatch):
    scores, y, group, weight = grouped(30_000)
    refits = refits_of(scores, y, group)
    monkeypatch.setattr(Refits, "_newton_sums", None)
    assert np.all(refits.refit(weight)[0] > 0)


@pytest.mark.parametrize("rows", [0.5, 3, 24, 25, 1_000])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_drawn_weights_have_the_mean_and_variance_of_poisson_rows(rows, weight):
    amounts = Amounts(np.full(40, rows * weight), np.full(40, rows * weight**2))
    drawn = amounts.draw(5_000, np.random.default_rng(0))
    assert drawn.shape == (5_000, 40)
    assert drawn.min() >= 0
    # 200,000 draws: five standard errors of the mean and of the variance.
    assert drawn.mean() == pytest.approx(rows * weight, abs=5 * weight * (rows / 2e5) ** 0.5)
    assert drawn.var() == pytest.approx(rows * weight**2, rel=5 * ((2 + 1 / rows) / 2e5) ** 0.5)


def test_rows_of_unequal_weight_are_drawn_with_their_own_variance():
    weights = np.array([1.0, 2.0, 10.0])
    amounts = Amounts(np.array([weights.sum()]), np.array([np.sum(weights**2)]))
    drawn = amounts.draw(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(weights.sum(), rel=0.01)
    assert drawn.var() == pytest.approx(np.sum(weights**2), rel=0.02)


def test_cells_without_rows_stay_empty():
    amounts = Amounts(np.array([0.0, 400.0, 0.0]), np.array([0.0, 400.0, 0.0]))
    drawn = amounts.draw(10, np.random.default_rng(0))
    assert np.all(drawn[:, [0, 2]] == 0)
    assert np.all(drawn[:, 1] > 0)


def test_rows_whose_squared_weights_vanish_are_drawn_as_none():
    amounts = Amounts(np.array([1e-200, 400.0]), np.array([1e-200**2, 400.0]))
    drawn = amounts.draw(10, np.random.default_rng(0))
    assert np.all(drawn[:, 0] == 0)
    assert np.all(drawn[:, 1] > 0)


def test_equal_seeds_draw_equal_rows():
    amounts = Amounts(np.array([3.0, 50.0]), np.array([3.0, 50.0]))
    one, other = (amounts.draw(5, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("rows", [1, 7, 24])
def test_few_rows_are_drawn_as_often_as_poisson_says(rows):
    amounts = Amounts(np.full(40, float(rows)), np.full(40, float(rows)))
    drawn = amounts.draw(5_000, np.random.default_rng(3))
    numbers = np.arange(60)
    share = np.bincount(drawn.astype(int).ravel(), minlength=60) / drawn.size
    expected = poisson.pmf(numbers, rows)
    # 200,000 draws, and a step of the table of 65,536 quantiles.
    assert np.all(np.abs(share - expected) <= 5 * np.sqrt(expected / drawn.size) + 2 / 2**16)
