"""Shapes of a map from the logit to the calibrated logit: plain data that can be saved.

`logit` maps scores, `words` says the map to a person, and `rises` tells whether higher scores can
get higher logits at all.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.special import logit as to_logit

from hetcal.arrays import Floats, Ints
from hetcal.map_families import beta_features


@dataclass(frozen=True)
class Affine:
    """The map slope * score + intercept, with standard errors.

    The standard error of a number that is given is 0, and NaN where it is not known.
    """

    slope: float
    intercept: float
    slope_se: float = 0.0
    intercept_se: float = 0.0

    @property
    def rises(self) -> bool:
        """Whether higher scores get higher logits."""
        return self.slope > 0

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        return self.slope * scores + self.intercept

    @property
    def words(self) -> str:
        """The map for a person."""
        return f"{_number(self.slope)} · s {_signed(self.intercept)}"


@dataclass(frozen=True)
class Tamed:
    """The map slope * tame(score, low, high) + intercept: straight between the limits.

    Beyond them scores grow by their logarithm only, see `tame`.
    """

    slope: float
    intercept: float
    low: float
    high: float

    @property
    def rises(self) -> bool:
        """Whether higher scores get higher logits."""
        return self.slope > 0

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        return self.slope * tame(scores, self.low, self.high) + self.intercept

    @property
    def words(self) -> str:
        """The map for a person."""
        line = f"{_number(self.slope)} · s {_signed(self.intercept)}"
        return f"{line}, straight from {_number(self.low)} to {_number(self.high)}"


@dataclass(frozen=True)
class Beta:
    """The map a * log p - b * log(1 - p) + c of p, the probability of the score.

    Kull, Silva Filho and Flach: Beta calibration. It rises because neither `a` nor `b` is
    below 0; with `a` = `b` it is Platt's. `a_se`, `b_se` and `c_se` are standard errors.
    """

    a: float
    b: float
    c: float
    a_se: float = 0.0
    b_se: float = 0.0
    c_se: float = 0.0

    @property
    def rises(self) -> bool:
        """Whether higher scores get higher logits."""
        return self.a > 0 or self.b > 0

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        low, high = beta_features(scores)
        return self.a * low + self.b * high + self.c

    @property
    def words(self) -> str:
        """The map for a person."""
        a, b = _number(self.a), _number(self.b)
        return f"{a} · log p − {b} · log(1 − p) {_signed(self.c)}"


@dataclass(frozen=True)
class Steps:
    """A map that is level between edges.

    Parameters
    ----------
    edges : tuple of float
        Rising; a score that equals an edge lies above it.
    logits : tuple of float
        Of each bin, one more than there are edges.
    """

    edges: tuple[float, ...]
    logits: tuple[float, ...]

    @property
    def rises(self) -> bool:
        """Whether the highest scores get a higher logit than the lowest, or all the same."""
        return len(self.logits) == 1 or self.logits[-1] > self.logits[0]

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        return np.asarray(self.logits)[self._bin(scores)]

    def _bin(self, scores: Floats) -> Ints:
        return np.searchsorted(np.asarray(self.edges), scores, "right")

    @property
    def words(self) -> str:
        """The map for a person."""
        low, high = (float(expit(each)) for each in (min(self.logits), max(self.logits)))
        if len(self.logits) == 1:
            return f"{low:.2g} for every score"
        return f"{len(self.logits)} steps from {low:.2g} to {high:.2g}"


@dataclass(frozen=True)
class Knots:
    """A rising map through points: probabilities are joined by straight lines, level beyond.

    Parameters
    ----------
    scores : tuple of float
        Rising.
    probabilities : tuple of float
        Not falling, above 0 and below 1.
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    @property
    def rises(self) -> bool:
        """Whether the map does not fall; it never does."""
        return True

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        known = np.asarray(self.probabilities)
        # Interpolation between close scores may leave their probabilities by rounding.
        p = np.interp(scores, np.asarray(self.scores), known).clip(known[0], known[-1])
        return to_logit(p)

    @property
    def words(self) -> str:
        """The map for a person."""
        low, high = self.probabilities[0], self.probabilities[-1]
        if low == high:
            return f"{low:.2g} for every score"
        return f"{len(self.scores)} points from {low:.2g} to {high:.2g}"


Line = Affine | Tamed
"""Shapes with a slope and an intercept."""

Shape = Line | Beta | Steps | Knots


def tame(scores: Floats, low: float, high: float) -> Floats:
    """Let scores beyond the limits grow by their logarithm only; the order stays.

    Examples
    --------
    >>> tame(np.array([-1.0, 0.0, 2.0]), -3.0, 1.0).round(4).tolist()
    [-1.0, 0.0, 1.6931]
    """
    scores = np.asarray(scores, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        beyond = np.log1p(np.maximum(scores - high, 0)) - np.log1p(np.maximum(low - scores, 0))
        return np.clip(scores, low, high) + beyond


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "?"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {_number(abs(value))}"
