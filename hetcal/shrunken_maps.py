"""Affine maps for the leaves of many trees at once, each drawn towards doing nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcal.arrays import Floats, Ints

MAX_STEPS = 30
MAX_HALVINGS = 30
PRECISION = 1e-6  # largest last step, in logits per deviation of the logits


@dataclass(frozen=True, eq=False)
class ShrunkenMaps:
    """Maps `slope * logit + intercept`, one entry per leaf.

    Parameters
    ----------
    slope, intercept : array of float
        The maps; 1 and 0 in a leaf without rows.
    """

    slope: Floats
    intercept: Floats

    def mean_logit(self, logits: Floats, leaf: NDArray[np.integer]) -> Floats:
        """Return the mean over the trees of the mapped logits; `leaf` is rows by trees."""
        return self.slope[leaf].mean(axis=1) * logits + self.intercept[leaf].mean(axis=1)


def fit_shrunken_maps(
    logits: Floats,
    y: Ints,
    leaf: NDArray[np.integer],
    leaves: int,
    penalty: float,
    weight: Floats | None = None,
) -> ShrunkenMaps:
    """Fit the maps of all leaves of all trees by penalised maximum likelihood.

    With `u` the logit in deviations from its mean, a leaf's map is `logit + c u + d`, and its
    loss is the log-loss of its rows plus `penalty / 2 (c² + d²)`: a leaf with few rows stays
    near the logit that came in. The penalty counts rows, whatever the unit of the weights.

    Parameters
    ----------
    logits : array of float
        Finite logits, calibrated for all rows together.
    y : array of int
        Labels 0 and 1.
    leaf : array of int
        Leaf numbers from 0, rows by trees.
    leaves : int
        Number of leaves of all trees.
    penalty : float
        Strength, above 0.
    weight : array of float, optional
        Importance weights.
    """
    w = np.ones(logits.size) if weight is None else weight * (weight.sum() / (weight**2).sum())
    centre = float(np.average(logits, weights=w))
    scale = max(float(np.sqrt(np.average((logits - centre) ** 2, weights=w))), 1e-9)
    trees = leaf.shape[1]
    rows = _Rows(
        np.repeat(logits, trees),
        np.repeat((logits - centre) / scale, trees),
        np.repeat(y, trees).astype(np.float64),
        np.repeat(w, trees),
        leaf.ravel().astype(np.int64),
        leaves,
        penalty,
    )
    bend, shift = _minimise(rows)
    return ShrunkenMaps(1 + bend / scale, shift - bend * centre / scale)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows repeated for every tree, with the leaf that each is in."""

    logits: Floats
    u: Floats
    y: Floats
    weight: Floats
    leaf: Ints
    leaves: int
    penalty: float

    def sums(self, values: Floats) -> Floats:
        """Add up by leaf."""
        total: Floats = np.bincount(self.leaf, values, self.leaves).astype(np.float64, copy=False)
        return total

    def mapped(self, place: Floats) -> Floats:
        """Return the mapped logits."""
        return self.logits + place[0][self.leaf] * self.u + place[1][self.leaf]

    def loss(self, mapped: Floats, place: Floats) -> Floats:
        """Return the penalised loss of each leaf."""
        each = self.weight * (np.logaddexp(0.0, mapped) - self.y * mapped)
        return self.sums(each) + self.penalty / 2 * (place**2).sum(axis=0)

    def step(self, mapped: Floats, place: Floats) -> Floats:
        """Return the Newton step of each leaf."""
        p = expit(mapped)
        residual, fisher = self.weight * (self.y - p), self.weight * p * (1 - p)
        up = self.sums(residual * self.u) - self.penalty * place[0]
        along = self.sums(residual) - self.penalty * place[1]
        a = self.sums(fisher * self.u**2) + self.penalty
        b, c = self.sums(fisher * self.u), self.sums(fisher) + self.penalty
        # The penalty keeps the determinant above its square.
        return np.array([c * up - b * along, a * along - b * up]) / (a * c - b * b)


def _minimise(rows: _Rows) -> Floats:
    place = np.zeros((2, rows.leaves))
    mapped = rows.logits
    loss = rows.loss(mapped, place)
    for _ in range(MAX_STEPS):
        step = rows.step(mapped, place)
        for _ in range(MAX_HALVINGS):
            mapped = rows.mapped(place + step)
            reached = rows.loss(mapped, place + step)
            worse = reached > loss * (1 + 1e-12) + 1e-12
            if not worse.any():
                break
            step[:, worse] /= 2
        place, loss = place + step, reached
        if np.abs(step).max() <= PRECISION:
            break
    return place
