"""How far the standard error of the lift, computed from cells, is off at most."""

import numpy as np

from hetcal.arrays import Floats
from hetcal.cells import Cells
from hetcal.rank_bounds import placement_bounds, rank_cells


def lift_se_bound(before: Cells, after: Cells) -> float:
    """Bound the error of DeLong's standard error of the lift; 0 with fewer than two rows a class.

    That of one class is the length of the vector of the differences in placement less their
    mean, each entry weighted as in `hetcal.rank_statistics.class_variance`. Lengths differ by no
    more than the length of the difference of the vectors. What is off about a placement has
    bounds, and the mean is off by no more than the mean of these. Both classes together are
    the two sides of a right angle, and so are their errors.

    Parameters
    ----------
    before, after : Cells
        The same cells with the scores before and after.
    """
    if np.array_equal(before.low, before.high) and np.array_equal(after.low, after.high):
        return 0.0
    positive = before.y == 1
    sides = [before.chosen(side) for side in (positive, ~positive)]
    if min(float(each.rows.sum()) for each in sides) < 2:
        return 0.0
    off = _off(before, after)
    errors = [
        _length(cells, off[side]) + np.average(off[side], weights=cells.weight) * _length(cells, 1)
        for cells, side in zip(sides, (positive, ~positive), strict=True)
    ]
    return float(np.hypot(*errors))


def _off(before: Cells, after: Cells) -> Floats:
    """Bound by how much the difference in placement of any row of each cell is off."""
    (was_least, was_most), (least, most) = (each.once(placement_bounds) for each in (before, after))
    told = after.once(rank_cells).placed - before.once(rank_cells).placed
    return np.maximum(most - was_least - told, told - (least - was_most))


def _length(cells: Cells, values: Floats | float) -> float:
    """Return the length that the variance of a mean is the square of."""
    rows = float(cells.rows.sum())
    squares = rows / (rows - 1) * np.sum(cells.squares * np.square(values))
    return float(np.sqrt(squares) / cells.weight.sum())
