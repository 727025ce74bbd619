"""How far Platt maps that were fitted on cells are from those of the rows at most.

Let `g` be the gradient of the rows' loss at the map of their cells and `H` its curvature there,
`λ` the length of `g` and `κ` the largest length of a row, both measured by `H⁻¹`. No third
derivative of a row's loss exceeds its second one. So along a way of length `u` the curvature falls
by no more than `exp(-κ u)`, and the gradient rises by at least `(1 - exp(-κ u)) / κ`. It is made up
for by then, so that the best map of the rows is at most `u = -log(1 - κ λ) / κ` away.
"""

from collections.abc import Sequence

import numpy as np

from hetcal.arrays import Floats
from hetcal.bounds import BEND_OF_SIGMOID
from hetcal.cells import Cells
from hetcal.platt import PlattFit
from hetcal.sigmoid import sigmoid

STEEPEST = 0.25  # largest slope of the sigmoid


def platt_bounds(cells: Cells, fit: PlattFit, leaves: Sequence[int]) -> tuple[Floats, Floats]:
    """Bound the errors of slopes and intercepts; NaN where the maps are not defined.

    Parameters
    ----------
    cells : Cells
        What the maps were fitted on.
    fit : PlattFit
        The maps.
    leaves : sequence of int
        Their leaves.
    """
    maps = zip(fit.slope.tolist(), fit.intercept.tolist(), leaves, strict=True)
    found = [_bound(cells.inside(leaf), slope, intercept) for slope, intercept, leaf in maps]
    slope, intercept = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return slope, intercept


def _bound(cells: Cells, slope: float, intercept: float) -> tuple[float, float]:
    if np.isnan(slope):
        return np.nan, np.nan
    if np.array_equal(cells.low, cells.high):
        return 0.0, 0.0
    middle = float(np.average(cells.score, weights=cells.weight))  # keeps sums free of rounding
    probability = [
        sigmoid(slope * each + intercept) for each in (cells.score, cells.low, cells.high)
    ]
    curvature = _least_curvature(cells, probability[0], abs(slope), middle)
    if not np.linalg.cond(curvature) < 1 / np.finfo(np.float64).eps:
        return np.inf, np.inf
    inverse = np.linalg.inv(curvature)
    gradient = _largest_gradient(cells, probability, abs(slope), middle)
    steep = np.sqrt(gradient @ np.abs(inverse) @ gradient)
    ends = [np.array([each - middle, 1.0]) for each in (cells.low.min(), cells.high.max())]
    longest = np.sqrt(max(each @ inverse @ each for each in ends))
    if not longest * steep < 1:
        return np.inf, np.inf
    way = -np.log1p(-longest * steep) / longest
    at_zero = np.array([-middle, 1.0])
    slope_error, intercept_error = inverse[0, 0], at_zero @ inverse @ at_zero
    return float(way * np.sqrt(slope_error)), float(way * np.sqrt(intercept_error))


def _least_curvature(cells: Cells, probability: Floats, steep: float, middle: float) -> Floats:
    """Return a matrix that the curvature of the rows exceeds.

    The weight `p (1 - p)` of a row changes by no more than `exp(|z|)` over a logit `z`, and the
    squares of the rows of a cell add up to at least those of their mean.
    """
    far = steep * np.maximum(cells.high - cells.score, cells.score - cells.low)
    fisher = cells.weight * probability * (1 - probability) * np.exp(-far)
    x = np.array([cells.score - middle, np.ones(fisher.size)])
    return (fisher * x) @ x.T


def _largest_gradient(
    cells: Cells, probability: Sequence[Floats], steep: float, middle: float
) -> Floats:
    """Bound the gradient of the rows in both directions.

    The mean probability of a cell has the bounds of `hetcal.bounds.brier`. Times the score, it
    is off by as much again as probability and score vary together, at most a quarter of the
    slope times the variance of the scores (Bhatia and Davis).
    """
    at, low, high = probability
    spread = (cells.high - cells.score) * (cells.score - cells.low)
    ends = np.maximum(np.abs(high - at), np.abs(low - at))
    off = np.minimum(BEND_OF_SIGMOID / 2 * steep**2 * spread, ends)
    distance = cells.score - middle
    left = [abs(np.sum(cells.weight * (at - cells.y) * each)) for each in (distance, 1.0)]
    moment = np.abs(distance) * off + STEEPEST * steep * spread
    return np.array([np.sum(cells.weight * moment), np.sum(cells.weight * off)]) + left
