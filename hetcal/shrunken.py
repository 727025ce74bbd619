"""The maps of many leaves at once, each drawn towards the map of all rows.

A leaf with few rows has little to say against the pooled map and stays close to it; a leaf
with many rows has the map of its own rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.family_newton import Climbed, FamilyRows, climb, covariance_at
from hetcal.map_families import FAMILIES, Family, Units
from hetcal.map_shapes import Affine
from hetcal.platt import PlattFit, group_rows
from hetcal.platt_newton import TINY, GroupedRows
from hetcal.ranking import Labels


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """Maps of one family, one entry per leaf.

    Parameters
    ----------
    parameters, errors : array
        By leaf and parameter: the maps and their standard errors.
    converged : array of bool
        The maximum was found.
    """

    parameters: Floats
    errors: Floats
    converged: Bools


def fit_shrunk(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    pooled: Affine,
    strength: float,
    weight: Floats | None = None,
) -> PlattFit:
    """Fit the Platt maps of all leaves at once, drawn towards the pooled map.

    They maximise `log-likelihood - strength / 2 · |difference from the pooled map|²`, slope
    and height being those of scores with mean 0 and deviation 1 over all these rows. A leaf of one
    class, of one score or without rows has such a map, too.

    Parameters
    ----------
    scores, y, leaf, leaves, weight
        As in `hetcal.platt.fit_platt`. The strength counts against weights that are scaled
        to the number of rows that all of them are worth.
    pooled : Affine
        The map that infinite strength gives.
    strength : float
        Above 0.
    """
    w = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    squares = None if weight is None else w**2
    rows = group_rows(scores, y, leaf, leaves, w, squares)
    target = np.array([pooled.slope, pooled.intercept])
    fit = shrink("platt", rows, len(leaves), target, strength)
    (slope, intercept), (slope_se, intercept_se) = fit.parameters.T, fit.errors.T
    no = np.zeros(len(leaves), dtype=np.bool_)
    return PlattFit(slope, intercept, slope_se, intercept_se, fit.converged, no, no, no)


def fit_family(
    name: str,
    cells: Cells,
    leaves: Sequence[int],
    pooled: Floats | None = None,
    strength: float = 0.0,
) -> FamilyFit:
    """Fit the maps of one of `FAMILIES` in all leaves at once.

    Parameters
    ----------
    name : str
        Of the family.
    cells : Cells
        Raw scores.
    leaves : sequence of int
        Ids of the leaves.
    pooled : array, optional
        Parameters of the pooled map; needed if there is a penalty.
    strength : float
        Of the penalty, see `fit_shrunk`; 0 is the plain maximum likelihood, which a leaf may
        not have: then its parameters mean nothing.
    """
    squares = None if cells.counted else cells.squares
    rows = group_rows(cells.score, cells.y, cells.leaf, leaves, cells.weight, squares)
    return shrink(name, rows, len(leaves), pooled, strength)


@np.errstate(over="ignore", invalid="ignore")  # maps beyond all numbers have not converged
def shrink(
    name: str, rows: GroupedRows, count: int, pooled: Floats | None, strength: float
) -> FamilyFit:
    """Fit grouped rows; groups are numbered from 0 to `count` - 1."""
    # Groups that no pooled map joins have weights of their own unit.
    family, rows = FAMILIES[name], _worth(rows) if strength else rows.worth()
    features = family.features(rows.scores)
    units = Units.of(family, features, rows.weight)
    columns = [*units.standardise(features), *[np.ones(rows.scores.size)] * family.constant]
    problem = FamilyRows(rows, columns, family.offset(rows.scores))
    bounded = units.bounded(family)
    if pooled is None or not strength:
        level = np.zeros(bounded.size)
        found = _spread(climb(problem, _level(problem, family), level, 0.0, bounded), rows, count)
    else:
        found = _drawn(problem, units.from_parameters(pooled), strength, bounded, count)
    back = units.to_parameters
    variances = np.einsum("ij,ljk,ik->li", back, found.covariance, back)
    errors, parameters = np.sqrt(np.maximum(variances, 0.0)), found.place @ back.T
    # The squares of scores may be beyond all numbers, and then so is what follows from them.
    finite = np.isfinite(parameters).all(axis=1) & np.isfinite(errors).all(axis=1)
    return FamilyFit(parameters, errors, found.converged & finite)


def _worth(rows: GroupedRows) -> GroupedRows:
    """Scale weights to the number of rows that all of them are worth."""
    if rows.squares is None:
        return rows
    unit = rows.weight.sum() / max(rows.squares.sum(), TINY)
    return replace(rows, weight=rows.weight * unit, squares=rows.squares * unit**2)


def _level(problem: FamilyRows, family: Family) -> Floats:
    """Return parameters 0 with the height of the rate: Newton's steps from there stay small."""
    rows = problem.rows
    start = np.zeros((rows.starts.size, len(problem.columns)))
    if family.constant and start.size:
        total = rows.sums(rows.weight)
        rate = (rows.sums(rows.weight * rows.positive) + 0.5) / (total + 1)
        start[:, -1] = logit(rate) - rows.sums(rows.weight * problem.offset) / total
    return start


def _drawn(
    problem: FamilyRows, target: Floats, strength: float, bounded: Bools, count: int
) -> Climbed:
    """Climb from the target, whose own doubt is a part of that of the maps."""
    rows, size = problem.rows, target.size
    doubt = covariance_at(problem.together(), target[None])[0]
    place = np.tile(target, (count, 1))
    if np.isinf(strength) or not rows.starts.size:
        sure = np.ones(count, dtype=np.bool_)
        still = np.tile(np.eye(size), (count, 1, 1))
        return Climbed(place, np.tile(doubt + np.eye(size) / strength, (count, 1, 1)), still, sure)
    start = np.tile(target, (rows.starts.size, 1))
    found = _spread(climb(problem, start, target, strength, bounded), rows, count)
    empty = np.isnan(found.place[:, 0])
    found.place[empty], found.pull[empty] = target, np.eye(size)
    found.covariance[empty] = np.eye(size) / strength
    carried = found.pull @ doubt @ found.pull.transpose(0, 2, 1)
    return replace(found, covariance=found.covariance + carried, converged=found.converged | empty)


def _spread(found: Climbed, rows: GroupedRows, count: int) -> Climbed:
    """Give groups without rows a place of NaN."""
    there, size = rows.group[rows.starts], found.place.shape[1]
    place = np.full((count, size), np.nan)
    covariance, pull = np.full((2, count, size, size), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    place[there], covariance[there], pull[there] = found.place, found.covariance, found.pull
    converged[there] = found.converged
    return Climbed(place, covariance, pull, converged)
