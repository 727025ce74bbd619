"""The uncertainty of the lift by a Poisson bootstrap of cells, with every map refitted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, pdtr

from hetcal.arrays import Bools, Floats, Ints
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.calibrators.methods import LEVEL_STRENGTH
from hetcal.calibrators.newton import TINY, step_of_sums
from hetcal.calibrators.platt import fit_platt
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.compiled import use_compiled
from hetcal.errors import CalibrationError

CONFIDENCE = 0.95
AT_ONCE = 2**18  # cells times replicates in one step: bounds the memory
SMALL_STEP = 0.02  # in standard errors; what is left after it is a small part of its square
MOST_STEPS = 3
HEIGHT_STEPS = 10  # of at most one logit each
FEW = 0.02  # share of maps that is cheaper to fit one by one than by a step of all
MANY_ROWS = 25  # from here on Poisson's distribution is approximated by the normal one
LEVELS = 2**16  # equally likely random numbers, one for each quantile


@dataclass(frozen=True)
class BootstrapLift:
    """How the lift in AUC varies when rows are drawn again."""

    low: float  # of the 95 % percentile interval
    high: float
    se: float  # standard deviation over the replicates
    replicates: int  # those in which the lift is defined


def bootstrap_lift(
    calibration: Cells,
    test: Cells,
    calibrator: LeafCalibrator,
    *,
    replicates: int = 1000,
    seed: int = 0,
    refit: bool = True,
) -> BootstrapLift:
    """Estimate the uncertainty of the lift by drawing the rows of cells with replacement.

    The time depends on the number of cells only, and a coarse sketch is enough.

    Parameters
    ----------
    calibration, test : Cells
        Raw scores of the rows that fit the maps, and of those that the lift is measured on.
    calibrator : LeafCalibrator
        Fitted Platt maps without shrinkage, or linear maps if there is no refit. Which leaves
        have a slope of their own stays as it is.
    replicates, seed : int
        How often rows are drawn, and the seed of that.
    refit : bool
        Draw the calibration rows, too, and fit every map again: the interval then includes the
        uncertainty of the maps. Without it only the test rows vary, as in DeLong's test.
    """
    _require_linear(calibrator, refit)
    # Two streams, so that the same test rows are drawn with refits and without.
    rng, rng_of_maps = np.random.Generator(np.random.SFC64(seed)).spawn(2)
    maps = _Maps(calibration, calibrator)
    places = _Places(test, maps.group_of(test.leaf))
    step = max(1, AT_ONCE // max(places.score.size, calibration.score.size, 1))
    lifts = np.empty(replicates)
    for start in range(0, replicates, step):
        part = lifts[start : start + step]
        zeros, ones = (each.draw(part.size, rng) for each in (places.zeros, places.ones))
        slope, intercept = maps.draw(part.size, rng_of_maps) if refit else maps.given(part.size)
        logits = slope[:, places.group] * places.score + intercept[:, places.group]
        part[:] = areas(zeros, ones, logits) - places.areas_before(zeros, ones)
    lifts = lifts[np.isfinite(lifts)]
    if lifts.size < 2:
        return BootstrapLift(float("nan"), float("nan"), float("nan"), lifts.size)
    low, high = percentiles(lifts, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return BootstrapLift(low, high, float(np.std(lifts, ddof=1)), lifts.size)


def percentiles(replicates: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    """Return what so large a share of the replicates lies below; NaN are left out.

    Of B replicates in order, the k-th stands for k / (B + 1): so few are not too narrow.
    """
    return tuple(np.nanquantile(replicates, shares, method="weibull").tolist())


def _require_linear(calibrator: LeafCalibrator, refit: bool) -> None:
    plain = calibrator.method == "platt" and not calibrator.shrinkage_
    if plain or (calibrator.straight and not refit):
        return
    shrunk = f" with shrinkage {calibrator.shrinkage_:g}" if calibrator.shrinkage_ else ""
    raise CalibrationError(
        f"The maps were fitted by the method {calibrator.method!r}{shrunk}.",
        "The bootstrap fits Platt maps again, without shrinkage.",
        "Use the interval of DeLong's test, or choose Platt maps without shrinkage.",
    )


class _Maps:
    """The maps of all leaves with rows: first those with a slope of their own, last the pooled."""

    def __init__(self, cells: Cells, calibrator: LeafCalibrator) -> None:
        there = set(np.unique(cells.leaf).tolist())
        maps = [each for each in calibrator.maps_ if each.leaf in there]
        maps.sort(key=lambda each: each.fallback is not None)
        self.leaves = [each.leaf for each in maps]
        self.slope = np.array([each.slope for each in (*maps, calibrator.pooled_)])
        self.intercept = np.array([each.intercept for each in (*maps, calibrator.pooled_)])
        group = self.group_of(cells.leaf)
        cells = _in_rows(cells.chosen(np.argsort(group, kind="stable")))
        self.amounts = Amounts(cells.weight, cells.squares)
        self.bounds = np.searchsorted(np.sort(group), np.arange(len(maps) + 1))
        self.sloped = sum(each.fallback is None for each in maps)
        inside = slice(0, self.bounds[self.sloped])
        self.score, self.positive = cells.score, cells.y == 1
        own_rows = self.score[inside], self.positive[inside], self.bounds[: self.sloped]
        self.own = Refits(*own_rows, self.slope[: self.sloped], self.intercept[: self.sloped])
        first = np.zeros(1, dtype=np.int64)
        of_all = self.slope[-1:], self.intercept[-1:]
        self.all = Refits(self.score, self.positive, first, *of_all)

    def group_of(self, leaf: Ints) -> Ints:
        """Return the group of each leaf."""
        position = leaf_positions(leaf, self.leaves)
        return np.where(position >= 0, position, len(self.leaves))

    def given(self, replicates: int) -> tuple[Floats, Floats]:
        """Return the given maps for every replicate."""
        shape = replicates, self.slope.size
        return np.broadcast_to(self.slope, shape), np.broadcast_to(self.intercept, shape)

    def draw(self, replicates: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return maps that are fitted to drawn rows.

        A leaf without a slope has that of all rows, and an intercept of its own.
        """
        weight = self.amounts.draw(replicates, rng)
        shape = replicates, self.slope.size
        slope, intercept = np.full(shape, np.nan), np.full(shape, np.nan)
        own = slice(0, self.sloped)
        inside = weight[:, : self.bounds[self.sloped]]
        slope[:, own], intercept[:, own] = self.own.refit(inside)
        lost = np.isnan(slope)
        pooled = np.hstack(self.all.refit(weight)).T
        slope[:, -1], intercept[:, -1] = pooled
        for group in np.flatnonzero(lost[:, :-1].any(axis=0)):
            which = np.flatnonzero(lost[:, group])
            cells = slice(*self.bounds[group : group + 2])
            logits = pooled[0, which, None] * self.score[cells] + pooled[1, which, None]
            height = best_heights(weight[which, cells], logits, self.positive[cells])
            slope[which, group] = pooled[0, which]
            intercept[which, group] = pooled[1, which] + height
        return slope, intercept


