"""Platt maps of the leaves of many trees at once, each drawn towards the pooled map."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.family_newton import MAX_STEPS, PRECISION
from hetcal.kernels import use_compiled
from hetcal.map_families import FAMILIES, Units
from hetcal.map_shapes import Affine
from hetcal.platt_newton import TINY
from hetcal.ranking import Labels


def fit_shrunk_forest(
    scores: Floats,
    y: Labels,
    leaf: NDArray[np.integer],
    leaves: int,
    pooled: Affine,
    strength: float,
    weight: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return slope and intercept of every leaf of every tree.

    They are those of `hetcal.shrunken.fit_shrunk`, tree by tree, without standard errors.

    Parameters
    ----------
    scores : array of float
        Finite logits.
    y : array of int
        Labels 0 and 1.
    leaf : array of int
        Numbers of leaves from 0, rows by trees; no two trees share a number.
    leaves : int
        Number of leaves of all trees.
    pooled : Affine
        The map that all maps are drawn to.
    strength : float
        Of the pull, above 0.
    weight : array of float, optional
        Importance weights.
    """
    w = np.ones(scores.size) if weight is None else weight * (weight.sum() / (weight**2).sum())
    units = Units.of(FAMILIES["platt"], scores[None], w)
    target = units.from_parameters(np.array([pooled.slope, pooled.intercept]))
    if np.isinf(strength):
        place = np.tile(target[:, None], leaves)
    else:
        rows = _Rows(units.standardise(scores[None])[0], y == 1, leaf, w)
        place = _climb(rows, leaves, target[:, None], strength)
    slope, intercept = units.to_parameters @ place
    return slope, intercept


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in the units of the penalty, and their leaves, rows by trees."""

    score: Floats
    positive: NDArray[np.bool_]
    leaf: NDArray[np.integer]
    weight: Floats

    def reach(self, leaves: int) -> Floats:
        """Return the largest distance from 0 of a score in every leaf."""
        found = np.zeros(leaves)
        for tree in self.leaf.T:
            np.maximum.at(found, tree, np.abs(self.score))
        return found

    def newton_sums(self, place: Floats) -> Floats:
        """Add up residuals, Fisher weights and their moments, by leaf."""
        if use_compiled():
            from hetcal.cell_kernels import add_forest_sums

            side_by_side = np.zeros((place.shape[1], 5))  # a row then touches one place per leaf
            places = np.ascontiguousarray(place.T)
            add_forest_sums(self.score, self.positive, self.leaf, self.weight, places, side_by_side)
            return side_by_side.T
        sums = np.zeros((5, place.shape[1]))
        for tree in self.leaf.T:
            p = expit(place[0][tree] * self.score + place[1][tree])
            residual, fisher = self.weight * (self.positive - p), self.weight * p * (1 - p)
            first = fisher * self.score
            parts = residual, residual * self.score, fisher, first, first * self.score
            for total, each in zip(sums, parts, strict=True):
                total += np.bincount(tree, each, total.size)
        return sums


def _climb(rows: _Rows, leaves: int, target: Floats, strength: float) -> Floats:
    """Take the steps of `hetcal.family_newton.climb`, the two equations solved by hand."""
    place, reach = np.tile(target, leaves), rows.reach(leaves)
    for _ in range(MAX_STEPS):
        residual, moment, mass, first, second = rows.newton_sums(place)
        up, along = np.array([moment, residual]) - strength * (place - target)
        a, c = second + strength, mass + strength
        step = np.array([c * up - first * along, a * along - first * up])
        step /= np.maximum(a * c - first**2, TINY)
        moved = np.abs(step[0]) * reach + np.abs(step[1])
        place = place + step * np.where(moved > 0, np.log1p(moved) / np.maximum(moved, TINY), 1.0)
        if np.sqrt(np.max(up * step[0] + along * step[1], initial=0.0)) <= PRECISION:
            break
    return place
