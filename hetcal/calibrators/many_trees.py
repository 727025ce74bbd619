"""Affine maps for the leaves of many trees at once, each shrunk towards the identity."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.newton import minimise

BLOCK = 1 << 14
PRECISION = 1e-4  # of the maps, in standard errors
EQUAL = 1e-9  # deviation of logits that are all equal but for rounding
LABELS = (-0.5, 0.5)  # the side of label 1 and of label 0


@dataclass(frozen=True, eq=False)
class ShrunkenMaps:
    """Maps `slope * logit + intercept`, one entry per leaf; 1 and 0 in a leaf without rows."""

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
    near the incoming logit. No slope is below 0, which would reverse the order of the scores.
    The penalty counts rows, whatever the unit of the weights. Where all logits are equal, slopes
    stay 1. `leaf` has the leaf numbers from 0, rows by trees, no number in two trees, and `leaves`
    is the number of leaves of all trees.
    """
    w = np.ones(logits.size) if weight is None else weight * (weight.sum() / (weight**2).sum())
    centre = float(np.average(logits, weights=w))
    scale = float(np.sqrt(np.average((logits - centre) ** 2, weights=w)))
    equal = scale < EQUAL
    if equal:
        scale = 1.0
    number, row, starts = _in_order(leaf)
    side = 0.5 - y.astype(np.float64)
    u, target = side * (logits - centre) / scale, np.array([[scale], [centre]])
    place = np.tile(target, leaves)
    for first, last in _parts(starts):
        part = row[starts[first] : starts[last] if last < starts.size else None]
        begin = starts[first:last] - starts[first]
        rows = _Rows(u[part], side[part], w[part], begin, target, penalty)
        place[:, number[first:last]] = _minimum(rows.joined) if equal else _best_lines(rows)
    return ShrunkenMaps(place[0] / scale, place[1] - place[0] / scale * centre)


def _in_order(leaf: NDArray[np.integer]) -> tuple[Ints, Ints, Ints]:
    """Put the rows of every tree in the order of their leaves, where sums are fastest.

    Return the leaves that have rows, the row at each place, and the first place of each leaf.
    """
    # Numbers of 16 bits are sorted digit by digit, which is fast.
    by_tree = leaf.T.astype(np.uint16 if leaf.max(initial=0) < 2**16 else np.int64)
    row = np.argsort(by_tree, axis=1, kind="stable")
    number = np.take_along_axis(by_tree, row, axis=1).ravel()
    starts = np.flatnonzero(np.append(True, number[1:] != number[:-1])[: number.size])
    return number[starts].astype(np.int64), row.ravel(), starts


def _parts(starts: Ints) -> Iterator[tuple[int, int]]:
    """Yield the first and the last leaf of parts whose rows stay in the cache."""
    first = np.flatnonzero(np.diff(starts // BLOCK, prepend=-1))
    return pairwise([*first.tolist(), starts.size])


def _best_lines(rows: "_Rows") -> Floats:
    """Return slope by `u` and height of the best map in each leaf that does not fall."""
    place = _minimum(rows)
    falls = place[0] < 0
    if falls.any():
        # The loss is convex, so the best slope not below 0 is 0, and a leaf has one logit.
        place[:, falls] = (_minimum(rows.joined) * [[0.0], [1.0]])[:, falls]
    return place


def _minimum(rows: "_Rows") -> Floats:
    start = rows.at(np.tile(rows.target, rows.starts.size))
    return minimise(rows, start, precision=PRECISION)[0].place


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of every tree in the order of their leaves, all of which have some.

    A map is `slope * u + height`. Half the logit of the label that a row does not have is the
    argument of a hyperbolic tangent, which gives probability and information without overflow.
    """

    u: Floats  # times the side
    side: Floats  # one of `LABELS`
    weight: Floats
    starts: Ints  # first row of each leaf
    target: Floats  # slope and height that maps are shrunk towards
    penalty: float

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each leaf."""
        return np.diff(np.append(self.starts, self.u.size))

    @property
    def joined(self) -> "_Rows":
        """The rows of a leaf with one logit: those of each label become one."""
        weight = np.stack([self.sums(self.weight * (self.side == each)) for each in LABELS], axis=1)
        sides, starts = np.tile(LABELS, len(weight)), np.arange(0, weight.size, 2)
        none = np.zeros(weight.size)
        return _Rows(none, sides, weight.ravel(), starts, self.target, self.penalty)

    def sums(self, values: Floats) -> Floats:
        """Add up values by leaf."""
        return np.add.reduceat(values, self.starts)

    def at(self, place: Floats) -> "_Point":
        """Evaluate maps; add up gradient, that times u, information, that times u and u²."""
        slope, height = np.repeat(place, self.sizes, axis=1)
        u, side, weight = self.u, self.side, self.weight
        half = slope * u + height * side
        bent = np.tanh(half)
        loss = weight * (half + np.abs(half) - np.log(0.5 + 0.5 * np.abs(bent)))
        wrong = weight * (1 + bent)  # twice the probability of the other label
        fisher = weight * (1 - bent * bent)  # four times the information
        first = fisher * u
        each = wrong * side, wrong * u, fisher / 4, first * side, first * u
        apart = np.sum((place - self.target) ** 2, axis=0)
        total = self.sums(loss) + self.penalty / 2 * apart
        return _Point(place, total, np.array([self.sums(values) for values in each]))

    @cached_property
    def reach(self) -> Floats:
        """The largest size of `u`, and 1."""
        return np.array([[2 * np.abs(self.u).max(initial=0.0)], [1.0]])

    def step(self, point: "_Point") -> tuple[Floats, Floats]:
        """Return the Newton step of each leaf and its size in standard errors."""
        by_d, by_c, dd, cd, cc = point.totals  # gradient and second derivatives
        by_c, by_d = np.array([by_c, by_d]) + self.penalty * (point.place - self.target)
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