def best_heights(weight: Floats, logits: Floats, positive: Bools) -> Floats:
    """Return by replicate what is best added to the logits, shrunk as in a leaf without a slope.

    Weights and logits are by replicate and cell.
    """
    height = np.zeros(len(weight))
    for _ in range(HEIGHT_STEPS):
        p = expit(logits + height[:, None])
        gradient = np.sum(weight * (positive - p), axis=1) - LEVEL_STRENGTH * height
        step = gradient / (np.sum(weight * p * (1 - p), axis=1) + LEVEL_STRENGTH)
        height += step.clip(-1.0, 1.0)  # longer steps may overshoot more and more
    return height


def _in_rows(cells: Cells) -> Cells:
    """Scale weights to the effective number of rows: refits end at steps in standard errors."""
    unit = cells.weight.sum() / max(cells.squares.sum(), TINY)
    return replace(cells, weight=cells.weight * unit, squares=cells.squares * unit**2)


class _Places:
    """Test cells by score and group of leaves, in ascending order of score."""

    def __init__(self, cells: Cells, group: Ints) -> None:
        order = np.lexsort((group, cells.centre))
        score, group = cells.centre[order], group[order]
        fresh = np.append(True, score[1:] != score[:-1]) if score.size else np.zeros(0, np.bool_)
        other = np.append(True, group[1:] != group[:-1]) if score.size else fresh
        first = np.flatnonzero(fresh | other)
        self.score, self.group = score[first], group[first]
        self.tied = np.flatnonzero(fresh[first])
        place = np.cumsum(fresh | other) - 1
        one = cells.y[order] == 1

        def summed(side: Bools, values: Floats) -> Floats:
            return np.bincount(place[side], values[order][side], first.size).astype(np.float64)

        self.zeros, self.ones = (
            Amounts(summed(side, cells.weight), summed(side, cells.squares)) for side in (~one, one)
        )

    def areas_before(self, zeros: Floats, ones: Floats) -> Floats:
        """Return the AUC of the raw scores by replicate."""
        return _areas(*(np.add.reduceat(each, self.tied, axis=1) for each in (zeros, ones)))


