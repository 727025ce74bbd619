"""Newton's method for logistic regressions of few parameters in many groups of rows at once.

One loop, `minimise`, serves all maps with parameters. What differs is how losses are added up:
over rows in the order of their groups, with a penalty (`PenalisedLosses`), for Platt maps without
one (`maximise`), or over the leaves of many trees (`hetcal.calibrators.many_trees`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import logit

from hetcal.arrays import Bools, Floats, Ints

MAX_STEPS = 200
MAX_HALVINGS = 60
LEAST_FALL = 0.1  # of the loss, as a share of what the gradient predicts
PRECISION = 1e-11  # of the parameters, in standard errors
NOISE = 1e-7  # largest last step, in standard errors, where rounding leaves no smaller one
ROUNDING = 1e-13  # relative error of a sum of losses
BINS, REACH = 256, 4.0  # of joined rows, in standard deviations from the mean
ROUGH, FEW_STEPS = 1e-4, 12  # precision and steps for joined rows, which may have no maximum
TINY = float(np.finfo(np.float64).tiny)


class Point(Protocol):
    """Parameters, one row for each and one column for every group, and the loss by group."""

    @property
    def place(self) -> Floats:
        """The parameters."""

    @property
    def loss(self) -> Floats:
        """The loss of each group."""


P = TypeVar("P", bound=Point)


class Losses(Protocol[P]):
    """Convex losses of many groups, each a function of the group's own parameters."""

    @property
    def reach(self) -> Floats:
        """How far one unit of each parameter moves a logit at most, by parameter and group."""

    def at(self, place: Floats) -> P:
        """Evaluate parameters; those that are out of bounds are moved to the bound."""

    def step(self, point: P) -> tuple[Floats, Floats]:
        """Return the Newton step and its size in standard errors."""


def minimise(
    losses: Losses[P], start: P, steps: int = MAX_STEPS, precision: float = PRECISION
) -> tuple[P, Bools]:
    """Take Newton steps until all groups are at their minimum; return which of them are, too.

    A step of `d` standard errors that moves no logit by more than `D` leaves an error of about
    `d D / 2` standard errors, because the curvature changes by a factor `exp(D)` at most.
    """
    point, converged = start, np.zeros(start.loss.size, dtype=np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):  # next to far heavier rows steps diverge
        for _ in range(steps):
            step, size = losses.step(point)
            step[:, converged], size[converged] = 0.0, 0.0
            before, point = point, descend(losses, point, step, size)
            moved = np.sum(np.abs(step) * losses.reach, axis=0)
            whole = (point.place == before.place + step).all(axis=0)
            idle = before.loss - point.loss <= ROUNDING * before.loss
            converged |= (whole & (size * moved <= precision)) | (idle & (size <= NOISE))
            if (converged | ~step.any(axis=0)).all():  # without a step the next one is none, too
                break
    return point, converged


def descend(losses: Losses[P], start: P, step: Floats, size: Floats) -> P:
    """Take the longest of the steps 1, 1/2, 1/4, … that lowers the loss enough, or none."""
    length = np.ones(start.loss.size)
    for _ in range(MAX_HALVINGS):
        reached = losses.at(start.place + length * step)
        enough = start.loss * (1 + ROUNDING) - LEAST_FALL * length * size**2
        worse = reached.loss > enough
        if not worse.any():
            return reached
        length[worse] /= 2
    length[worse] = 0.0
    return losses.at(start.place + length * step)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows with weights in the order of their groups, or cells of them.

    `squares` are sums of squared row weights; None means that all weights are 1.
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

    def in_rows(self, *, together: bool = False) -> "GroupedRows":
        """Scale weights to the effective number of rows, `(Σ w)² / Σ w²`, of each group or of all.

        Then the size of a Newton step in standard errors does not depend on their unit.
        """
        if self.squares is None:
            return self
        if together:
            unit = self.weight.sum() / max(self.squares.sum(), TINY)
        else:
            unit = self.each(self.sums(self.weight) / self.sums(self.squares))
        return replace(self, weight=self.weight * unit, squares=self.squares * unit**2)


@dataclass(frozen=True, eq=False)
class RowsPoint:
    """Parameters of all groups, and what follows from them for every row."""

    place: Floats  # by parameter and group
    margin: Floats  # logit of the label that a row does not have
    tail: Floats  # exp(-|logit|), of which loss, residual and Fisher weight are made
    loss: Floats  # by group

    @classmethod
    def of(
        cls, rows: GroupedRows, place: Floats, logits: Floats, penalty: Floats | float = 0.0
    ) -> "RowsPoint":
        """Evaluate the logits that parameters give."""
        tail = np.exp(-np.abs(logits))
        margin = np.where(rows.positive, -logits, logits)
        softplus = np.maximum(margin, 0.0) + np.log1p(tail)
        return cls(place, margin, tail, rows.sums(rows.weight * softplus) + penalty)

    def residuals(self, rows: GroupedRows) -> Floats:
        """Return label minus probability."""
        wrong = np.where(self.margin > 0, 1.0, self.tail) / (1 + self.tail)
        return np.where(rows.positive, wrong, -wrong)

    def fisher(self, rows: GroupedRows) -> Floats:
        """Return the weighted Fisher information of every row."""
        return rows.weight * self.tail / (1 + self.tail) ** 2


