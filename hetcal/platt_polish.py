"""From the Platt maps of cells to those of the rows: Newton steps over all rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import expit

from hetcal.arrays import Bools, Floats, Ints
from hetcal.kernels import use_compiled
from hetcal.leaf_ids import leaf_positions
from hetcal.platt import PlattFit, fit_platt
from hetcal.platt_newton import TINY
from hetcal.ranking import Labels

CLOSE = 1e-10  # how far slope and intercept may be off, absolutely or relative to their size
MOST_PASSES = 8
WIDE = 1e100  # squares of scores beyond this overflow; `fit_platt` scales them first
CHUNK = 2**16  # rows at a time: they stay in the processor's cache


def polish(
    fit: PlattFit,
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
) -> PlattFit:
    """Return the maximum likelihood of the rows, starting from the maps of their cells.

    One pass over the rows is the rule. A Newton step of size `d` standard errors that moves
    no logit by more than `D` leaves an error of about `d D / 2` standard errors, because the
    curvature changes by no more than a factor `exp(D)` on its way; a pass is added until that
    is below 1e-10. Leaves that the cells could not be fitted in are fitted on their rows.

    Parameters
    ----------
    fit : PlattFit
        What `fit_platt` gave for cells of these rows.
    scores, y, leaf, leaves, weight
        As in `fit_platt`; rows whose score is not finite are left out.
    """
    rows = _Rows(scores, y, leaf, leaves, weight)
    centre, reach = _centres(rows)
    if reach > WIDE:
        return _refit(fit, ~fit.one_class, rows)
    place = np.array([fit.slope, fit.intercept + fit.slope * centre])
    done = ~fit.converged
    errors = np.array([fit.slope_se, fit.intercept_se])
    for _ in range(MOST_PASSES):
        step, ses, left = _step(rows, place, centre, reach)
        place[:, ~done] += step[:, ~done]
        if weight is None:  # the sandwich of weighted rows hardly moves within a cell
            errors[:, ~done] = ses[:, ~done]
        done |= (left <= CLOSE * np.maximum(1.0, np.abs(place))).all(axis=0)
        if done.all():
            break
    slope, intercept = place[0], place[1] - place[0] * centre
    polished = replace(
        fit, slope=slope, intercept=intercept, slope_se=errors[0], intercept_se=errors[1]
    )
    return _refit(polished, ~done | (~fit.converged & ~fit.one_class), rows)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows as they were given."""

    scores: Floats
    y: Labels
    leaf: Ints
    leaves: Sequence[int]
    weight: Floats | None

    def chunks(self) -> Iterator["_Chunk"]:
        """Yield the rows that count, some at a time."""
        for start in range(0, len(self.scores), CHUNK):
            part = slice(start, start + CHUNK)
            position = leaf_positions(self.leaf[part], self.leaves)
            scores = np.asarray(self.scores[part], dtype=np.float64)
            weight = None if self.weight is None else self.weight[part]
            used = (position >= 0) & np.isfinite(scores)
            if used.all():
                yield _Chunk(scores, self.y[part], position, weight)
            else:
                weight = None if weight is None else weight[used]
                yield _Chunk(scores[used], self.y[part][used], position[used], weight)


@dataclass(frozen=True, eq=False)
class _Chunk:
    scores: Floats
    y: Labels
    position: Ints
    weight: Floats | None

    def sums(self, values: Floats, count: int) -> Floats:
        """Add up values by leaf."""
        weighted = values if self.weight is None else self.weight * values
        return np.bincount(self.position, weighted, count).astype(np.float64)


def _centres(rows: _Rows) -> tuple[Floats, float]:
    """Return a middle score of each leaf, and the largest distance of a score from one.

    The mean of some of the rows is good enough: it only keeps the sums free of rounding.
    """
    step = len(rows.scores) // CHUNK + 1
    weight = None if rows.weight is None else rows.weight[::step]
    some = replace(
        rows, scores=rows.scores[::step], y=rows.y[::step], leaf=rows.leaf[::step], weight=weight
    )
    total, mass = np.zeros(len(rows.leaves)), np.zeros(len(rows.leaves))
    for chunk in some.chunks():
        total += chunk.sums(chunk.scores, total.size)
        mass += chunk.sums(np.ones(chunk.scores.size), total.size)
    centre = total / np.maximum(mass, TINY)
    low, high = rows.scores.min(initial=np.inf), rows.scores.max(initial=-np.inf)
    if not np.isfinite(low + high):
        finite = np.isfinite(rows.scores)
        low = rows.scores.min(initial=np.inf, where=finite)
        high = rows.scores.max(initial=-np.inf, where=finite)
    return centre, float(max(high - centre.min(initial=np.inf), centre.max(initial=-np.inf) - low))


def _step(
    rows: _Rows, place: Floats, centre: Floats, reach: float
) -> tuple[Floats, Floats, Floats]:
    """Return the Newton step, the standard errors, and a bound of the error left after it.

    The two rows of each are slope and intercept; `place` and the step have in place of the
    intercept the height of the line at the centre.
    """
    safe = np.where(np.isfinite(place), place, 0.0)
    residual, moment, mass, first, second = _newton_sums(rows, safe, centre)
    mass = np.maximum(mass, TINY)
    mean = first / mass
    spread = np.maximum(second - mass * mean**2, TINY)
    slope = (moment - mean * residual) / spread
    height = residual / mass - slope * mean
    size = np.hypot(slope * np.sqrt(spread), residual / np.sqrt(mass))
    slope_se = 1 / np.sqrt(spread)
    ses = np.array([slope_se, np.hypot(1 / np.sqrt(mass), (centre + mean) * slope_se)])
    moved = np.abs(slope) * reach + np.abs(height)
    return np.array([slope, height]), ses, ses * size * np.expm1(np.minimum(moved, 1e2)) / 2


def _newton_sums(rows: _Rows, place: Floats, centre: Floats) -> Floats:
    """Add up residuals, Fisher weights and their moments about the centres, by leaf."""
    count = len(rows.leaves)
    sums, fast = np.zeros((5, count)), use_compiled()
    for chunk in rows.chunks():
        if fast:
            _add_compiled(chunk, place, centre, sums)
            continue
        distance = chunk.scores - centre[chunk.position]
        p = expit(place[0][chunk.position] * distance + place[1][chunk.position])
        residual, fisher = chunk.y - p, p * (1 - p)
        first = fisher * distance
        parts = residual, residual * distance, fisher, first, first * distance
        for total, each in zip(sums, parts, strict=True):
            total += chunk.sums(each, count)
    return sums


def _add_compiled(chunk: _Chunk, place: Floats, centre: Floats, sums: Floats) -> None:
    from hetcal.cell_kernels import add_newton_sums

    weight = np.zeros(0) if chunk.weight is None else chunk.weight
    add_newton_sums(chunk.scores, chunk.y, chunk.position, weight, place, centre, sums)


def _refit(fit: PlattFit, chosen: Bools, rows: _Rows) -> PlattFit:
    """Fit some of the leaves on their rows from the start."""
    if not chosen.any():
        return fit
    leaves = [each for each, again in zip(rows.leaves, chosen, strict=True) if again]
    used = np.isfinite(rows.scores) & (leaf_positions(rows.leaf, leaves) >= 0)
    weight = None if rows.weight is None else rows.weight[used]
    own = fit_platt(rows.scores[used], rows.y[used], rows.leaf[used], leaves, weight)
    merged = {}
    for each in fields(fit):
        merged[each.name] = getattr(fit, each.name).copy()
        merged[each.name][chosen] = getattr(own, each.name)
    return PlattFit(**merged)
