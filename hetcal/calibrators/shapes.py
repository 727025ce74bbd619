"""Shapes of a map from the logit to the calibrated logit: plain data that can be saved.

`logit` maps scores, `words` writes the map for a person, and `rises` is whether higher scores can
get higher logits at all.
"""

import math
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise

import numpy as np
from scipy.special import expit
from scipy.special import logit as to_logit

from hetcal.arrays import Floats
from hetcal.strict_json import Fields, JsonError


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
    """The map slope * tame(score, low, high) + intercept: linear between the limits.

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
        return f"{line}, linear from {_number(self.low)} to {_number(self.high)}"


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
    """A piecewise constant map."""

    edges: tuple[float, ...]  # rising; a score that equals an edge lies above it
    logits: tuple[float, ...]  # of each bin, one more than there are edges

    @property
    def rises(self) -> bool:
        """Whether the highest scores get a higher logit than the lowest, or all the same."""
        return len(self.logits) == 1 or self.logits[-1] > self.logits[0]

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits."""
        return np.asarray(self.logits)[np.searchsorted(np.asarray(self.edges), scores, "right")]

    @property
    def words(self) -> str:
        """The map for a person."""
        low, high = (float(expit(each)) for each in (min(self.logits), max(self.logits)))
        if len(self.logits) == 1:
            return f"{low:.2g} for every score"
        return f"{len(self.logits)} steps from {low:.2g} to {high:.2g}"


@dataclass(frozen=True)
class Knots:
    """A rising map: probabilities are interpolated linearly between points, constant beyond."""

    scores: tuple[float, ...]  # rising
    probabilities: tuple[float, ...]  # not falling, above 0 and below 1

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


INSIDE = float(np.finfo(np.float64).tiny), 1 - 2.0**-53  # probabilities that have a logit
Line = Affine | Tamed
"""Shapes with a slope and an intercept."""

Shape = Line | Beta | Steps | Knots


def count_numbers(shape: Shape) -> int:
    """Return how many numbers of a map decide, apart from where its steps and points are."""
    if isinstance(shape, Beta):
        return 3
    if isinstance(shape, Steps | Knots):
        return len(shape.logits if isinstance(shape, Steps) else shape.probabilities)
    return 2


def moved(shape: Shape, by: float, se: float) -> Shape:
    """Return the map whose logits are higher by a number, with the standard error of its height."""
    if isinstance(shape, Affine):
        return replace(shape, intercept=shape.intercept + by, intercept_se=se)
    if isinstance(shape, Tamed):
        return replace(shape, intercept=shape.intercept + by)
    if isinstance(shape, Beta):
        return replace(shape, c=shape.c + by, c_se=se)
    if isinstance(shape, Steps):
        return replace(shape, logits=tuple(each + by for each in shape.logits))
    higher = expit(to_logit(shape.probabilities) + by).clip(*INSIDE)
    return replace(shape, probabilities=tuple(higher.tolist()))


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


def beta_features(scores: Floats) -> Floats:
    """Return log p and -log(1 - p) for p the probability of a logit."""
    return np.stack([-np.logaddexp(0, -scores), np.logaddexp(0, scores)])


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "?"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {_number(abs(value))}"


KINDS: dict[str, type[Shape]] = {
    "affine": Affine,
    "tamed": Tamed,
    "beta": Beta,
    "steps": Steps,
    "knots": Knots,
}
MOST_POINTS = 2**20


def shape_document(shape: Shape) -> dict[str, object]:
    """Return what is written of a shape; every number can be read back bit for bit.

    A standard error that is not known is null.
    """
    kind = next(name for name, each in KINDS.items() if isinstance(shape, each))
    numbers = asdict(shape).items()
    return {"kind": kind} | {name: None if each != each else each for name, each in numbers}


def read_shape(document: Fields) -> Shape:
    """Read a shape back; anything else is a `JsonError`."""
    kind = document.text("kind")
    if kind not in KINDS:
        raise JsonError("a kind of map is not known")
    document.only("kind", *(each.name for each in fields(KINDS[kind])))
    if kind == "steps":
        return _read_steps(document)
    if kind == "knots":
        return _read_knots(document)
    if kind == "affine":
        return read_affine(document)
    if kind == "tamed":
        slope, intercept, low = map(document.number, ("slope", "intercept", "low"))
        return Tamed(slope, intercept, low, document.number("high", low))
    a, b, *errors = (document.number(name, 0.0) for name in ("a", "b", "a_se", "b_se", "c_se"))
    return Beta(a, b, document.number("c"), *errors)


def read_affine(document: Fields) -> Affine:
    """Read the fields of a linear map."""
    return Affine(
        document.number("slope"),
        document.number("intercept"),
        document.number_or_nan("slope_se", 0.0),
        document.number_or_nan("intercept_se", 0.0),
    )


def _read_steps(document: Fields) -> Steps:
    edges, logits = document.numbers("edges"), document.numbers("logits")
    if len(logits) != len(edges) + 1 or len(logits) > MOST_POINTS or not _rise(edges):
        raise JsonError("the steps of a map are not in order")
    return Steps(edges, logits)


def _read_knots(document: Fields) -> Knots:
    scores, levels = document.numbers("scores"), document.numbers("probabilities")
    if not 0 < len(scores) == len(levels) <= MOST_POINTS or not _rise(scores):
        raise JsonError("the points of a map are not in order")
    if not 0 < levels[0] <= levels[-1] < 1 or any(one > other for one, other in pairwise(levels)):
        raise JsonError("the points of a map do not rise from above 0 to below 1")
    return Knots(scores, levels)


def _rise(values: tuple[float, ...]) -> bool:
    return all(one < other for one, other in pairwise(values))
