"""The maximum likelihood of Platt scaling in many leaves at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from hetcal.arrays import Bools, Floats, Ints, Labels
from hetcal.calibrators.newton import GroupedRows, maximise, step_of_sums
from hetcal.cells.cells import Cells, leaf_positions, position_table
from hetcal.compiled import use_compiled

CLOSE = 1e-10  # how far slope and intercept may be off, absolutely or relative to their size
MOST_PASSES = 8
BINOMIAL = 1, 4, 6, 4, 1
WIDE = 1e60  # fourth powers of scores beyond this overflow; `fit_platt` scales them first
FARTHEST = 1e100  # steps beyond have diverged
CHUNK = 2**16  # rows at a time: they stay in the processor's cache


@dataclass(frozen=True)
class PlattFit:
    """Maps sigmoid(slope * score + intercept), one entry per leaf.

    Where the likelihood has no single maximum (one class, separated or constant
    scores) slope, intercept and their standard errors (see `fit_platt`) are NaN.
    """

    slope: Floats
    intercept: Floats
    slope_se: Floats
    intercept_se: Floats
    converged: Bools  # the maximum was found
    one_class: Bools  # no rows, or rows of one class only
    separated: Bools  # a threshold separates the classes: the best slope is infinite
    constant: Bools  # all scores are equal: any slope fits as well


def fit_platt(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
    squares: Floats | None = None,
) -> PlattFit:
    """Fit the maps of all leaves at once.

    Without weights the standard errors are those of the inverse Fisher information `H⁻¹`.
    With weights they are those of the sandwich `H⁻¹ (Σ w² g g') H⁻¹`, where `g` is a row's
    gradient and `H = Σ w p (1 - p) x x'`: it holds for weights of any unit, also for those
    that depend on the label. Scores are finite logits; rows of leaves that are not among
    `leaves` are left out. Where an entry is several rows of equal score and label, `weight` is
    the sum of their weights and `squares` that of the squares; by default `weight ** 2`.
    """
    if weight is None:
        weight, squares = np.ones(len(scores)), None
    else:
        weight = np.asarray(weight, dtype=np.float64)
        squares = weight**2 if squares is None else np.asarray(squares, dtype=np.float64)
    return _fit(group_rows(scores, y, leaf, leaves, weight, squares), len(leaves))


def fit_platt_cells(cells: Cells, leaves: Sequence[int]) -> PlattFit:
    """Fit the maps of all leaves on cells, each of which is rows at their mean score.

    The standard errors are those of weighted rows only if some weight is not 1.
    """
    return _fit(group_cells(cells, leaves), len(leaves))


def group_rows(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats,
    squares: Floats | None,
) -> GroupedRows:
    """Put rows in the order of their leaves, the group being the position in `leaves`.

    Sums over consecutive rows are several times faster than sums by group number.
    """
    group = leaf_positions(np.asarray(leaf), leaves)
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(y) == 1
    rows = GroupedRows(scores, positive, group, weight, squares)
    used = (group >= 0) & (weight > 0)
    if not used.all() or np.any(group[1:] < group[:-1]):
        # Numbers of 16 bits are sorted digit by digit, which is fast.
        key = group[used].astype(np.uint16) if len(leaves) < 2**16 else group[used]
        rows = rows.chosen(np.flatnonzero(used)[np.argsort(key, kind="stable")])
    return rows


def group_cells(cells: Cells, leaves: Sequence[int]) -> GroupedRows:
    """Put cells in the order of their leaves; they have squares if some weight is not 1."""
    squares = None if cells.counted else cells.squares
    return group_rows(cells.score, cells.y, cells.leaf, leaves, cells.weight, squares)


def _fit(cells: GroupedRows, count: int) -> PlattFit:
    one_class, constant, separated = unfittable(*extremes(cells, count))
    sound = ~one_class & ~constant & ~separated
    parameters = np.full((4, count), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    if sound.any():
        inside = cells if sound.all() else cells.of_groups(sound)
        parameters[:, sound], converged[sound] = maximise(inside)
    slope, intercept, slope_se, intercept_se = parameters
    return PlattFit(
        slope, intercept, slope_se, intercept_se, converged, one_class, separated, constant
    )


def extremes(cells: GroupedRows, count: int) -> tuple[Floats, Floats]:
    """Return lowest and highest score per class and group; infinite where there is none."""
    low, high = np.full((2, count), np.inf), np.full((2, count), -np.inf)
    if cells.starts.size:
        there = cells.group[cells.starts]
        for label, side in enumerate((~cells.positive, cells.positive)):
            low[label, there] = cells.lowest(np.where(side, cells.scores, np.inf))
            high[label, there] = -cells.lowest(np.where(side, -cells.scores, np.inf))
    return low, high


def unfittable(low: Floats, high: Floats) -> tuple[Bools, Bools, Bools]:
    """Return which groups have one class, constant scores or separated classes."""
    one_class: Bools = np.isinf(low[0]) | np.isinf(low[1])
    constant = ~one_class & (high.max(axis=0) / 2 - low.min(axis=0) / 2 == 0)
    apart = (high[0] <= low[1]) | (high[1] <= low[0])
    return one_class, constant, ~one_class & ~constant & apart


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
    it (Cauchy and Schwarz do the rest); a pass is added until that is below 1e-10. A simpler
    bound by `D` alone needs a second pass. Leaves without a map of their cells are fitted on
    their rows; rows whose score is not finite are left out.
    """
    rows = _Rows(scores, y, leaf, leaves, weight)
    centre, reach = _centres(rows)
    if reach > WIDE:
        return _refit(fit, ~fit.one_class, rows)
    place = np.array([fit.slope, fit.intercept + fit.slope * centre])
    done = ~fit.converged
    errors = np.array([fit.slope_se, fit.intercept_se])
    for _ in range(MOST_PASSES):
        with np.errstate(over="ignore", invalid="ignore"):  # steps may diverge
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


