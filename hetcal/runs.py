"""Runs of neighbouring values in a node: what a cut can fall between, or inside.

A bin of a histogram is a run, so is a part of a bin, and so is a single row. All are
judged by the same code.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.split_criteria import Criterion

CLOSE = np.float32(1e-7)  # scikit-learn does not cut between values as close as this


@dataclass(frozen=True)
class Runs:
    """Runs in the order of their columns, then of their values.

    Parameters
    ----------
    feature, place : arrays of int
        Column of each run; where it is in whatever it was taken from.
    start, sums : arrays of float, channels x labels x runs
        Sums of the rows before the run, without missing values, and of those in the run.
    value : array of float32
        The only value of the run; NaN if it may hold several.
    joined : array of bool
        Whether the next run goes on where this one ends.
    """

    feature: Ints
    place: Ints
    start: Floats
    sums: Floats
    value: Singles
    joined: Bools

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def end(self) -> Floats:
        """Sums before and in each run."""
        return self.start + self.sums

    @cached_property
    def rows(self) -> Floats:
        """Rows in each run."""
        return self.sums[0].sum(axis=0)

    @classmethod
    def of_bins(cls, sums: Floats, only: Singles) -> Self:
        """Take the bins with rows of a histogram; the last bin holds the missing values."""
        bins = sums.shape[-1]
        place = np.flatnonzero(sums[0].any(axis=0) & (np.arange(bins) < bins - 1))
        feature = place // bins
        joined = np.diff(feature, append=-1) == 0
        both = (each.reshape(*each.shape[:-2], -1) for each in (sums, sums.cumsum(axis=-1)))
        here, end = (each.take(place, axis=-1) for each in both)
        return cls(feature, place, end - here, here, only.take(place), joined)

    def select(self, wanted: Bools) -> Self:
        """Keep some runs; runs are joined if there was nothing between them."""
        at = np.flatnonzero(wanted)
        beside = np.diff(at, append=-1) == 1
        return type(self)(
            self.feature[at],
            self.place[at],
            self.start.take(at, axis=-1),
            self.sums.take(at, axis=-1),
            self.value[at],
            self.joined[at] & beside,
        )


@dataclass(frozen=True)
class Judge:
    """How cuts of one node are judged.

    Parameters
    ----------
    criterion : Criterion
        What makes a cut good.
    min_rows : int
        Fewest rows of a side.
    total : array of float, channels x labels
        Sums of the node.
    missing : array of float, channels x labels x columns
        Sums of the rows whose value is missing.
    """

    criterion: Criterion
    min_rows: int
    total: Floats
    missing: Floats

    @cached_property
    def has_missing(self) -> Bools:
        """For each column, whether a value is missing."""
        return self.missing[0].any(axis=0)

    @cached_property
    def sides(self) -> tuple[bool, ...]:
        """Whether missing values go left: False, and True too if there are any."""
        return (False, True) if self.has_missing.any() else (False,)

    def score(self, left: Floats) -> Floats:
        """Return the score of each cut, minus infinity where a side has too few rows."""
        rows = left[0].sum(axis=0)
        enough = (rows >= self.min_rows) & (self.total[0].sum() - rows >= self.min_rows)
        return np.where(enough, self.criterion.score(left, self.total), -np.inf)

    def between(self, runs: Runs, missing_left: bool) -> Floats:
        """Score the cut after each run if another one follows, and not too close."""
        possible = runs.joined.copy()
        possible[:-1] &= ~(runs.value[1:] <= runs.value[:-1] + CLOSE)  # NaN is never close
        if missing_left:
            possible &= self.has_missing[runs.feature]
        return np.where(possible, self.score(self.left(runs, runs.end, missing_left)), -np.inf)

    def inside(self, runs: Runs, missing_left: bool) -> Floats:
        """Bound the scores of the cuts inside each run."""
        start = self.left(runs, runs.start, missing_left)
        end = self.left(runs, runs.end, missing_left)
        possible = np.isnan(runs.value) & (runs.rows > 1)
        possible &= end[0].sum(axis=0) > self.min_rows
        possible &= self.total[0].sum() - start[0].sum(axis=0) > self.min_rows
        if missing_left:
            possible &= self.has_missing[runs.feature]
        return np.where(possible, self.criterion.bound(start, end, self.total), -np.inf)

    def left(self, runs: Runs, sums: Floats, missing_left: bool) -> Floats:
        """Add the missing values to the sums on the left if they go there."""
        return sums + self.missing.take(runs.feature, axis=-1) if missing_left else sums
