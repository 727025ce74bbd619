"""Affine maps for the leaves of many trees at once, each shrunk towards the identity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.newton import minimise

BLOCK = 1 << 14
PRECISION = 1e-9  # of the maps, in standard errors


@dataclass(frozen=True, eq=False)
class ShrunkenMaps:
    """Maps `slope * logit + intercept`, one entry per leaf; 1 and 0 in a leaf without rows."""

    slope: Floats
    intercept: Floats

    def mean_logit(self, logits: Floats, leaf: NDArray[np.integer]) -> Floats:
        """Return the mean over the trees of the mapped logits; `leaf` is rows by trees."""
        return self.slope[leaf].mean(axis=1) * logits + self.intercept[leaf].mean(axis=1)

    def nested_logit(self, logits: Floats, leaf: NDArray[np.integer]) -> Floats:
        """Return the logits mapped by one tree after the other."""
        for inside in leaf.T:
            logits = self.slope[inside] * logits + self.intercept[inside]
        return logits


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
    near the incoming logit. The penalty counts rows, whatever the unit of the weights. `leaf` has
    the leaf numbers from 0, rows by trees, and `leaves` is the number of leaves of all trees.
    """
    w = np.ones(logits.size) if weight is None else weight * (weight.sum() / (weight**2).sum())
    centre = float(np.average(logits, weights=w))
    scale = max(float(np.sqrt(np.average((logits - centre) ** 2, weights=w))), 1e-9)
    trees = leaf.shape[1]
    rows = _Rows(
        np.repeat(logits, trees),
        np.repeat((logits - centre) / scale, trees),
        np.repeat(1.0 - 2.0 * y, trees),
        np.repeat(w, trees),
        leaf.ravel().astype(np.int64),
        leaves,
        penalty,
    )
    point, _ = minimise(rows, rows.at(np.zeros((2, leaves))), precision=PRECISION)
    c, d = point.place
    return ShrunkenMaps(1 + c / scale, d - c * centre / scale)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows repeated for every tree, with the leaf that each is in."""

    logits: Floats
    u: Floats
    side: Floats  # -1 for label 1, 1 for label 0
    weight: Floats
    leaf: Ints
    leaves: int
    penalty: float

    def at(self, place: Floats) -> "_Point":
        """Evaluate maps, a part of the rows at a time, which stays in the cache."""
        totals = np.zeros((6, self.leaves))
        for begin in range(0, self.leaf.size, BLOCK):
            totals += self._totals(slice(begin, begin + BLOCK), place)
        return _Point(place, totals[0] + self.penalty / 2 * (place**2).sum(axis=0), totals[1:])

    def _totals(self, part: slice, place: Floats) -> Floats:
        """Add up by leaf: loss, gradient, that times u, information, that times u and u²."""
        leaf, u, side, weight = (each[part] for each in (self.leaf, self.u, self.side, self.weight))
        mapped = self.logits[part] + place[0].take(leaf) * u + place[1].take(leaf)
        wrong = side * mapped  # logit of the label it does not have
        tail = np.exp(-np.abs(mapped))
        share = 1 / (1 + tail)
        rest = tail * share
        loss = weight * (np.maximum(wrong, 0.0) + np.log1p(tail))
        gradient = side * weight * np.where(wrong > 0, share, rest)
        fisher = weight * rest * share
        first = fisher * u
        each = loss, gradient, gradient * u, fisher, first, first * u
        return np.array([np.bincount(leaf, values, self.leaves) for values in each])

    @property
    def reach(self) -> Floats:
        """The largest size of `u`, and 1."""
        return np.array([[np.abs(self.u).max(initial=0.0)], [1.0]])

    def step(self, point: "_Point") -> tuple[Floats, Floats]:
        """Return the Newton step of each leaf and its size in standard errors."""
        by_d, by_c, dd, cd, cc = point.totals  # gradient and second derivatives
        by_c, by_d = (
            total + self.penalty * place
            for total, place in zip((by_c, by_d), point.place, strict=True)
        )
        cc, dd = cc + self.penalty, dd + self.penalty
        # The penalty keeps the determinant above its square.
        step = np.array([cd * by_d - dd * by_c, cd * by_c - cc * by_d]) / (cc * dd - cd * cd)
        return step, np.sqrt(np.maximum(-by_c * step[0] - by_d * step[1], 0.0))


@dataclass(frozen=True, eq=False)
class _Point:
    """Maps of all leaves, their losses, and what the next step takes."""

    place: Floats
    loss: Floats
    totals: Floats


def fit_nested_maps(
    logits: Floats,
    y: Ints,
    bounds: Ints,
    leaf: NDArray[np.integer],
    penalty: float,
    weight: Floats | None = None,
) -> ShrunkenMaps:
    """Fit the maps of the first tree, then those of the second to the logits of the first, ….

    `bounds` are the numbers of the first leaf of each tree, and the number of all leaves; the
    rest is as in `fit_shrunken_maps`.
    """
    slope, intercept = np.ones(bounds[-1]), np.zeros(bounds[-1])
    for tree, inside in enumerate(leaf.T):
        begin, end = bounds[tree], bounds[tree + 1]
        own = (inside - begin)[:, None]
        maps = fit_shrunken_maps(logits, y, own, int(end - begin), penalty, weight)
        slope[begin:end], intercept[begin:end] = maps.slope, maps.intercept
        logits = maps.mean_logit(logits, own)
    return ShrunkenMaps(slope, intercept)
