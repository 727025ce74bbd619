"""The uncertainty of the lift by a Poisson bootstrap of cells, with every map refitted."""

from dataclasses import dataclass, replace

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.errors import CalibrationError
from hetcal.kernels import use_compiled
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_ids import leaf_positions
from hetcal.platt_newton import TINY
from hetcal.refits import Groups
from hetcal.resampling import Amounts

CONFIDENCE = 0.95
AT_ONCE = 2**18  # cells times replicates in one step: bounds the memory


@dataclass(frozen=True)
class BootstrapLift:
    """How the lift in AUC varies when rows are drawn again.

    Parameters
    ----------
    low, high : float
        95 % percentile interval of the lift.
    se : float
        Standard deviation of the lift over the replicates.
    replicates : int
        Replicates in which the lift is defined.
    """

    low: float
    high: float
    se: float
    replicates: int


def bootstrap_lift(
    calibration: Cells,
    test: Cells,
    calibrator: LeafCalibrator,
    *,
    replicates: int = 1000,
    seed: int = 0,
    refit: bool = True,
) -> BootstrapLift:
    """Draw the rows of cells again and again, and look at the lift.

    The work depends on the number of cells only, and cells of a coarse sketch will do.

    Parameters
    ----------
    calibration, test : Cells
        Raw scores of the rows that fit the maps, and of those that the lift is measured on.
    calibrator : LeafCalibrator
        Fitted Platt maps without shrinkage, or straight maps if there is no refit. Leaves with
        a fallback share the map of all rows.
    replicates : int
        How often rows are drawn.
    seed : int
        Of the random numbers.
    refit : bool
        Draw the calibration rows, too, and fit every map again: the interval then holds the
        uncertainty of the maps. Without it only the test rows vary, as in DeLong's test.
    """
    _require_lines(calibrator, refit)
    # Apart, so that the same test rows are drawn with refits and without.
    chance, chance_of_maps = np.random.Generator(np.random.SFC64(seed)).spawn(2)
    maps = _Maps(calibration, calibrator)
    places = _Places(test, maps.group_of(test.leaf))
    step = max(1, AT_ONCE // max(places.score.size, calibration.score.size, 1))
    lifts = np.empty(replicates)
    for start in range(0, replicates, step):
        part = lifts[start : start + step]
        zeros, ones = (each.draw(part.size, chance) for each in (places.zeros, places.ones))
        slope, intercept = maps.draw(part.size, chance_of_maps) if refit else maps.given(part.size)
        logits = slope[:, places.group] * places.score + intercept[:, places.group]
        part[:] = areas(zeros, ones, logits) - places.areas_before(zeros, ones)
    lifts = lifts[np.isfinite(lifts)]
    if lifts.size < 2:
        return BootstrapLift(float("nan"), float("nan"), float("nan"), lifts.size)
    low, high = np.quantile(lifts, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return BootstrapLift(float(low), float(high), float(np.std(lifts, ddof=1)), lifts.size)


def _require_lines(calibrator: LeafCalibrator, refit: bool) -> None:
    plain = calibrator.method == "platt" and not calibrator.shrinkage_
    if plain or (calibrator.straight and not refit):
        return
    drawn = f" with shrinkage {calibrator.shrinkage_:g}" if calibrator.shrinkage_ else ""
    raise CalibrationError(
        f"The maps were fitted by the method {calibrator.method!r}{drawn}.",
        "The bootstrap fits Platt maps again, without shrinkage.",
        "Look at the interval of DeLong's test, or choose Platt maps without shrinkage.",
    )


class _Maps:
    """The maps of the groups of leaves: one for each leaf with its own, the last for the rest."""

    def __init__(self, cells: Cells, calibrator: LeafCalibrator) -> None:
        there = set(np.unique(cells.leaf).tolist())
        own = [each for each in calibrator.maps_ if not each.fallback and each.leaf in there]
        self.leaves = [each.leaf for each in own]
        self.slope = np.array([each.slope for each in (*own, calibrator.pooled_)])
        self.intercept = np.array([each.intercept for each in (*own, calibrator.pooled_)])
        group = self.group_of(cells.leaf)
        cells = _in_rows(cells.chosen(np.argsort(group, kind="stable")))
        self.amounts = Amounts(cells.weight, cells.squares)
        self.shared = bool((group == len(own)).any())
        self.inside = np.count_nonzero(group < len(own))
        starts = np.searchsorted(np.sort(group), np.arange(len(own)))
        owned = cells.chosen(np.arange(self.inside))
        self.own = Groups.of(owned, starts, self.slope[:-1], self.intercept[:-1])
        first = np.zeros(1, dtype=np.int64)
        self.all = Groups.of(cells, first, self.slope[-1:], self.intercept[-1:])

    def group_of(self, leaf: Ints) -> Ints:
        """Return the group of each leaf."""
        position = leaf_positions(leaf, self.leaves)
        return np.where(position >= 0, position, len(self.leaves))

    def given(self, replicates: int) -> tuple[Floats, Floats]:
        """Return the maps as they are for every replicate."""
        shape = replicates, self.slope.size
        return np.broadcast_to(self.slope, shape), np.broadcast_to(self.intercept, shape)

    def draw(self, replicates: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """Return maps that are fitted to drawn rows; a leaf without one has that of all rows."""
        weight = self.amounts.draw(replicates, chance)
        own = self.own.refit(weight[:, : self.inside])
        lost = np.isnan(own[0])
        pooled = self.given(replicates)
        if self.shared or lost.any():
            pooled = self.all.refit(weight)
        slope, intercept = (
            np.hstack([np.where(lost, shared[:, -1:], each), shared[:, -1:]])
            for each, shared in zip(own, pooled, strict=True)
        )
        return slope, intercept


def _in_rows(cells: Cells) -> Cells:
    """Scale weights to the rows that all are worth: refits end at steps in standard errors."""
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
        from hetcal.rank_kernels import replicate_areas

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