def areas(zeros: Floats, ones: Floats, logits: Floats) -> Floats:
    """Return the AUC by replicate of weights and logits by replicate and place."""
    if use_compiled():
        from hetcal.metrics.kernels import replicate_areas

        return replicate_areas(zeros, ones, np.argsort(logits, axis=1))
    order = np.argsort(logits, axis=1)
    return _areas(*(np.take_along_axis(each, order, axis=1) for each in (zeros, ones)))


def _areas(zeros: Floats, ones: Floats) -> Floats:
    """Return the AUC by replicate of weights in ascending order of score."""
    below = np.cumsum(zeros, axis=1)
    pairs = below[:, -1] * ones.sum(axis=1)
    below -= zeros / 2
    right = np.sum(ones * below, axis=1)
    return np.divide(right, pairs, out=np.full(pairs.size, np.nan), where=pairs > 0)


@dataclass(frozen=True, eq=False)
class Amounts:
    """Sum of the weights, and of their squares, in some cells; 0 where there are no rows."""

    weight: Floats
    squares: Floats

    def draw(self, replicates: int, rng: np.random.Generator) -> Floats:
        """Return weights of drawn rows by replicate and cell.

        Every row counts a Poisson number of times with mean 1, so that the weight of a cell
        keeps its mean and gets the variance `squares`. That is the variance of
        `weight² / squares` rows of equal weight: their Poisson number is what is drawn.
        """
        some = self.squares > 0  # the squares of rows next to far heavier ones may vanish
        rows = np.divide(self.weight**2, self.squares, out=np.zeros(some.size), where=some)
        unit = np.divide(self.squares, self.weight, out=np.zeros(some.size), where=some)
        levels = _random_levels((replicates, some.size), rng)
        drawn = _normal_quantiles().take(levels)
        drawn *= np.sqrt(rows)
        drawn += rows
        np.maximum(drawn, 0.0, out=drawn)
        few, whole = some & (rows < MANY_ROWS), rows == np.floor(rows)
        whole, broken = (np.flatnonzero(few & each) for each in (whole, ~whole))
        first = rows[whole].astype(np.int64) * LEVELS
        drawn[:, whole] = _poisson_quantiles().take(first + levels[:, whole])
        drawn[:, broken] = rng.poisson(rows[broken], (replicates, broken.size))
        if np.any(unit != 1):
            drawn *= unit
        return drawn


