"""Newton's method for the maps of many groups of rows at once, drawn towards a given map."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hetcal.arrays import Bools, Floats
from hetcal.platt_newton import GroupedRows

MAX_STEPS = 200
PRECISION = 1e-6  # largest last step, in standard errors; the error left is about its square


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """Rows in the order of their groups, and what the map of a row is made of.

    Parameters
    ----------
    rows : GroupedRows
        Labels and weights; every group has rows.
    columns : list of array
        Features in the units of the penalty; ones for the constant.
    offset : array
        Logit that all parameters 0 give.
    """

    rows: GroupedRows
    columns: list[Floats]
    offset: Floats

    def change(self, parameters: Floats) -> Floats:
        """Return for every row the sum of its features times the parameters of its group."""
        total = np.zeros(self.offset.size)
        for column, values in zip(self.columns, parameters.T, strict=True):
            total += self.rows.each(values) * column
        return total

    def moments(self, weight: Floats) -> Floats:
        """Add up weights times products of two features, a matrix for every group."""
        size = len(self.columns)
        found = np.empty((self.rows.starts.size, size, size))
        for i, column in enumerate(self.columns):
            weighted = weight * column
            for j, other in enumerate(self.columns[: i + 1]):
                found[:, i, j] = found[:, j, i] = self.rows.sums(weighted * other)
        return found

    def together(self) -> "FamilyRows":
        """Return the same rows as one group."""
        return replace(self, rows=replace(self.rows, group=np.zeros_like(self.rows.group)))

    def gradient(self, residual: Floats) -> Floats:
        """Add up residuals times features, one row for every group."""
        return np.stack([self.rows.sums(residual * each) for each in self.columns], axis=1)


@dataclass(frozen=True, eq=False)
class Climbed:
    """The highest point of every group.

    Parameters
    ----------
    place : array
        Parameters by group.
    covariance : array
        Their covariance matrix by group.
    pull : array
        How the place follows the target, a matrix by group.
    converged : array of bool
        The highest point was found.
    """

    place: Floats
    covariance: Floats
    pull: Floats
    converged: Bools


def climb(
    problem: FamilyRows, start: Floats, target: Floats, strength: float, bounded: Bools
) -> Climbed:
    """Maximise log-likelihood - strength / 2 · |place - target|² in every group.

    A full Newton step may leave the region where the curvature is what it was. A step that
    moves no logit by more than `D` is therefore shortened by the factor `log(1 + D) / D`:
    this never lowers the objective, whose curvature changes by no more than a factor `exp(D)`
    on the way, and the steps become full ones near the summit.

    Parameters
    ----------
    problem : FamilyRows
        The rows.
    start : array
        Parameters by group that the steps start from, none of them out of bounds.
    target : array
        What the parameters are drawn to.
    strength : float
        Of the penalty, 0 or more.
    bounded : array of bool
        Parameters that must not be below 0.
    """
    place, converged = start, np.zeros(len(start), dtype=np.bool_)
    for _ in range(MAX_STEPS):
        residual, fisher = _slopes(problem, place)
        gradient = problem.gradient(residual) - strength * (place - target)
        curvature = problem.moments(fisher) + strength * np.eye(len(target))
        step, size, free = _bounded_step(gradient, curvature, bounded & (place <= 0))
        step[converged] = 0.0
        length, blocked = _length(problem, place, step, bounded)
        place = place + length[:, None] * step
        place[blocked] = 0.0
        curved = np.trace(curvature, axis1=1, axis2=2) > 0  # on a plain no step is left, either
        converged |= (size <= PRECISION) & curved & ~blocked.any(axis=1)
        if converged.all():
            break
    inverse = _inverse(curvature, free)
    return Climbed(
        place,
        inverse @ _scatter(problem, place, curvature, strength) @ inverse,
        strength * inverse,
        converged & np.isfinite(place).all(axis=1),
    )


def covariance_at(problem: FamilyRows, place: Floats) -> Floats:
    """Return the covariance of plain maps that are known to be the best ones."""
    _, fisher = _slopes(problem, place)
    curvature = problem.moments(fisher)
    inverse = _inverse(curvature, np.ones_like(place, dtype=np.bool_))
    return inverse @ _scatter(problem, place, curvature, 0.0) @ inverse


def _slopes(problem: FamilyRows, place: Floats) -> tuple[Floats, Floats]:
    """Return weighted residuals and weighted Fisher information of the rows."""
    p = expit(problem.offset + problem.change(place))
    weight = problem.rows.weight
    return weight * (problem.rows.positive - p), weight * p * (1 - p)


def _bounded_step(
    gradient: Floats, curvature: Floats, at_bound: Bools
) -> tuple[Floats, Floats, Bools]:
    """Return step and size, and the parameters that are free: no step leads out of bounds."""
    free = ~(at_bound & (gradient < 0))
    step, size = _newton_step(gradient, curvature, free)
    while (at_bound & (step < 0)).any():
        free &= ~(at_bound & (step < 0))
        step, size = _newton_step(gradient, curvature, free)
    return step, size, free


def _newton_step(gradient: Floats, curvature: Floats, free: Bools) -> tuple[Floats, Floats]:
    """Return the step of the free parameters, and its size in standard errors."""
    gradient = np.where(free, gradient, 0.0)
    step = np.where(free, (_inverse(curvature, free) @ gradient[:, :, None])[:, :, 0], 0.0)
    return step, np.sqrt(np.maximum(np.sum(gradient * step, axis=1), 0.0))


def _inverse(curvature: Floats, free: Bools) -> Floats:
    """Invert each matrix, as far as it can be, with nothing for parameters that are held.

    Where the rows leave a direction open the parameters stay where they are along it.
    """
    held = np.where(free[:, :, None] & free[:, None, :], curvature, 0.0)
    held[~np.isfinite(held).all(axis=(1, 2))] = 0.0
    return np.linalg.pinv(held, rcond=1e-13, hermitian=True)


def _length(
    problem: FamilyRows, place: Floats, step: Floats, bounded: Bools
) -> tuple[Floats, Bools]:
    """Return the share of the step that is taken, and which parameters it brings to 0."""
    starts = problem.rows.starts
    moved = np.maximum.reduceat(np.abs(problem.change(step)), starts)
    length = np.where(moved > 0, np.log1p(moved) / np.where(moved > 0, moved, 1.0), 1.0)
    falls = bounded & (step < 0)
    room = np.where(falls, place / np.where(falls, -step, 1.0), np.inf)
    blocked = falls & (room <= length[:, None]) & (room == room.min(axis=1, keepdims=True))
    return np.minimum(length, room.min(axis=1)), blocked


def _scatter(problem: FamilyRows, place: Floats, curvature: Floats, strength: float) -> Floats:
    """Return the variance of the gradient: of weighted rows that of the rows' own gradients.

    The target counts as an observation that is as sure as the penalty is strong.
    """
    rows = problem.rows
    if rows.squares is None:
        return curvature
    p = expit(problem.offset + problem.change(place))
    own = problem.moments(rows.squares * (rows.positive - p) ** 2)
    return own + strength * np.eye(len(problem.columns))