@dataclass(frozen=True, eq=False)
class PenalisedLosses:
    """Log-loss plus `strength / 2` times the squared distance from a target, in every group."""

    rows: GroupedRows  # every group has some
    columns: list[Floats]  # features in the units of the penalty; ones for the constant
    offset: Floats  # logit where all parameters are 0
    target: Floats  # what the parameters are shrunk towards
    strength: Floats  # by parameter
    bounded: Bools  # parameters that must not be below 0

    @cached_property
    def reach(self) -> Floats:
        """The largest size of each feature, by parameter and group."""
        return np.stack([-self.rows.lowest(-np.abs(each)) for each in self.columns])

    def at(self, place: Floats) -> RowsPoint:
        """Evaluate parameters."""
        place = np.where(self.bounded[:, None], np.maximum(place, 0.0), place)
        logits = self.offset.copy()
        for column, values in zip(self.columns, place, strict=True):
            logits += self.rows.each(values) * column
        penalty = self.strength @ (place - self.target[:, None]) ** 2 / 2
        return RowsPoint.of(self.rows, place, logits, penalty)

    def step(self, point: RowsPoint) -> tuple[Floats, Floats]:
        """Return the Newton step and its size; no step leads out of bounds."""
        gradient, curvature, free = self._slopes(point)
        at_bound = self._at_bound(point)
        step = _solved(gradient, curvature, free)
        while (at_bound & (step < 0)).any():
            free &= ~(at_bound & (step < 0))
            step = _solved(gradient, curvature, free)
        size = np.sqrt(np.maximum(np.sum(gradient * step, axis=1), 0.0))
        flat = np.trace(curvature, axis1=1, axis2=2) == 0  # no step, but no minimum, either
        return step.T.copy(), np.where(flat, np.inf, size)

    def covariance(self, point: RowsPoint) -> tuple[Floats, Floats]:
        """Return the covariance of the parameters, and their derivatives by the target.

        With weighted rows it is the sandwich of the rows' own gradients. The target counts as
        an observation whose precision is the strength of the penalty.
        """
        _, curvature, free = self._slopes(point)
        inverse, scatter = _inverse(curvature, free), curvature
        if self.rows.squares is not None:
            own = self._moments(self.rows.squares * point.residuals(self.rows) ** 2)
            scatter = own + np.diag(self.strength)
        return inverse @ scatter @ inverse, inverse * self.strength

    def _slopes(self, point: RowsPoint) -> tuple[Floats, Floats, Bools]:
        """Return the descent direction, the curvature, and which parameters no bound holds."""
        rows, residual = self.rows, self.rows.weight * point.residuals(self.rows)
        gradient = np.stack([rows.sums(residual * each) for each in self.columns], axis=1)
        gradient -= self.strength * (point.place.T - self.target)
        curvature = self._moments(point.fisher(rows)) + np.diag(self.strength)
        return gradient, curvature, ~(self._at_bound(point) & (gradient < 0))

    def _at_bound(self, point: RowsPoint) -> Bools:
        return self.bounded & (point.place.T <= 0)

    def _moments(self, weight: Floats) -> Floats:
        """Add up weights times products of two features, a matrix for every group."""
        size = len(self.columns)
        found = np.empty((self.rows.starts.size, size, size))
        for i, column in enumerate(self.columns):
            weighted = weight * column
            for j, other in enumerate(self.columns[: i + 1]):
                found[:, i, j] = found[:, j, i] = self.rows.sums(weighted * other)
        return found


def _solved(gradient: Floats, curvature: Floats, free: Bools) -> Floats:
    """Return the Newton step of the free parameters."""
    step = _inverse(curvature, free) @ np.where(free, gradient, 0.0)[:, :, None]
    return np.where(free, step[:, :, 0], 0.0)


def _inverse(curvature: Floats, free: Bools) -> Floats:
    """Return the pseudo-inverse of each matrix, with 0 for parameters that are held.

    So no step is taken in a direction about which the rows have no information.
    """
    held = np.where(free[:, :, None] & free[:, None, :], curvature, 0.0)
    held[~np.isfinite(held).all(axis=(1, 2))] = 0.0
    return np.linalg.pinv(held, rcond=1e-13, hermitian=True)


