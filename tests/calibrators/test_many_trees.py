import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from hetcal.calibrators import many_trees
from hetcal.calibrators.many_trees import fit_shrunken_maps
from hetcal.calibrators.platt import fit_platt


def rows(seed=0, size=1_200, trees=2, leaves=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.3, 1.4, size)
    leaf = rng.integers(0, leaves, (size, trees)) + leaves * np.arange(trees)
    y = (rng.random(size) < expit(logits * (0.5 + leaf[:, 0] / 2) - 0.4)).astype(np.int64)
    return logits, y, leaf, leaves * trees, rng.uniform(0.2, 3.0, size)


def best_by_scipy(logits, y, penalty, weight):
    """One leaf by a general minimiser; mean and deviation are those of all rows."""
    inside, w, centre, scale = weight

    def loss(place):
        mapped = logits + place[0] * (logits - centre) / scale + place[1]
        fit = w[inside] @ (np.logaddexp(0, mapped[inside]) - y[inside] * mapped[inside])
        return fit + penalty / 2 * (place @ place)

    bounds = [(-scale, None), (None, None)]  # the slope is not below 0
    c, d = minimize(loss, np.zeros(2), bounds=bounds, tol=1e-12).x
    return 1 + c / scale, d - c * centre / scale


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [0.5, 30.0])
def test_maps_minimise_the_penalised_loss(penalty, weighted):
    logits, y, leaf, leaves, weight = rows()
    w = weight * weight.sum() / (weight**2).sum() if weighted else np.ones(len(y))
    maps = fit_shrunken_maps(logits, y, leaf, leaves, penalty, weight if weighted else None)
    centre = np.average(logits, weights=w)
    scale = np.sqrt(np.average((logits - centre) ** 2, weights=w))
    for number in range(leaves):
        inside = (leaf == number).any(axis=1)
        expected = best_by_scipy(logits, y, penalty, (inside, w, centre, scale))
        assert (maps.slope[number], maps.intercept[number]) == pytest.approx(expected, abs=1e-4)


def test_a_weak_penalty_gives_platts_maps():
    logits, y, leaf, leaves, _ = rows()
    maps = fit_shrunken_maps(logits, y, leaf, leaves, 1e-6)
    plain = fit_platt(logits, y, leaf[:, 0], [0, 1, 2])
    assert np.allclose(maps.slope[:3], plain.slope, atol=1e-6)
    assert np.allclose(maps.intercept[:3], plain.intercept, atol=1e-6)


def test_a_strong_penalty_leaves_the_logit():
    logits, y, leaf, leaves, _ = rows()
    maps = fit_shrunken_maps(logits, y, leaf, leaves, 1e9)
    assert np.allclose(maps.mean_logit(logits, leaf), logits, atol=1e-5)


def test_the_unit_of_the_weights_does_not_matter():
    logits, y, leaf, leaves, weight = rows()
    one = fit_shrunken_maps(logits, y, leaf, leaves, 5.0, weight)
    other = fit_shrunken_maps(logits, y, leaf, leaves, 5.0, 1_000 * weight)
    assert np.allclose(one.slope, other.slope, atol=1e-9)


def test_a_leaf_without_rows_and_one_of_one_class_stay_finite():
    logits, y, leaf, leaves, _ = rows()
    y[leaf[:, 0] == 0] = 1
    maps = fit_shrunken_maps(logits, y, leaf, leaves + 1, 1.0)
    assert (maps.slope[-1], maps.intercept[-1]) == (1.0, 0.0)
    assert np.isfinite(maps.slope).all()
    assert maps.intercept[0] > 0


def test_mean_logit_is_the_mean_over_the_trees():
    logits, y, leaf, leaves, _ = rows()
    maps = fit_shrunken_maps(logits, y, leaf, leaves, 5.0)
    by_hand = np.mean([maps.slope[each] * logits + maps.intercept[each] for each in leaf.T], axis=0)
    assert np.allclose(maps.mean_logit(logits, leaf), by_hand, rtol=1e-13)


def test_rows_taken_in_parts_give_the_maps_of_all_at_once(monkeypatch):
    logits, y, leaf, leaves, weight = rows()
    monkeypatch.setattr(many_trees, "BLOCK", 2 * len(y))
    whole = fit_shrunken_maps(logits, y, leaf, leaves, 5.0, weight)
    monkeypatch.setattr(many_trees, "BLOCK", 77)
    parts = fit_shrunken_maps(logits, y, leaf, leaves, 5.0, weight)
    assert np.allclose(parts.slope, whole.slope, rtol=0, atol=1e-12)
    assert np.allclose(parts.intercept, whole.intercept, rtol=0, atol=1e-12)


@pytest.mark.parametrize("penalty", [0.3, 5.0, 80.0])
def test_a_leaf_of_reversed_scores_has_the_best_map_of_slope_0(penalty):
    logits, y, leaf, leaves, weight = rows()
    inside = leaf[:, 0] == 1
    y[inside] = np.random.default_rng(1).random(inside.sum()) < expit(0.6 - 3 * logits[inside])
    w = weight * weight.sum() / (weight**2).sum()
    centre = np.average(logits, weights=w)
    scale = np.sqrt(np.average((logits - centre) ** 2, weights=w))
    maps = fit_shrunken_maps(logits, y, leaf, leaves, penalty, weight)
    for number in range(leaves):
        here = (leaf == number).any(axis=1)
        expected = best_by_scipy(logits, y, penalty, (here, w, centre, scale))
        assert (maps.slope[number], maps.intercept[number]) == pytest.approx(expected, abs=1e-4)
    assert (maps.slope >= 0).all()
    assert maps.slope[1] == 0


def test_equal_logits_get_shrunken_rates_of_the_leaves():
    _, y, leaf, leaves, _ = rows()
    same = np.full(len(y), 0.3)
    maps = fit_shrunken_maps(same, y, leaf, leaves + 1, 2.0)
    for number in range(leaves):
        ones = y[(leaf == number).any(axis=1)]

        def loss(d, ones=ones):
            return np.sum(np.logaddexp(0, 0.3 + d) - ones * (0.3 + d)) + d**2

        found = maps.slope[number] * 0.3 + maps.intercept[number]
        assert found == pytest.approx(0.3 + minimize_scalar(loss, tol=1e-12).x, abs=1e-5)
    assert (maps.slope[-1], maps.intercept[-1]) == (1.0, 0.0)


def test_saturated_logits_have_finite_maps():
    logits, y, leaf, leaves, _ = rows()
    maps = fit_shrunken_maps(1_000 * logits, y, leaf, leaves, 0.3)
    assert np.isfinite([maps.slope, maps.intercept]).all()
    plain = fit_platt(1_000 * logits, y, leaf[:, 0], [0, 1, 2])
    weak = fit_shrunken_maps(1_000 * logits, y, leaf, leaves, 1e-9)
    assert 1_000 * weak.slope[:3] == pytest.approx(1_000 * plain.slope, rel=1e-2)
