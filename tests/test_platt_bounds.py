import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from hetcal.cells import Cells
from hetcal.grid import Grid, grid_for
from hetcal.platt import fit_platt, fit_platt_cells
from hetcal.platt_bounds import platt_bounds
from hetcal.sketch import sketch_rows

LEAVES = [1, 2, 3]


def sample(seed, rows=3_000, scale=1.5):
    rng = np.random.default_rng(seed)
    leaf = rng.choice(LEAVES, rows, p=[0.7, 0.25, 0.05])
    scores = rng.normal(scale=scale, size=rows)
    slope, intercept = np.array([0, 0.4, 1.0, 1.6])[leaf], np.array([0, -1.0, 0.0, 1.0])[leaf]
    return scores, rng.binomial(1, expit(slope * scores / scale + intercept)), leaf


def compared(scores, y, leaf, grid, weight=None):
    """Errors of the maps of cells, by a fit on the rows, and their bounds."""
    cells = sketch_rows(scores, y, leaf, LEAVES, grid, weight).cells()
    fit, exact = fit_platt_cells(cells, LEAVES), fit_platt(scores, y, leaf, LEAVES, weight)
    off = np.abs([fit.slope - exact.slope, fit.intercept - exact.intercept])
    return off, np.array(platt_bounds(cells, fit, LEAVES)), exact


@pytest.mark.parametrize("bins", [4, 16, 64, 1024])
@pytest.mark.parametrize("scale", [0.1, 1.5, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_map_of_rows_is_within_the_bounds_of_their_cells(bins, scale, weighted):
    seen = []
    for seed in range(4):
        scores, y, leaf = sample(seed, scale=scale)
        weight = np.random.default_rng(seed).uniform(0.2, 3, y.size) if weighted else None
        off, bounds, _ = compared(scores, y, leaf, grid_for(scores, bins), weight)
        assert (off <= bounds + 1e-9).all()
        seen.append(np.isfinite(bounds))
    if bins == 1024 and scale < 20:
        assert np.all(seen)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 8, 32]), st.floats(0.05, 50))
def test_few_rows_in_coarse_bins_are_within_the_bounds(seed, bins, scale):
    scores, y, leaf = sample(seed, 60, scale)
    off, bounds, exact = compared(scores, y, leaf, Grid(16.0, bins))
    defined = exact.converged & ~np.isnan(bounds[0])
    assert (off <= bounds * (1 + 1e-9) + 1e-7)[:, defined].all()


def test_bounds_shrink_with_the_square_of_the_bins():
    coarse, fine = (compared(*sample(0), Grid(16.0, bins))[1] for bins in (512, 4096))
    assert (fine < coarse / 30).all()


def test_a_few_thousand_bins_are_surer_than_a_million_rows():
    _, bounds, exact = compared(*sample(1, 1_000_000), Grid(16.0, 4096))
    errors = exact.slope_se, exact.intercept_se
    assert (bounds < np.array(errors) / 10).all()


def test_maps_of_rows_are_exact_and_no_map_has_no_bound():
    scores, y, leaf = sample(0)
    y[leaf == 3] = 1
    cells = Cells.of_rows(scores, y, leaf)
    slope, intercept = platt_bounds(cells, fit_platt_cells(cells, LEAVES), LEAVES)
    assert slope.tolist()[:2] == intercept.tolist()[:2] == [0, 0]
    assert np.isnan([slope[2], intercept[2]]).all()
