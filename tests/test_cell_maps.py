import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from hetcal.cell_maps import fit_bias, fit_histogram, fit_isotonic
from hetcal.cells import Cells
from hetcal.grid import Grid
from hetcal.metrics import equal_mass_bins
from hetcal.sketch import sketch_rows

LEAVES = [1, 2, 3]


def sample(rows=4_000, decimals=8):
    rng = np.random.default_rng(0)
    leaf = rng.choice([1, 2], rows)
    scores = np.round(rng.normal(scale=2, size=rows), decimals)
    y = rng.binomial(1, expit(np.where(leaf == 1, 0.5, 1.5) * scores - 1))
    return scores, y, leaf, rng.exponential(size=rows)


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_maps_of_rows_are_those_of_scikit_learn(decimals, weighted):
    scores, y, leaf, weight = sample(decimals=decimals)
    weight = weight if weighted else np.ones(y.size)
    maps = fit_isotonic(Cells.of_rows(scores, y, leaf, weight), LEAVES)
    grid = np.linspace(-9, 9, 500)
    for each in maps[:2]:
        inside = leaf == each.leaf
        rival = IsotonicRegression(out_of_bounds="clip")
        rival.fit(scores[inside], y[inside], weight[inside])
        for at in (scores[inside], grid):
            assert each.predict(at) == pytest.approx(rival.predict(at), abs=1e-9)
    assert np.isnan(maps[2].predict(grid)).all()


def test_isotonic_maps_of_a_sketch_are_close_to_those_of_rows():
    scores, y, leaf, _ = sample(40_000)
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid()).cells()
    for one, other in zip(
        fit_isotonic(cells, [1, 2]),
        fit_isotonic(Cells.of_rows(scores, y, leaf), [1, 2]),
        strict=True,
    ):
        inside = scores[leaf == one.leaf]
        assert np.abs(one.predict(inside) - other.predict(inside)).mean() < 2e-3


@pytest.mark.parametrize("weighted", [False, True])
def test_a_histogram_map_is_the_rate_in_bins_of_equal_weight(weighted):
    scores, y, leaf, weight = sample(decimals=1)
    weight = weight if weighted else np.ones(y.size)
    maps = fit_histogram(Cells.of_rows(scores, y, leaf, weight), LEAVES, bins=10)
    for each in maps[:2]:
        inside = leaf == each.leaf
        s, labels, w = scores[inside], y[inside], weight[inside]
        bin_of = equal_mass_bins(s, 10, w)
        expected = [np.average(labels[bin_of == b], weights=w[bin_of == b]) for b in bin_of]
        assert each.predict(s) == pytest.approx(expected)
    assert np.isnan(maps[2].predict(scores)).all()


def test_a_histogram_map_of_a_sketch_gives_every_row_the_rate_of_its_bin():
    scores, y, leaf, _ = sample()
    (found,) = fit_histogram(sketch_rows(scores, y, leaf, LEAVES, Grid()).cells(), [2], bins=5)
    p, labels = found.predict(scores[leaf == 2]), y[leaf == 2]
    assert found.probability.size == 5
    for each in found.probability:
        assert labels[p == each].mean() == pytest.approx(each)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1, 30, 500])
def test_the_bias_makes_the_mean_probability_the_rate(weighted, scale):
    scores, y, leaf, weight = sample()
    scores, weight = scale * scores, weight if weighted else np.ones(y.size)
    found = fit_bias(Cells.of_rows(scores, y, leaf, weight), LEAVES)
    for position, each in enumerate([1, 2]):
        s, labels, w = scores[leaf == each], y[leaf == each], weight[leaf == each]
        expected = brentq(
            lambda b, s=s, labels=labels, w=w: np.sum(w * (expit(s + b) - labels)),
            -5e3,
            5e3,
            xtol=1e-12,
        )
        assert found[position] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert np.isnan(found[2])


def test_a_leaf_of_one_class_has_no_bias():
    cells = Cells.of_rows(np.arange(4.0), np.array([1, 1, 0, 1]), np.array([1, 1, 2, 2]))
    found = fit_bias(cells, [1, 2])
    assert np.isnan(found).tolist() == [True, False]
