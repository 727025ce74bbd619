"""Platt maps fitted again in every replicate of a bootstrap, all leaves at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.kernels import use_compiled
from hetcal.platt import fit_platt
from hetcal.platt_newton import TINY

MOST_STEPS = 3
SMALL_STEP = 0.02  # in standard errors; what is left after it is a small part of its square
FEW = 0.02  # share of maps that is cheaper to fit one by one than by a step of all


@dataclass(frozen=True, eq=False)
class Groups:
    """Cells in the order of the groups that share a map, and the maps of all rows drawn once.

    Parameters
    ----------
    score : array
        Mean scores.
    positive : array of bool
        Whether the label is 1.
    starts : array of int
        First cell of each group; every group has cells.
    slope, intercept : array
        The map of each group, where Newton's steps start.
    """

    score: Floats
    positive: Bools
    starts: Ints
    slope: Floats
    intercept: Floats

    @classmethod
    def of(cls, cells: Cells, starts: Ints, slope: Floats, intercept: Floats) -> "Groups":
        """Make groups of cells that are in order."""
        return cls(cells.score, cells.y == 1, starts, slope, intercept)

    @property
    def sizes(self) -> Ints:
        """Number of cells in each group."""
        return np.diff(np.append(self.starts, self.score.size))

    def refit(self, weight: Floats) -> tuple[Floats, Floats]:
        """Fit all maps to the weights of each replicate.

        Parameters
        ----------
        weight : array
            By replicate and cell.

        Returns
        -------
        slope, intercept : array
            By replicate and group; NaN where there is no map or its slope is not positive.
        """
        if not self.starts.size:
            nothing = np.zeros((len(weight), 0))
            return nothing, nothing
        with np.errstate(over="ignore", invalid="ignore"):  # where steps run away
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
        """Take two Newton steps from the given maps; tell where more of them are needed.

        The second is taken where the first one leads to, residuals and Fisher weights being
        expanded about the given maps. So weights are multiplied with numbers that all
        replicates share, and no exponential is taken. Where the steps shrink too slowly for
        that, only the first one is taken.
        """
        ends = np.append(self.starts[1:], self.score.size)
        parts = [slice(*each) for each in zip(self.starts, ends, strict=True)]
        sums = np.stack([weight[:, each] @ self._factors[each] for each in parts], axis=-1)
        sums = np.moveaxis(sums, 1, 0)
        (slope, height), size = _newton_step(sums[:5])
        bend = sums[5:]
        residuals = [
            -(height**2 * bend[i] + 2 * height * slope * bend[i + 1] + slope**2 * bend[i + 2]) / 2
            for i in range(2)
        ]
        fishers = [sums[2 + i] + height * bend[i] + slope * bend[i + 1] for i in range(3)]
        second, second_size = _newton_step(np.array(residuals + fishers))
        open_ = ~(second_size**2 <= SMALL_STEP * np.maximum(size, second_size))
        place = self._start[:, None] + [slope, height]
        place[:, ~open_] += second[:, ~open_]
        return place, open_

    def _newton_sums(self, weight: Floats, place: Floats) -> Floats:
        """Add up residuals, Fisher weights and their moments by replicate and group."""
        distance = self._distance
        if use_compiled():
            from hetcal.cell_kernels import replicate_sums

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
    residual, moment, mass, first, second = sums
    mass = np.maximum(mass, TINY)
    mean = first / mass
    spread = np.maximum(second - mass * mean**2, TINY)
    slope = (moment - mean * residual) / spread
    size = np.hypot(slope * np.sqrt(spread), residual / np.sqrt(mass))
    return np.array([slope, residual / mass - slope * mean]), size