_Chunk = tuple[Floats, Labels, Ints, Floats | None]  # scores, labels, positions of leaves, weights


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows as they were given."""

    scores: Floats
    y: Labels
    leaf: Ints
    leaves: Sequence[int]
    weight: Floats | None

    def chunks(self) -> Iterator[_Chunk]:
        """Yield the rows that count, some at a time."""
        for start in range(0, len(self.scores), CHUNK):
            part = slice(start, start + CHUNK)
            position = leaf_positions(self.leaf[part], self.leaves)
            scores, y = np.asarray(self.scores[part], dtype=np.float64), self.y[part]
            weight = None if self.weight is None else self.weight[part]
            used = (position >= 0) & np.isfinite(scores)
            if not used.all():
                scores, y, position = scores[used], y[used], position[used]
                weight = None if weight is None else weight[used]
            yield scores, y, position, weight


def _centres(rows: _Rows) -> tuple[Floats, float]:
    """Return a middle score of each leaf, and the largest distance of a score from one.

    The mean of some of the rows is good enough: it only keeps the sums free of rounding.
    """
    some = slice(None, None, len(rows.scores) // CHUNK + 1)
    scores, position = rows.scores[some], leaf_positions(rows.leaf[some], rows.leaves)
    used = (position >= 0) & np.isfinite(scores)
    count = len(rows.leaves)
    total = np.bincount(position[used], scores[used], count)
    centre = total / np.maximum(np.bincount(position[used], minlength=count), 1)
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
    sums = _newton_sums(rows, np.where(np.isfinite(place), place, 0.0), centre)
    (slope, height), mass, mean, spread = step_of_sums(sums[:5])
    slope_se = 1 / np.sqrt(spread)
    ses = np.array([slope_se, np.hypot(1 / np.sqrt(mass), (centre + mean) * slope_se)])
    moved = np.abs(slope) * reach + np.abs(height)
    fourth = sum(
        many * height ** (4 - i) * slope**i * each
        for i, (many, each) in enumerate(zip(BINOMIAL, sums[2:], strict=True))
    )
    left = np.sqrt(np.maximum(fourth, 0.0)) * np.exp(moved) / 2
    return np.array([slope, height]), ses, ses * left


def _newton_sums(rows: _Rows, place: Floats, centre: Floats) -> Floats:
    """Add up residuals and Fisher weights with their moments about the centres, by leaf."""
    sums = np.zeros((len(rows.leaves), 7))
    # Negated, for the odds of label 0.
    maps = -place[0], place[0] * centre - place[1]
    with np.errstate(over="ignore"):
        if use_compiled():
            _add_compiled(rows, *maps, centre, sums)
        else:
            for chunk in rows.chunks():
                _add(chunk, *maps, centre, sums)
    return sums.T


def _add(chunk: _Chunk, slope: Floats, intercept: Floats, centre: Floats, sums: Floats) -> None:
    scores, y, at, weight = chunk
    p = 1 / (1 + np.exp(slope.take(at) * scores + intercept.take(at)))
    distance = scores - centre.take(at)
    residual, fisher = y - p, p * (1 - p)

    def total(values: Floats) -> Floats:
        weighted = values if weight is None else weight * values
        return np.bincount(at, weighted, len(sums)).astype(np.float64)

    sums[:, 0] += total(residual)
    sums[:, 1] += total(residual * distance)
    for power in range(5):
        sums[:, 2 + power] += total(fisher)
        fisher *= distance


def _add_compiled(
    rows: _Rows, slope: Floats, intercept: Floats, centre: Floats, sums: Floats
) -> None:
    from hetcal.cells.kernels import add_newton_sums, map_known

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
    merged = {each.name: getattr(fit, each.name).copy() for each in fields(fit)}
    for name, values in merged.items():
        values[chosen] = getattr(own, name)
    return PlattFit(**merged)
