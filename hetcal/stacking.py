"""A weighted sum of logits by penalised logistic regression, and the pooled map."""

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.map_shapes import tame
from hetcal.platt_newton import GroupedRows, PenalisedLosses, minimise
from hetcal.stages import PooledStage

OUTSIDE = 0.005  # share of the rows on each side whose scores are tamed
WEAK = 1.0  # penalty in rows: it decides only where the rows do not


def fit_weights(
    columns: Floats, y: Ints, weight: Floats | None, prior: Floats, penalty: float = WEAK
) -> Floats:
    """Fit `intercept + columns @ weights`, shrunk towards prior weights.

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
    design = [np.ones(len(y)), *((columns - centre) / scale).T]
    target = np.concatenate([[0.0], prior * scale])
    strength = np.concatenate([[1e-9], np.full(scale.size, penalty)])
    rows = GroupedRows(columns[:, 0], y == 1, np.zeros(len(y), dtype=np.int64), w)
    bounded = np.zeros(target.size, dtype=np.bool_)
    losses = PenalisedLosses(rows, design, np.zeros(len(y)), target, strength, bounded)
    point, _ = minimise(losses, losses.at(target[:, None]))
    place = point.place[:, 0]
    weights = place[1:] / scale
    return np.concatenate([[place[0] - weights @ centre], weights])


def fit_pooled(scores: Floats, y: Ints, weight: Floats | None = None) -> PooledStage:
    """Fit one map for all rows; scores beyond the outermost rows are tamed."""
    used = np.ones(len(y), dtype=np.bool_) if weight is None else weight > 0
    low, high = np.quantile(scores[used], [OUTSIDE, 1 - OUTSIDE]).tolist()
    tamed = tame(scores, low, high)
    intercept, slope = fit_weights(tamed[:, None], y, weight, np.zeros(1), 1e-3).tolist()
    return PooledStage(low, high, slope, intercept)