def _random_levels(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Draw numbers of 16 bits, four of which are cut from each number of 64 bits."""
    count = shape[0] * shape[1]
    numbers = rng.integers(0, 2**64, -(-count // 4), dtype=np.uint64)
    return numbers.view(np.uint16)[:count].reshape(shape)


@cache
def _normal_quantiles() -> Floats:
    """Return one quantile of the normal distribution for each level; their variance is 1.

    Looking them up is several times faster than drawing normal numbers.
    """
    found = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
    return found / np.sqrt(np.mean(found**2))


@cache
def _poisson_quantiles() -> NDArray[np.uint8]:
    """Return the same of Poisson's distribution with mean 0, 1, 2, …, one after the other."""
    numbers = np.arange(4 * MANY_ROWS)
    level = (np.arange(LEVELS) + 0.5) / LEVELS
    tables = [np.searchsorted(pdtr(numbers, mean), level) for mean in range(MANY_ROWS)]
    return np.concatenate(tables).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Refits:
    """Cells in the order of the groups that share a map, and the maps of the given rows."""

    score: Floats  # mean scores
    positive: Bools
    starts: Ints  # first cell of each group; every group has cells
    slope: Floats  # the map of each group, where Newton's steps start
    intercept: Floats

    @property
    def sizes(self) -> Ints:
        """Number of cells in each group."""
        return np.diff(np.append(self.starts, self.score.size))

    def refit(self, weight: Floats) -> tuple[Floats, Floats]:
        """Fit all maps to the weights of each replicate (by replicate and cell).

        Slopes and intercepts are by replicate and group, NaN where there is no map or its slope
        is not positive.
        """
        if not self.starts.size:
            nothing = np.zeros((len(weight), 0))
            return nothing, nothing
        with np.errstate(over="ignore", invalid="ignore"):  # where steps diverge
            place, open_ = self._first_steps(weight)
            for _ in range(MOST_STEPS):
                if open_.mean() <= FEW:
                    break
                step, size = _newton_step(self._newton_sums(weight, place))
                place += step
                open_ = ~(size <= SMALL_STEP)
            slope, intercept = place[0], place[1] - place[0] * self._centre
        self._fit_one_by_one(open_, weight, slope, intercept)
        lost = ~(slope > 0)
        slope[lost], intercept[lost] = np.nan, np.nan
        return slope, intercept

    @cached_property
    def _centre(self) -> Floats:
        """A middle score of each group, about which moments are taken."""
        return np.add.reduceat(self.score, self.starts) / self.sizes

    @cached_property
    def _distance(self) -> Floats:
        return self.score - np.repeat(self._centre, self.sizes)

    @cached_property
    def _start(self) -> Floats:
        """The given maps: their slopes, and their heights at the centres."""
        return np.array([self.slope, self.intercept + self.slope * self._centre])

    @cached_property
    def _factors(self) -> Floats:
        """What Newton's first two steps add up, cell by cell; the maps are the given ones.

        Residuals with moments up to the first, Fisher weights up to the second, and the
        derivatives of these up to the third.
        """
        each = np.repeat(self._start, self.sizes, axis=1)
        p = expit(each[0] * self._distance + each[1])
        fisher = p * (1 - p)
        powers = self._distance ** np.arange(4)[:, None]
        parts = (self.positive - p, 2), (fisher, 3), (fisher * (1 - 2 * p), 4)
        return np.concatenate([value * powers[:count] for value, count in parts]).T.copy()

    def _first_steps(self, weight: Floats) -> tuple[Floats, Bools]:
        """Take two Newton steps from the given maps; return where more of them are needed, too.

        For the second, residuals and Fisher weights are expanded about the given maps. So weights
        are multiplied with numbers that all replicates share, and no exponential is needed. Where
        the steps shrink too slowly for that, only the first one is taken.
        """
        ends = np.append(self.starts[1:], self.score.size)
        parts = [slice(*each) for each in zip(self.starts, ends, strict=True)]
        sums = np.stack([weight[:, each] @ self._factors[each] for each in parts], axis=-1)
        sums = np.moveaxis(sums, 1, 0)
        (slope, height), size = _newton_step(sums[:5])
        third = sums[5:]
        residuals = [
            -(height**2 * third[i] + 2 * height * slope * third[i + 1] + slope**2 * third[i + 2])
            / 2
            for i in range(2)
        ]
        fishers = [sums[2 + i] + height * third[i] + slope * third[i + 1] for i in range(3)]
        second, second_size = _newton_step(np.array(residuals + fishers))
        open_ = ~(second_size**2 <= SMALL_STEP * np.maximum(size, second_size))
        place = self._start[:, None] + [slope, height]
        place[:, ~open_] += second[:, ~open_]
        return place, open_

    def _newton_sums(self, weight: Floats, place: Floats) -> Floats:
        """Add up residuals, Fisher weights and their moments by replicate and group."""
        distance = self._distance
        if use_compiled():
            from hetcal.cells.kernels import replicate_sums

            return replicate_sums(weight, distance, self.positive, self.starts, place)
        sizes = self.sizes
        p = expit(np.repeat(place[0], sizes, 1) * distance + np.repeat(place[1], sizes, 1))
        residual, fisher = self.positive - p, p * (1 - p)
        first = fisher * distance
        sums = np.empty((5, len(weight), sizes.size))
        for i, each in enumerate((residual, residual * distance, fisher, first, first * distance)):
            sums[i] = np.add.reduceat(weight * each, self.starts, axis=1)
        return sums

    def _fit_one_by_one(
        self, chosen: Bools, weight: Floats, slope: Floats, intercept: Floats
    ) -> None:
        """Fit the maps that Newton's steps have not found, group by group."""
        for group in np.flatnonzero(chosen.any(axis=0)):
            which = np.flatnonzero(chosen[:, group])
            cells = slice(self.starts[group], self.starts[group] + self.sizes[group])
            own, count = weight[which, cells], self.sizes[group]
            fit = fit_platt(
                np.tile(self.score[cells], which.size),
                np.tile(self.positive[cells].astype(np.int8), which.size),
                np.repeat(np.arange(which.size), count),
                range(which.size),
                own.ravel(),
            )
            slope[which, group] = np.where(fit.converged, fit.slope, np.nan)
            intercept[which, group] = np.where(fit.converged, fit.intercept, np.nan)


def _newton_step(sums: Floats) -> tuple[Floats, Floats]:
    """Return the steps of slope and height, and their size in standard errors."""
    step, mass, _, spread = step_of_sums(sums)
    return step, np.hypot(step[0] * np.sqrt(spread), sums[0] / np.sqrt(mass))
