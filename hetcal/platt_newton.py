"""Newton's method for the Platt maps of many groups of rows at once."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logit

from hetcal.arrays import Bools, Floats, Ints

MAX_STEPS = 200
MAX_HALVINGS = 60
PRECISION = 1e-11  # of slope and intercept, in standard errors
NOISE = 1e-7  # largest last step, in standard errors, where rounding leaves no smaller one
ROUNDING = 1e-13  # relative error of a sum of losses
BINS, REACH = 256, 4.0  # of joined rows, in standard deviations from the mean
ROUGH, FEW_STEPS = 1e-4, 12  # what is asked of joined rows, which may have no maximum
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows with weights in the order of their groups; counts per score have the same shape.

    `squares` are sums of squared row weights; None means rows that count once each.
    """

    scores: Floats
    positive: Bools
    group: Ints
    weight: Floats
    squares: Floats | None = None

    @cached_property
    def starts(self) -> Ints:
        """First row of each group that has rows."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each group that has rows."""
        return np.diff(np.append(self.starts, self.group.size))

    def sums(self, values: Floats) -> Floats:
        """Add up values by group; every group has rows."""
        return np.add.reduceat(values, self.starts)

    def lowest(self, values: Floats) -> Floats:
        """Return the lowest of some values by group; every group has rows."""
        return np.minimum.reduceat(values, self.starts)

    def each(self, values: Floats) -> Floats:
        """Give every row the value of its group."""
        return np.repeat(values, self.sizes)

    def chosen(self, which: Ints | Bools) -> "GroupedRows":
        """Return some of the rows, in order of their groups."""
        squares = None if self.squares is None else self.squares[which]
        others = self.scores[which], self.positive[which], self.group[which], self.weight[which]
        return GroupedRows(*others, squares)

    def of_groups(self, chosen: Bools) -> "GroupedRows":
        """Return the rows of some groups, which get new numbers."""
        rows = self.chosen(chosen[self.group])
        return replace(rows, group=(np.cumsum(chosen) - 1)[rows.group])

    def joined(self) -> "GroupedRows":
        """Join the rows of a group whose standardised scores share a bin, at their mean."""
        bins = np.clip(self.scores * (BINS / 2 / REACH) + BINS / 2, 0, BINS - 1).astype(np.int64)
        key = (self.group * BINS + bins) * 2 + self.positive
        weight = np.bincount(key, self.weight).astype(np.float64)
        total = np.bincount(key, self.weight * self.scores)
        there = np.flatnonzero(weight)
        weight = weight[there]
        return GroupedRows(total[there] / weight, there % 2 == 1, there // (2 * BINS), weight)

    def worth(self) -> "GroupedRows":
        """Scale weights to the rows that each group is worth, `(Σ w)² / Σ w²`.

        Then the size of a Newton step in standard errors does not depend on their unit.
        """
        if self.squares is None:
            return self
        unit = self.each(self.sums(self.weight) / self.sums(self.squares))
        return replace(self, weight=self.weight * unit, squares=self.squares * unit**2)


def maximise(cells: GroupedRows) -> tuple[Floats, Bools]:
    """Return slope, intercept and their standard errors, by Newton steps on scaled scores."""
    scaled, centre, scale = _standardise(cells.worth())
    point, converged = _climb(scaled, _first_point(scaled), MAX_STEPS, PRECISION)
    with np.errstate(over="ignore", invalid="ignore"):
        slope = point.place[0] / scale
        errors = _errors(scaled, point, centre, scale)
        found = np.array([slope, point.place[1] - slope * centre, *errors])
    return found, converged & np.isfinite(found).all(axis=0)


def _first_point(cells: GroupedRows) -> "_Point":
    """Return the maps that Newton's steps start from.

    Those of joined rows are close, and found in a small part of the time. They are taken
    where they are better than slope 0, whose loss does not depend on the scores.
    """
    if cells.scores.size < 4 * BINS * cells.starts.size:
        return _Point.at(cells, _start(cells))
    few = cells.joined()
    flat = _Point.at(few, _start(few))
    near, _ = _climb(few, flat, FEW_STEPS, ROUGH)
    point = _Point.at(cells, near.place)
    better = point.loss < flat.loss
    return point if better.all() else _Point.at(cells, np.where(better, near.place, flat.place))


def _climb(
    cells: GroupedRows, point: "_Point", steps: int, precision: float
) -> tuple["_Point", Bools]:
    """Take Newton steps until all groups are at their maximum; tell which of them are.

    A step of `d` standard errors that moves no logit by more than `D` leaves an error of about
    `d D / 2` standard errors, because the curvature changes by a factor `exp(D)` at most.
    """
    converged = np.zeros(point.loss.size, dtype=np.bool_)
    reach = np.maximum(-cells.lowest(-cells.scores), -cells.lowest(cells.scores))
    with np.errstate(over="ignore", invalid="ignore"):  # next to far heavier rows steps run away
        for _ in range(steps):
            step, size = _newton_step(cells, point)
            step[:, converged] = 0.0
            start, point = point, _descend(cells, point, step)
            moved = np.abs(step[0]) * reach + np.abs(step[1])
            idle = start.loss - point.loss <= ROUNDING * start.loss
            converged |= (size * moved <= precision) | ((size <= NOISE) & idle)
            if converged.all():
                break
    return point, converged


def _errors(
    cells: GroupedRows, point: "_Point", centre: Floats, scale: Floats
) -> tuple[Floats, Floats]:
    """Return the standard errors of slope and intercept at the maximum.

    About the Fisher-weighted mean of the scores slope and height are uncorrelated in the
    inverse information; in the sandwich they are not.
    """
    mass, mean, distance, spread = _information(cells, point)
    slope_se, height_se = 1 / (np.sqrt(spread) * scale), 1 / np.sqrt(mass)
    correlation = np.zeros(mass.size)
    if cells.squares is not None:
        scatter = cells.squares * _residuals(cells, point) ** 2
        wide = np.sqrt(np.maximum(cells.sums(scatter * distance**2), TINY))
        high = np.sqrt(np.maximum(cells.sums(scatter), TINY))
        correlation = (cells.sums(scatter * distance) / wide / high).clip(-1, 1)
        slope_se, height_se = slope_se * wide / np.sqrt(spread), height_se * high / np.sqrt(mass)
    along = (centre + mean * scale) * slope_se - correlation * height_se
    return slope_se, np.hypot(along, height_se * np.sqrt(1 - correlation**2))


def _standardise(cells: GroupedRows) -> tuple[GroupedRows, Floats, Floats]:
    """Give each group's scores mean 0 and deviation 1; halves keep huge scores finite."""
    bottom = cells.lowest(cells.scores)
    top = -cells.lowest(-cells.scores)
    half, total = top / 2 - bottom / 2, cells.sums(cells.weight)
    unit = (cells.scores / 2 - cells.each(bottom / 2)) / cells.each(half)
    mean = cells.sums(cells.weight * unit) / total
    unit -= cells.each(mean)
    deviation = np.sqrt(cells.sums(cells.weight * unit**2) / total)
    scaled = replace(cells, scores=unit / cells.each(deviation))
    return scaled, bottom * (1 - mean) + top * mean, 2 * deviation * half


def _start(cells: GroupedRows) -> Floats:
    """Return slope 0 and the logit of the rate: Newton's steps from there stay small.

    From slope 1 they run away where scores are wide and the best slope is small.
    """
    rate = cells.sums(cells.weight * cells.positive) / cells.sums(cells.weight)
    return np.array([np.zeros(rate.size), logit(rate)])


@dataclass(frozen=True, eq=False)
class _Point:
    """Maps of all groups, and what follows from them for every row.

    Parameters
    ----------
    place : array
        Slopes and heights.
    margin : array
        Logit of the label that a row does not have.
    tail : array
        exp(-|logit|), of which loss, residual and Fisher weight are made.
    loss : array
        By group.
    """

    place: Floats
    margin: Floats
    tail: Floats
    loss: Floats

    @classmethod
    def at(cls, cells: GroupedRows, place: Floats) -> "_Point":
        """Evaluate maps."""
        eta = cells.each(place[0]) * cells.scores + cells.each(place[1])
        tail = np.exp(-np.abs(eta))
        margin = np.where(cells.positive, -eta, eta)
        softplus = np.maximum(margin, 0.0) + np.log1p(tail)
        return cls(place, margin, tail, cells.sums(cells.weight * softplus))


def _information(cells: GroupedRows, point: _Point) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the Fisher weights' sum, the mean of the scores under them, and their scatter.

    The third of the four is the distance of each score from the mean.
    """
    weight = cells.weight * point.tail / (1 + point.tail) ** 2
    mass = np.maximum(cells.sums(weight), TINY)
    mean = cells.sums(weight * cells.scores) / mass
    distance = cells.scores - cells.each(mean)
    return mass, mean, distance, np.maximum(cells.sums(weight * distance**2), TINY)


def _newton_step(cells: GroupedRows, point: _Point) -> tuple[Floats, Floats]:
    """Return the Newton step and its size in standard errors.

    About the weighted mean of the scores the two equations come apart.
    """
    mass, mean, distance, spread = _information(cells, point)
    residual = cells.weight * _residuals(cells, point)
    slope = cells.sums(residual * distance) / spread
    centre = cells.sums(residual) / mass
    size = np.hypot(slope * np.sqrt(spread), centre * np.sqrt(mass))
    return np.array([slope, centre - slope * mean]), size


def _residuals(cells: GroupedRows, point: _Point) -> Floats:
    """Return label minus probability."""
    wrong = np.where(point.margin > 0, 1.0, point.tail) / (1 + point.tail)
    return np.where(cells.positive, wrong, -wrong)


def _descend(cells: GroupedRows, start: _Point, step: Floats) -> _Point:
    """Take the longest of the steps 1, 1/2, 1/4, … that does not raise the loss, or none."""
    length = np.ones(start.loss.size)
    for _ in range(MAX_HALVINGS):
        reached = _Point.at(cells, start.place + length * step)
        worse = reached.loss > start.loss * (1 + ROUNDING)
        if not worse.any():
            return reached
        length[worse] /= 2
    length[worse] = 0.0
    return _Point.at(cells, start.place + length * step)