def maximise(rows: GroupedRows) -> tuple[Floats, Bools]:
    """Return slope, intercept and their standard errors of Platt maps without a penalty."""
    scaled, centre, scale = _standardise(rows.in_rows())
    losses = PlattLosses(scaled)
    point, converged = minimise(losses, losses.first_point())
    with np.errstate(over="ignore", invalid="ignore"):
        slope = point.place[0] / scale
        errors = losses.errors(point, centre, scale)
        found = np.array([slope, point.place[1] - slope * centre, *errors])
    return found, converged & np.isfinite(found).all(axis=0)


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


@dataclass(frozen=True, eq=False)
class PlattLosses:
    """Log-loss of the slopes and heights of standardised scores.

    About the Fisher-weighted mean of the scores the two Newton equations are independent. So steps
    are exact where one score is far from all others: at 1e8 deviations `PenalisedLosses` silently
    ends elsewhere. It also takes half as long again.
    """

    rows: GroupedRows

    @cached_property
    def reach(self) -> Floats:
        """The largest size of a score, by group, and 1."""
        farthest = -self.rows.lowest(-np.abs(self.rows.scores))
        return np.stack([farthest, np.ones_like(farthest)])

    def at(self, place: Floats) -> RowsPoint:
        """Evaluate maps."""
        slope, height = (self.rows.each(values) for values in place)
        return RowsPoint.of(self.rows, place, slope * self.rows.scores + height)

    def first_point(self) -> RowsPoint:
        """Return the maps that Newton's steps start from.

        Those of joined rows are close, and found in a small part of the time. They are used
        where they are better than slope 0 at the logit of the rate, from where Newton's steps
        stay small: from slope 1 they diverge where scores are wide and the best slope is small.
        """
        rows = self.rows
        rate = rows.sums(rows.weight * rows.positive) / rows.sums(rows.weight)
        flat = np.array([np.zeros(rate.size), logit(rate)])
        if rows.scores.size < 4 * BINS * rows.starts.size:
            return self.at(flat)
        few = PlattLosses(rows.joined())
        start = few.at(flat)
        near, _ = minimise(few, start, FEW_STEPS, ROUGH)
        point = self.at(near.place)
        better = point.loss < start.loss
        return point if better.all() else self.at(np.where(better, near.place, flat))

    def step(self, point: RowsPoint) -> tuple[Floats, Floats]:
        """Return the Newton step and its size in standard errors."""
        mass, mean, distance, spread = self._information(point)
        residual = self.rows.weight * point.residuals(self.rows)
        slope = self.rows.sums(residual * distance) / spread
        centre = self.rows.sums(residual) / mass
        size = np.hypot(slope * np.sqrt(spread), centre * np.sqrt(mass))
        return np.array([slope, centre - slope * mean]), size

    def errors(self, point: RowsPoint, centre: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Return the standard errors of slope and intercept at the maximum.

        About the Fisher-weighted mean of the scores slope and height are uncorrelated in the
        inverse information; in the sandwich they are not.
        """
        rows = self.rows
        mass, mean, distance, spread = self._information(point)
        slope_se, height_se = 1 / (np.sqrt(spread) * scale), 1 / np.sqrt(mass)
        correlation = np.zeros(mass.size)
        if rows.squares is not None:
            scatter = rows.squares * point.residuals(rows) ** 2
            wide = np.sqrt(np.maximum(rows.sums(scatter * distance**2), TINY))
            high = np.sqrt(np.maximum(rows.sums(scatter), TINY))
            correlation = (rows.sums(scatter * distance) / wide / high).clip(-1, 1)
            slope_se *= wide / np.sqrt(spread)
            height_se *= high / np.sqrt(mass)
        along = (centre + mean * scale) * slope_se - correlation * height_se
        return slope_se, np.hypot(along, height_se * np.sqrt(1 - correlation**2))

    def _information(self, point: RowsPoint) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the Fisher weights' sum, the mean of the scores under them, and their scatter.

        The third of the four is the distance of each score from the mean.
        """
        rows, weight = self.rows, point.fisher(self.rows)
        mass = np.maximum(rows.sums(weight), TINY)
        mean = rows.sums(weight * rows.scores) / mass
        distance = rows.scores - rows.each(mean)
        return mass, mean, distance, np.maximum(rows.sums(weight * distance**2), TINY)


def step_of_sums(sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the Newton step of slope and height from sums over rows.

    The five sums are those of residuals, these times distances from a centre, Fisher weights,
    these times distances and times squared distances. After the step come the sum of the Fisher
    weights, and mean and scatter of the distances under them.
    """
    residual, moment, mass, first, second = sums
    mass = np.maximum(mass, TINY)
    mean = first / mass
    spread = np.maximum(second - mass * mean**2, TINY)
    slope = (moment - mean * residual) / spread
    return np.array([slope, residual / mass - slope * mean]), mass, mean, spread
