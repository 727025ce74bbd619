import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.cells import Cells
from hetcal.doubts import Doubt, doubt, worst
from hetcal.grid import Grid
from hetcal.metrics import measure_cells
from hetcal.sketch import sketch_rows


def sample(rows, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=1.5, size=rows)
    return scores, rng.binomial(1, expit(scores - 1)), np.ones(rows, dtype=np.int64)


def sketched(rows, bins, seed=0):
    return sketch_rows(*sample(rows, seed), [1], Grid(16.0, bins)).cells()


def test_rows_leave_no_doubt():
    assert doubt(Cells.of_rows(*sample(500))) == Doubt()


@pytest.mark.parametrize("bins", [16, 64, 512])
@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_cells_are_no_further_off_than_their_bounds(bins, seed):
    scores, y, _ = sample(3_000, seed)
    cells = sketched(3_000, bins, seed)
    found, told = doubt(cells), measure_cells(cells)
    assert abs(told.auc - roc_auc_score(y, scores)) <= found.of("auc")
    assert abs(told.log_loss - log_loss(y, expit(scores))) <= found.of("log_loss") + 1e-12


def test_coarse_cells_of_many_rows_are_doubted_and_fine_cells_are_not():
    assert doubt(sketched(20_000, 16)).wide == {"auc", "log_loss"}
    assert doubt(sketched(20_000, 2**16)).wide == set()


def test_bent_maps_leave_the_log_loss_without_a_bound():
    found = doubt(sketched(20_000, 2**16), bent=True)
    assert (found.of("log_loss"), found.wide) == (np.inf, {"log_loss"})


def test_what_is_not_defined_is_not_doubted():
    scores, y, leaf = sample(2_000)
    cells = sketch_rows(scores, np.zeros_like(y), leaf, [1], Grid(16.0, 2**12)).cells()
    assert doubt(cells).of("auc") == 0
    assert "auc" not in doubt(cells).wide


def test_the_worst_doubt_has_the_largest_bounds_and_all_that_is_wide():
    one = Doubt({"auc": 0.1, "log_loss": 0.3}, frozenset({"auc"}))
    other = Doubt({"auc": 0.2, "share": 0.4}, frozenset({"share"}))
    largest = {"auc": 0.2, "log_loss": 0.3, "share": 0.4}
    assert worst([one, other]) == Doubt(largest, frozenset({"auc", "share"}))
    assert worst([]) == Doubt()
