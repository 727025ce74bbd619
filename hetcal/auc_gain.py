"""What a cut gains in AUC if both sides are calibrated: the criterion of the paper's appendix.

On either side the scores of a class are taken for normal. The logit of a side,
`log(p N(s; μ₁, v₁) / ((1 - p) N(s; μ₀, v₀)))`, is then quadratic in the score; its Platt map is
the line through its values at two points, here the two class means. Mapped scores of a
class are a mixture of two normals, so the AUC of both sides together is
`Σ w₁ᵢ w₀ⱼ Φ((m₁ᵢ - m₀ⱼ) / √(u₁ᵢ + u₀ⱼ))` over pairs of sides, with mapped means `m` and
variances `u`.

The paper weights a side by `p / (p + p')`; its mass belongs there, too: `w₁ᵢ` is the share of
the positive rows that side i has, `w₀ⱼ` that of the negative ones.

The gain is local: it counts pairs of rows of the node, since a node's pairs with other nodes
depend on how these are cut. It is the AUC of both sides minus that of the node with one normal
per class. What the normals get wrong can look like a small gain; `AucGainPartition` tells
whether the maps of both sides differ at all.
"""

import numpy as np
from scipy.special import ndtr

from hetcal.arrays import Floats
from hetcal.score_codes import ScoreCodes
from hetcal.score_sums import ValueTables

SMALLEST = 1e-12  # variance of equal scores
MASS_IS_COUNT = (0, 0, 2, 3, 4, 4, 6, 7)  # without weights


class AucGain:
    """The gain as a criterion of cuts, for sums of `score_moments`."""

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return the gain of each cut."""
        total = total.reshape(*total.shape, *[1] * (left.ndim - 2))
        sides = np.stack([left, total - left], axis=2)
        mass, mean, variance = _moments(sides, total[:, :, None])
        share = mass / np.maximum(mass.sum(axis=1, keepdims=True), SMALLEST)
        slope, intercept = platt_line(mass, mean, variance)
        after = mixture_auc(share, slope * mean + intercept, slope**2 * variance)
        return after - _calibrated_auc(total)

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return the better end: a bin is looked into if it is next to the best cut."""
        return np.maximum(self.score(start, total), self.score(end, total))


def score_moments(codes: ScoreCodes) -> ValueTables:
    """Return what rows add up, by label: count, mass, score and squared score."""
    channels = np.ones_like(codes.score), np.ones_like(codes.score), codes.score, codes.score**2
    sides = 1 - codes.label, codes.label
    table = np.stack([channel * side for side in sides for channel in channels], axis=-1)
    return ValueTables(codes, (table,), MASS_IS_COUNT)


def _calibrated_auc(total: Floats) -> Floats:
    """Return the AUC of a node that is not cut; its map may turn the order of scores round."""
    _, mean, variance = _moments(total, total)
    auc: Floats = ndtr(np.abs(mean[1] - mean[0]) / np.sqrt(variance[0] + variance[1]))
    return auc


def _moments(sums: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mass, mean and variance by label; one row's worth of the node steadies them."""
    _, one, score, squared = total / np.maximum(total[0], 1.0)
    own = np.maximum(sums[1], 0.0)
    mass = np.maximum(own + one, SMALLEST)
    mean, square = (sums[2] + score) / mass, (sums[3] + squared) / mass
    return own, mean, np.maximum(square - mean**2, SMALLEST)


def platt_line(mass: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return slope and intercept of the line through the logit at the class means.

    Parameters
    ----------
    mass, mean, variance : arrays of float, 2 x ...
        Of the normals of class 0 and class 1.
    """
    apart = mean[1] - mean[0]
    even = np.log((mass[1] + 0.5) / (mass[0] + 0.5)) + 0.5 * np.log(variance[0] / variance[1])
    slope = apart / 2 * (1 / variance[0] + 1 / variance[1])
    return slope, even + apart**2 / 2 / variance[0] - slope * mean[1]


def mixture_auc(share: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the AUC where each class is a mixture of normals.

    Parameters
    ----------
    share, mean, variance : arrays of float, 2 x parts x ...
        Of class 0 and class 1; the shares of a class add up to 1.
    """
    apart = mean[1][:, None] - mean[0][None]
    spread = np.sqrt(variance[1][:, None] + variance[0][None])
    chance = ndtr(apart / np.maximum(spread, SMALLEST))
    found: Floats = (share[1][:, None] * share[0][None] * chance).sum(axis=(0, 1))
    return found
