import numpy as np
import pytest

from hetcal.cells import Cells
from hetcal.contributions import lift_contributions
from hetcal.grid import Grid
from hetcal.leaf_shares import leaf_shares
from hetcal.share_bounds import share_bounds
from hetcal.sketch import sketch_rows
from tests.three_leaves import LEAVES, mapped, sample


@pytest.mark.parametrize("bins", [2, 8, 64, 4096])
@pytest.mark.parametrize("seed", range(6))
def test_shares_of_rows_are_within_the_bounds_of_their_cells(seed, bins):
    scores, y, leaf = sample(seed)
    before = sketch_rows(scores, y, leaf, LEAVES, Grid(16.0, bins)).cells()
    after = before.mapped(mapped)
    exact = [
        leaf_shares(Cells.of_rows(each, y, leaf), LEAVES) for each in (scores, mapped(scores, leaf))
    ]
    told = lift_contributions(before, after, LEAVES)["contribution"].to_numpy()
    off = np.abs(exact[1] - exact[0] - told)
    assert (off <= share_bounds(before, after, LEAVES) + 1e-12).all()


@pytest.mark.parametrize("scores", [[0.3, 0.4, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4]])
def test_the_worst_order_inside_a_bin_reaches_the_bound(scores):
    """Two positive rows of leaf 1 and two negative ones of leaf 2, tied in one bin."""
    y, leaf = np.array([1, 1, 0, 0]), np.array([1, 1, 2, 2])
    before = sketch_rows(np.array(scores), y, leaf, [1, 2], Grid(16.0, 4)).cells()
    after = before.mapped(lambda scores, _: np.zeros(scores.size))  # ties in fact
    bounds = share_bounds(before, after, [1, 2])
    # Ties are half right, and either leaf has half of them; in fact all pairs are alike.
    assert bounds.tolist() == [0.25, 0.25]
    told = lift_contributions(before, after, [1, 2])["contribution"].to_numpy()
    exact = 0.25 - leaf_shares(Cells.of_rows(np.array(scores), y, leaf), [1, 2])
    assert np.abs(exact - told).tolist() == [0.25, 0.25]


def test_rows_are_exact():
    cells = Cells.of_rows(*sample(0))
    assert not share_bounds(cells, cells.mapped(mapped), LEAVES).any()


def test_with_one_class_nothing_is_off():
    scores, _, leaf = sample(0)
    cells = sketch_rows(scores, np.ones(scores.size, int), leaf, LEAVES, Grid(16.0, 8)).cells()
    assert not share_bounds(cells, cells, LEAVES).any()
