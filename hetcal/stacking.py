"""A weighted sum of logits by penalised logistic regression, and the pooled map."""

import numpy as np
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.map_shapes import tame
from hetcal.stages import PooledStage

MAX_STEPS = 100
PRECISION = 1e-9  # largest last step, in deviations of a column
OUTSIDE = 0.005  # share of the rows on each side whose scores are tamed
WEAK = 1.0  # penalty in rows: it decides only where the rows do not


def fit_weights(
    columns: Floats, y: Ints, weight: Floats | None, prior: Floats, penalty: float = WEAK
) -> Floats:
    """Fit `intercept + columns @ weights`, drawn towards prior weights.

    The loss is the log-loss plus `penalty / 2` times the squared distance from the prior, in
    deviations of each column. The penalty counts rows, whatever the unit of the weights.

    Returns
    -------
    array of float
        The intercept, then one weight per column.
    """
    w = np.ones(len(y)) if weight is None else weight * (weight.sum() / (weight**2).sum())
    centre = np.average(columns, axis=0, weights=w)
    scale = np.sqrt(np.average((columns - centre) ** 2, axis=0, weights=w))
    scale = np.where(scale > 0, scale, 1.0)
    design = np.column_stack([np.ones(len(y)), (columns - centre) / scale])
    start = np.concatenate([[0.0], prior * scale])
    strength = np.concatenate([[1e-9], np.full(scale.size, penalty)])
    place = _minimise(design, y, w, start, strength)
    weights = place[1:] / scale
    return np.concatenate([[place[0] - weights @ centre], weights])


def _minimise(design: Floats, y: Ints, w: Floats, start: Floats, strength: Floats) -> Floats:
    def loss(place: Floats) -> float:
        eta = design @ place
        far = strength @ (place - start) ** 2 / 2
        return float(w @ (np.logaddexp(0.0, eta) - y * eta) + far)

    place, reached = start, loss(start)
    for _ in range(MAX_STEPS):
        p = expit(design @ place)
        slope = design.T @ (w * (y - p)) - strength * (place - start)
        curve = (design * (w * p * (1 - p))[:, None]).T @ design + np.diag(strength)
        step = np.linalg.solve(curve, slope)
        while (found := loss(place + step)) > reached * (1 + 1e-13) and np.abs(step).max() > 1e-12:
            step /= 2
        place, reached = place + step, found
        if np.abs(step).max() <= PRECISION:
            break
    return place


def fit_pooled(scores: Floats, y: Ints, weight: Floats | None = None) -> PooledStage:
    """Fit one map for all rows; scores beyond the outermost rows are tamed."""
    used = np.ones(len(y), dtype=np.bool_) if weight is None else weight > 0
    low, high = np.quantile(scores[used], [OUTSIDE, 1 - OUTSIDE]).tolist()
    tamed = tame(scores, low, high)
    intercept, slope = fit_weights(tamed[:, None], y, weight, np.zeros(1), 1e-3).tolist()
    return PooledStage(low, high, slope, intercept)
