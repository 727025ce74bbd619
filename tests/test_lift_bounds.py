import numpy as np
import pytest

from hetcal.cells import Cells
from hetcal.delong import lift_of
from hetcal.evaluation import lift_of_cells
from hetcal.grid import Grid
from hetcal.lift_bounds import lift_se_bound
from hetcal.rank_bounds import rank_cells
from hetcal.sketch import sketch_rows
from tests.three_leaves import LEAVES, mapped, sample


def of_cells(before, after):
    one, other = (rank_cells(each).placed for each in (before, after))
    return lift_of(before.y, one, other, before.weight, before.squares, before.rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [2, 8, 64, 4096])
@pytest.mark.parametrize("seed", range(6))
def test_the_error_of_rows_is_within_the_bound_of_their_cells(seed, bins, weighted):
    scores, y, leaf = sample(seed)
    weight = np.random.default_rng(seed).exponential(size=y.size) ** 2 if weighted else None
    before = sketch_rows(scores, y, leaf, LEAVES, Grid(16.0, bins), weight).cells()
    after = before.mapped(mapped)
    rows = Cells.of_rows(scores, y, leaf, weight)
    exact, found = lift_of_cells(rows, rows.mapped(mapped)), of_cells(before, after)
    assert abs(found.se - exact.se) <= lift_se_bound(before, after) + 1e-12


def test_cells_of_the_usual_number_of_bins_leave_little_doubt():
    scores, y, leaf = sample(4, rows=100_000)
    before = sketch_rows(scores, y, leaf, LEAVES, Grid()).cells()
    after = before.mapped(mapped)
    assert 0 < lift_se_bound(before, after) < 0.05 * of_cells(before, after).se


@pytest.mark.parametrize("scores", [[0.1, 0.2, 0.3, 0.4], [0.1, 0.4, 0.2, 0.3]])
def test_rows_that_a_bin_hides_are_allowed_for(scores):
    """Two rows of each class in one bin: tied for the cells, so that nothing seems to change."""
    y, leaf, scores = np.array([1, 1, 0, 0]), np.array([1, 2, 1, 2]), np.array(scores)
    before = sketch_rows(scores, y, leaf, [1, 2], Grid(16.0, 4)).cells()
    after = before.mapped(lambda each, leaf: each + 0.5 * (leaf == 2))
    rows = Cells.of_rows(scores, y, leaf)
    exact = lift_of_cells(rows, rows.mapped(lambda each, leaf: each + 0.5 * (leaf == 2)))
    assert abs(of_cells(before, after).se - exact.se) <= lift_se_bound(before, after)


def test_rows_are_exact():
    cells = Cells.of_rows(*sample(0))
    assert lift_se_bound(cells, cells.mapped(mapped)) == 0


@pytest.mark.parametrize("positives", [0, 1, 2999, 3000])
def test_where_there_is_no_standard_error_there_is_no_bound(positives):
    scores, _, leaf = sample(0)
    y = np.arange(scores.size) < positives
    cells = sketch_rows(scores, y.astype(int), leaf, LEAVES, Grid(16.0, 8)).cells()
    assert lift_se_bound(cells, cells.mapped(mapped)) == 0
