import numpy as np

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.results.evaluation import score_four_schemes


def test_schemes_that_do_not_depend_on_the_maps_of_leaves_are_kept_while_these_change():
    rng = np.random.default_rng(0)
    scores, leaf = rng.normal(size=300), rng.permutation(np.repeat([1, 2], [250, 50]))
    y = rng.binomial(1, 1 / (1 + np.exp(-scores)))
    cells = Cells.of_rows(scores, y, leaf)
    calibrator = LeafCalibrator(min_rows=10).fit_cells(cells, [1, 2])
    one = score_four_schemes(cells, cells, calibrator)
    two = score_four_schemes(cells, cells, calibrator.with_min_rows(100))
    assert (one.before, one.pooled, one.tree) == (two.before, two.pooled, two.tree)
    assert not np.array_equal(one.after.score, two.after.score)
    half = cells.chosen(np.arange(150))
    three = score_four_schemes(cells, half, LeafCalibrator().fit_cells(half, [1, 2]))
    assert not np.array_equal(one.pooled.score, three.pooled.score)
    assert not np.array_equal(one.tree.score, three.tree.score)
