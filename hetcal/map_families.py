"""Families of maps of the logit whose parameters stand in a straight line.

A calibrated logit is `offset + Σ parameter · feature`, where offset and features depend on the
score alone. So the likelihood of every family has no second summit, and one way of climbing it
serves all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Bools, Floats


@dataclass(frozen=True)
class Family:
    """What the maps of a kind have in common.

    Parameters
    ----------
    features : callable
        Gives for scores one row per feature that depends on them.
    constant : bool
        Whether the last parameter is added as it is.
    shifted : bool
        Whether the offset is the score itself, and not 0.
    rising : bool
        Whether the parameters of features must not be below 0.
    """

    features: Callable[[Floats], Floats]
    constant: bool = True
    shifted: bool = False
    rising: bool = False

    def offset(self, scores: Floats) -> Floats:
        """Return what a score gives whatever the parameters are."""
        return scores if self.shifted else np.zeros(len(scores))


def _score(scores: Floats) -> Floats:
    return scores[None]


def _nothing(scores: Floats) -> Floats:
    return np.empty((0, len(scores)))


def beta_features(scores: Floats) -> Floats:
    """Return log p and -log(1 - p) for p the probability of a logit."""
    return np.stack([-np.logaddexp(0, -scores), np.logaddexp(0, scores)])


FAMILIES = {
    "platt": Family(_score),
    "bias": Family(_nothing, shifted=True),
    "temperature": Family(_score, constant=False),
    "beta": Family(beta_features, rising=True),
}


@dataclass(frozen=True, eq=False)
class Units:
    """Units in which parameters are compared: those of features with mean 0 and deviation 1.

    A family without a constant keeps the zero of its features.

    Parameters
    ----------
    centre, scale : array
        Of each feature.
    constant : bool
        Whether there is one more parameter, the height at the centre.
    """

    centre: Floats
    scale: Floats
    constant: bool

    @classmethod
    def of(cls, family: Family, features: Floats, weight: Floats) -> "Units":
        """Take them from all rows together."""
        total = max(float(weight.sum()), np.finfo(np.float64).tiny)
        mean = features @ weight / total
        deviation = np.sqrt((features - mean[:, None]) ** 2 @ weight / total)
        sound = np.isfinite(deviation) & (deviation > 0)
        scale = np.where(sound, deviation, 1.0)
        return cls(mean if family.constant else np.zeros_like(mean), scale, family.constant)

    @property
    def to_parameters(self) -> Floats:
        """Matrix that takes parameters from these units back to those of the features."""
        matrix = np.diag(np.append(1 / self.scale, [1.0] * self.constant))
        if self.constant:
            matrix[-1, :-1] = -self.centre / self.scale
        return matrix

    def standardise(self, features: Floats) -> Floats:
        """Return features in these units."""
        return (features - self.centre[:, None]) / self.scale[:, None]

    def from_parameters(self, parameters: Floats) -> Floats:
        """Return parameters, in the last dimension, in these units."""
        found = np.array(parameters, dtype=np.float64)
        if self.constant:
            found[..., -1] += found[..., :-1] @ self.centre
            found[..., :-1] *= self.scale
        else:
            found *= self.scale
        return found

    def bounded(self, family: Family) -> Bools:
        """Tell which parameters must not be below 0."""
        return np.append([family.rising] * self.scale.size, [False] * self.constant).astype(
            np.bool_
        )
