import math

import numpy as np
import pytest

from hetcal.cells.sketch import Grid, grid_for_most
from hetcal.errors import CalibrationError


@pytest.mark.parametrize("grid", [Grid(), Grid(1.0, 2), Grid(2.0**-10, 16), Grid(2.0**20, 8)])
def test_every_score_lies_within_its_bin_also_next_to_an_edge(grid):
    rng = np.random.default_rng(0)
    edges = np.arange(-grid.bins // 2 - 1, grid.bins // 2 + 2) * grid.width
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    tiny = [0.0, -0.0, 1e-300, -1e-300, 1.7e308, -1.7e308]
    scores = np.concatenate([near, tiny, rng.normal(size=1_000) * grid.reach / 3])
    scores = scores[(scores == 0) | (np.abs(scores) >= 1e-300)]
    bins = grid.bin_of(scores)
    assert bins.min() >= 0
    assert bins.max() < grid.bins
    assert np.all(grid.low(bins) <= scores)
    assert np.all(scores <= grid.high(bins))


def test_the_ends_of_neighbouring_bins_are_neighbouring_numbers():
    grid = Grid()
    bins = np.arange(1, grid.bins)
    assert np.array_equal(np.nextafter(grid.high(bins - 1), np.inf), grid.low(bins))
    assert grid.low(np.array([0]))[0] == -math.inf
    assert grid.high(np.array([grid.bins - 1]))[0] == math.inf


@pytest.mark.parametrize(
    ("reach", "bins"), [(10.0, 4096), (16.0, 1000), (16.0, 1), (math.inf, 4), (0.0, 4), (16, 2**21)]
)
def test_a_grid_that_does_not_divide_exactly_is_refused(reach, bins):
    with pytest.raises(CalibrationError, match="powers of two"):
        Grid(reach, bins)


@pytest.mark.parametrize(
    ("spread", "reach"), [(1.0, 8.0), (4.0, 16.0), (20.0, 64.0), (1e-3, 2.0**-7), (0.0, 2.0**-89)]
)
def test_the_reach_follows_most_scores(spread, reach):
    scores = spread * np.random.default_rng(0).uniform(-3, 3, 50_000)
    assert grid_for_most(scores).reach == reach
    scores[::5_000], scores[1], scores[2] = 1e300, np.nan, np.inf
    assert grid_for_most(scores).reach == reach


def test_the_largest_number_has_a_grid_and_so_have_no_scores():
    assert grid_for_most(np.array([1.7e308])).reach == 2.0**1022
    assert grid_for_most(np.array([])).reach == 16
