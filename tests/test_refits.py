import numpy as np
import pytest
from scipy.special import expit

from hetcal.platt import fit_platt
from hetcal.refits import Groups


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


def sample(rows, seed=0):
    """Rows in two groups, 2 : 1, with slopes 1 and 0.3."""
    rng = np.random.default_rng(seed)
    group = np.sort(np.arange(rows) % 3 // 2)
    scores = rng.normal(scale=2, size=rows) + group
    y = rng.binomial(1, expit(np.where(group == 1, 0.3, 1.0) * scores - 0.5))
    return scores, y, group, rng.poisson(1.0, (20, rows)).astype(float)


def make(scores, y, group):
    fit = fit_platt(scores, y, group, [0, 1])
    return Groups(scores, y == 1, np.searchsorted(group, [0, 1]), fit.slope, fit.intercept)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [60, 600, 6_000])
def test_every_replicate_has_the_maximum_likelihood_of_its_own_weights(rows):
    scores, y, group, weight = sample(rows)
    slope, intercept = make(scores, y, group).refit(weight)
    for r in range(len(weight)):
        fit = fit_platt(scores, y, group, [0, 1], weight[r])
        expected = np.where(fit.slope > 0, fit.slope, np.nan)
        assert slope[r] == pytest.approx(expected, rel=2e-3, nan_ok=True)
        close = pytest.approx(np.where(fit.slope > 0, fit.intercept, np.nan), abs=5e-3, nan_ok=True)
        assert intercept[r] == close


@pytest.mark.usefixtures("way")
def test_replicates_whose_steps_run_away_have_their_own_maximum_likelihood():
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(size=40), 1)
    y = rng.binomial(1, expit(2 * scores))
    weight = rng.poisson(1.0, (200, 40)).astype(float)
    fit = fit_platt(scores, y, np.zeros(40, int), [0])
    slope, _ = Groups(scores, y == 1, np.array([0]), fit.slope, fit.intercept).refit(weight)
    for found, drawn in zip(slope, weight, strict=True):
        expected = fit_platt(scores, y, np.zeros(40, int), [0], drawn).slope
        assert found == pytest.approx(expected, rel=5e-3, nan_ok=True)


@pytest.mark.usefixtures("way")
def test_a_replicate_without_a_rising_map_has_none():
    scores, y, group, weight = sample(600)
    weight[0, (group == 0) & (y == 1)] = 0
    weight[1, (group == 1) & ((y == 1) != (scores < 1))] = 0
    slope, intercept = make(scores, y, group).refit(weight)
    assert np.isnan(slope[0]).tolist() == np.isnan(intercept[0]).tolist() == [True, False]
    assert np.isnan(slope[1]).tolist() == [False, True]
    assert not np.isnan(slope[2:]).any()


def test_no_groups_have_no_maps():
    none = np.zeros(0)
    groups = Groups(none, none > 0, np.zeros(0, int), none, none)
    slope, intercept = groups.refit(np.zeros((3, 0)))
    assert slope.shape == intercept.shape == (3, 0)


@pytest.mark.usefixtures("way")
def test_maps_of_many_rows_are_within_a_fiftieth_of_their_standard_errors():
    scores, y, group, weight = sample(30_000)
    slope, intercept = make(scores, y, group).refit(weight)
    for r in range(3):
        fit = fit_platt(scores, y, group, [0, 1], weight[r])
        assert np.all(np.abs(slope[r] - fit.slope) <= 0.02 * fit.slope_se)
        assert np.all(np.abs(intercept[r] - fit.intercept) <= 0.02 * fit.intercept_se)


def test_many_rows_take_no_step_with_exponentials_of_their_own(monkeypatch):
    scores, y, group, weight = sample(30_000)
    groups = make(scores, y, group)
    monkeypatch.setattr(Groups, "_newton_sums", None)
    assert np.all(groups.refit(weight)[0] > 0)
