"""Families of maps that are linear in their parameters, fitted in all leaves at once.

A calibrated logit is `offset + Σ parameter · feature`, where offset and features depend on the
score alone. So the log-loss of every family is convex, and one solver serves all of them.
Maps may be shrunk towards the map of all rows: a leaf with few rows then stays close to it, and
a leaf with many rows has the map of its own rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from hetcal.arrays import Bools, Floats
from hetcal.calibrators.newton import TINY, PenalisedLosses, minimise
from hetcal.calibrators.platt import group_cells
from hetcal.calibrators.shapes import beta_features
from hetcal.cells.cells import Cells


@dataclass(frozen=True)
class Family:
    """What the maps of a kind have in common."""

    features: Callable[[Floats], Floats]  # from scores to one row per feature
    constant: bool = True  # the last parameter is an intercept
    shifted: bool = False  # the offset is the score itself, and not 0
    rising: bool = False  # the parameters of features must not be below 0


FAMILIES = {
    "platt": Family(lambda scores: scores[None]),
    "bias": Family(lambda scores: np.empty((0, len(scores))), shifted=True),
    "temperature": Family(lambda scores: scores[None], constant=False),
    "beta": Family(beta_features, rising=True),
}


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """Maps of one family, one entry per leaf."""

    parameters: Floats  # by leaf and parameter
    errors: Floats  # standard errors of the same
    converged: Bools  # the maximum was found


@np.errstate(over="ignore", invalid="ignore")  # maps beyond all numbers have not converged
def fit_family(
    name: str,
    cells: Cells,
    leaves: Sequence[int],
    pooled: Floats | None = None,
    strength: float = 0.0,
) -> FamilyFit:
    """Fit the maps of one of `FAMILIES` in all leaves at once.

    They maximise `log-likelihood - strength / 2 · |difference from the pooled map|²`, with
    parameters in units of features that have mean 0 and deviation 1 over all these rows. With a
    penalty a leaf of one class, of one score or without rows has such a map, too; without one
    it may have none, and then its parameters mean nothing. A penalty needs the parameters of the
    pooled map, and its strength counts rows: weights are scaled to their effective number. If the
    pooled map does not fall, no map that is shrunk towards it does.
    """
    family, rows = FAMILIES[name], group_cells(cells, leaves).in_rows(together=strength > 0)
    features = family.features(rows.scores)
    centre, scale, back = _units(family, features, rows.weight)
    standardised = (features - centre[:, None]) / scale[:, None]
    columns = [*standardised, *[np.ones(rows.scores.size)] * family.constant]
    target, rising = np.zeros(len(columns)), family.rising
    if pooled is not None and strength:
        target = np.array(pooled, dtype=np.float64)
        if family.constant:
            target[-1] += target[:-1] @ centre
        target[: scale.size] *= scale
        rising = bool((target[: scale.size] >= 0).all())
    strengths = np.full(target.size, strength)
    bounded = np.array([rising] * scale.size + [False] * family.constant, np.bool_)
    offset = rows.scores if family.shifted else np.zeros(len(rows.scores))
    losses = PenalisedLosses(rows, columns, offset, target, strengths, bounded)
    found = _shrunk(losses, len(leaves)) if strength else _plain(losses, len(leaves), family)
    place, covariance, converged = found
    variances = np.einsum("ij,ljk,ik->li", back, covariance, back)
    errors, parameters = np.sqrt(np.maximum(variances, 0.0)), place @ back.T
    # The squares of scores may be beyond all numbers, and then so is what follows from them.
    finite = np.isfinite(parameters).all(axis=1) & np.isfinite(errors).all(axis=1)
    return FamilyFit(parameters, errors, converged & finite)


def _units(family: Family, features: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean and deviation of the features, and the matrix that takes parameters back.

    Parameters are compared in units of standardised features; a family without a constant keeps
    the zero of its features.
    """
    total = max(float(weight.sum()), TINY)
    mean = features @ weight / total
    deviation = np.sqrt((features - mean[:, None]) ** 2 @ weight / total)
    scale = np.where(np.isfinite(deviation) & (deviation > 0), deviation, 1.0)
    back = np.diag(np.append(1 / scale, [1.0] * family.constant))
    if not family.constant:
        return np.zeros_like(mean), scale, back
    back[-1, :-1] = -mean / scale
    return mean, scale, back


Found = tuple[Floats, Floats, Bools]
"""Parameters, their covariance, and whether they are the best, by leaf."""


def _plain(losses: PenalisedLosses, count: int, family: Family) -> Found:
    """Minimise from a constant map, which keeps Newton's steps small; NaN without rows."""
    rows, size = losses.rows, losses.target.size
    place, covariance = np.full((count, size), np.nan), np.full((count, size, size), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    if rows.starts.size:
        start, there = np.zeros((size, rows.starts.size)), rows.group[rows.starts]
        if family.constant:
            total = rows.sums(rows.weight)
            rate = (rows.sums(rows.weight * rows.positive) + 0.5) / (total + 1)
            start[-1] = logit(rate) - rows.sums(rows.weight * losses.offset) / total
        point, converged[there] = minimise(losses, losses.at(start))
        place[there], covariance[there] = point.place.T, losses.covariance(point)[0]
    return place, covariance, converged


def _shrunk(losses: PenalisedLosses, count: int) -> Found:
    """Minimise from the target, whose own uncertainty is a part of that of the maps."""
    rows, target, strength = losses.rows, losses.target, losses.strength[0]
    prior = np.eye(target.size) / strength
    place, covariance = np.tile(target, (count, 1)), np.tile(prior, (count, 1, 1))
    pull = np.tile(np.eye(target.size), (count, 1, 1))
    converged = np.ones(count, dtype=np.bool_)
    if np.isfinite(strength) and rows.starts.size:
        there = rows.group[rows.starts]
        start = losses.at(np.tile(target[:, None], there.size))
        point, converged[there] = minimise(losses, start)
        place[there] = point.place.T
        covariance[there], pull[there] = losses.covariance(point)
    uncertain = _pooled_covariance(losses)
    return place, covariance + pull @ uncertain @ pull.transpose(0, 2, 1), converged


def _pooled_covariance(losses: PenalisedLosses) -> Floats:
    """Return the covariance of the target as the map of all rows together, without a penalty."""
    rows = replace(losses.rows, group=np.zeros_like(losses.rows.group))
    free = np.zeros_like(losses.bounded)
    together = replace(losses, rows=rows, strength=np.zeros(free.size), bounded=free)
    return together.covariance(together.at(losses.target[:, None]))[0][0]
