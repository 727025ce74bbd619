"""From the Platt maps of cells to those of the rows: Newton steps over all rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.kernels import use_compiled
from hetcal.leaf_ids import leaf_positions, position_table
from hetcal.platt import PlattFit, fit_platt
from hetcal.platt_newton import TINY
from hetcal.ranking import Labels

CLOSE = 1e-10  # how far slope and intercept may be off, absolutely or relative to their size
MOST_PASSES = 8
BINOMIAL = 1, 4, 6, 4, 1
WIDE = 1e60  # fourth powers of scores beyond this overflow; `fit_platt` scales them first
FARTHEST = 1e100  # steps that lead beyond have run away
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

    One pass over the rows is the rule. A Newton step that moves the logits by `e`, none by more
    than `D`, leaves an error of at most about `exp(D) / 2` times the root of `Σ f e⁴` standard
    errors, where `f` are the Fisher weights, because no derivative of a Fisher weight exceeds
    it (Cauchy and Schwarz do the rest); a pass is added until that is below 1e-10. Leaves that
    the cells could not be fitted in are fitted on their rows.

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
        with np.errstate(over="ignore", invalid="ignore"):  # steps may run away
            step, ses, left = _step(rows, place, centre, reach)
            place[:, ~done] += step[:, ~done]
        place[:, ~(np.abs(place) <= FARTHEST).all(axis=0)] = np.nan
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
    residual, moment, mass, first, second, *higher = _newton_sums(rows, safe, centre)
    mass = np.maximum(mass, TINY)
    mean = first / mass
    spread = np.maximum(second - mass * mean**2, TINY)
    slope = (moment - mean * residual) / spread
    height = residual / mass - slope * mean
    slope_se = 1 / np.sqrt(spread)
    ses = np.array([slope_se, np.hypot(1 / np.sqrt(mass), (centre + mean) * slope_se)])
    moved = np.abs(slope) * reach + np.abs(height)
    fourth = sum(
        many * height ** (4 - i) * slope**i * each
        for i, (many, each) in enumerate(zip(BINOMIAL, (mass, first, second, *higher), strict=True))
    )
    left = np.sqrt(np.maximum(fourth, 0.0)) * np.exp(moved) / 2
    return np.array([slope, height]), ses, ses * left


def _newton_sums(rows: _Rows, place: Floats, centre: Floats) -> Floats:
    """Add up residuals and Fisher weights with their moments about the centres, by leaf."""
    sums = np.zeros((len(rows.leaves), 7))
    # Turned round, for the odds of label 0.
    maps = -place[0], place[0] * centre - place[1]
    with np.errstate(over="ignore"):
        if use_compiled():
            _add_compiled(rows, *maps, centre, sums)
        else:
            for chunk in rows.chunks():
                _add(chunk, *maps, centre, sums)
    return sums.T


def _add(chunk: _Chunk, slope: Floats, intercept: Floats, centre: Floats, sums: Floats) -> None:
    at = chunk.position
    p = 1 / (1 + np.exp(slope.take(at) * chunk.scores + intercept.take(at)))
    distance = chunk.scores - centre.take(at)
    residual, each = chunk.y - p, p * (1 - p)
    sums[:, 0] += chunk.sums(residual, len(sums))
    sums[:, 1] += chunk.sums(residual * distance, len(sums))
    for power in range(5):
        sums[:, 2 + power] += chunk.sums(each, len(sums))
        each *= distance


def _add_compiled(
    rows: _Rows, slope: Floats, intercept: Floats, centre: Floats, sums: Floats
) -> None:
    from hetcal.cell_kernels import add_newton_sums, map_known

    leaf, position = position_table(rows.leaf, rows.leaves)
    for start in range(0, len(rows.scores), CHUNK):
        part = slice(start, start + CHUNK)
        scores, its = rows.scores[part], leaf[part]
        odds = np.empty(len(scores))
        map_known(scores, its, position, slope, intercept, odds)
        np.exp(odds, out=odds)  # of many numbers at a time, which a compiled loop does not take
        weight = np.zeros(0) if rows.weight is None else rows.weight[part]
        add_newton_sums(scores, rows.y[part], its, position, weight, odds, centre, sums)


def _refit(fit: PlattFit, chosen: Bools, rows: _Rows) -> PlattFit:
    """Fit some of the leaves on their rows from the start."""
    if not chosen.any():
        return fit
    leaves = [each for each, again in zip(rows.leaves, chosen, strict=True) if again]
    used = np.isfinite(rows.scores) & (leaf_positions(rows.leaf, leaves) >= 0)
    weight = None if rows.weight is None else rows.weight[used]
    own = fit_platt(rows.scores[used], rows.y[used], rows.leaf[used], leaves, weight)
    return fit.with_maps(chosen, own)
