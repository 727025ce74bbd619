"""Isotonic regression: the rising map with the least squared error."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import isotonic_regression

from hetcal.arrays import Floats
from hetcal.cells import Cells
from hetcal.map_shapes import Knots
from hetcal.platt_newton import TINY


def fit_isotonic(cells: Cells, leaves: Sequence[int]) -> list[Knots | None]:
    """Fit the map of every leaf as scikit-learn does; None for a leaf without rows.

    The points are the centres of the cells, where both labels of a bin meet. No probability
    comes closer to 0 or 1 than half a row of the leaf, so that no row is ruled out.
    """
    return [_knots(cells.inside(each)) for each in leaves]


def _knots(cells: Cells) -> Knots | None:
    score, place = np.unique(cells.centre, return_inverse=True)
    if not score.size:
        return None
    weight = np.bincount(place, cells.weight)
    rate = np.bincount(place, cells.weight * (cells.y == 1)) / weight
    level = isotonic_regression(rate, weights=weight).x
    worth = cells.weight.sum() ** 2 / max(cells.squares.sum(), TINY)
    rows = float(cells.rows.sum()) if cells.counted else worth
    half = min(0.5 / rows, 0.5)
    score, level = _corners(score, level.clip(half, 1 - half))
    return Knots(tuple(score.tolist()), tuple(level.tolist()))


def _corners(score: Floats, level: Floats) -> tuple[Floats, Floats]:
    """Leave out points in the middle of a level stretch."""
    kept = np.ones(score.size, dtype=np.bool_)
    kept[1:-1] = (level[1:-1] != level[:-2]) | (level[1:-1] != level[2:])
    return score[kept], level[kept]
