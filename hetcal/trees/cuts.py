"""The best cut of a node: exact, though it looks only where the best cut can be."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol, Self

import numpy as np

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.trees.bins import BinnedRows, bounded, order_codes
from hetcal.trees.passes import Found, Passes, Rows

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


class Criterion(Protocol):
    """A score of cuts from the sums on their left side; the largest score wins."""

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return the score of each cut."""

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return what no cut between the sums `start` and the sums `end` can exceed."""


class Gini:
    """scikit-learn's Gini criterion, in its own order of operations.

    The mass of a class is its last channel: the weight if rows have weights, else the
    number of rows.
    """

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return minus the impurity of both sides."""
        mass = left[-1]
        return -_impurity(_like(total, left)[-1] - mass) - _impurity(mass)

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return the largest score over all orders in which the rows in between can come.

        With two classes the score is convex in their masses on the left, so over the rectangle
        that these can reach it is largest at one of the four corners. The impurity of more
        classes is half the sum of those of each class against the rest.
        """
        masses = start[-1], end[-1], total[-1]
        if len(total[-1]) == 2:
            return -_least_impurity(*masses)
        least = np.zeros(start.shape[2:])
        for each in range(len(total[-1])):
            pairs = (np.stack([mass.sum(axis=0) - mass[each], mass[each]]) for mass in masses)
            least -= 0.5 * _least_impurity(*pairs)
        return least

    def finished(self, total: Floats) -> bool:
        """Return whether the rows are of one class, or nearly so by their weights.

        Rows are counted exactly, while sums of weights may leave a trace of a class that
        has gone.
        """
        pure = _impurity(total[-1]) <= EPSILON * total[-1].sum()
        return bool(pure or np.count_nonzero(total[0]) < 2)


def _impurity(mass: Floats) -> Floats:
    """Return mass times Gini impurity; 0 where there is no mass."""
    whole = np.asarray(mass.sum(axis=0))
    square = np.asarray(whole * whole)
    square[whole <= 0] = 1.0
    return np.asarray(whole * (1.0 - (mass * mass).sum(axis=0) / square))


def _least_impurity(start: Floats, end: Floats, total: Floats) -> Floats:
    """Return the least impurity of both sides with two classes, at the corners."""
    least = np.asarray(np.inf)
    for zero, one in product((start[0], end[0]), (start[1], end[1])):
        both = _rough_impurity(zero, one) + _rough_impurity(total[0] - zero, total[1] - one)
        least = np.minimum(least, both)
    return least


def _rough_impurity(zero: Floats, one: Floats) -> Floats:
    """Return about the same in fewer steps."""
    return 2.0 * zero * one / np.maximum(zero + one, TINY)


def _like(total: Floats, sums: Floats) -> Floats:
    return total.reshape(*total.shape, *[1] * (sums.ndim - 2))


CLOSE = np.float32(1e-7)  # scikit-learn does not cut between values as close as this


@dataclass(frozen=True)
class Runs:
    """Runs in the order of their columns, then of their values."""

    feature: Ints  # column of each run
    place: Ints  # where the run is in whatever it was taken from
    start: Floats  # channels x labels x runs: of the rows before, without missing values
    sums: Floats  # the same of the rows in the run
    value: Singles  # the only value of the run; NaN if it may hold several
    joined: Bools  # whether the next run goes on where this one ends

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
    """How cuts of one node are judged."""

    criterion: Criterion
    min_rows: int  # fewest rows of a side
    total: Floats  # channels x labels: sums of the node
    missing: Floats  # channels x labels x columns: sums of the rows whose value is missing

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


class RowMagnifier:
    """Divides runs of nodes, whose rows are together in `rows`; `values` are values x rows."""

    def __init__(self, table: BinnedRows, values: Floats, rows: Rows, passes: Passes) -> None:
        self.table, self.values = table, values
        self.rows, self.passes = rows, passes

    def parts(self, sums: Floats, bins: Runs) -> Runs:
        """Divide bins of several values into parts, whose sums are channels x labels x parts."""
        wide = np.flatnonzero(np.isnan(bins.value))
        first, sizes = self.table.parts_of(bins.place[wide])
        skipped = np.cumsum(sizes) - sizes
        parts = np.arange(sizes.sum()) + np.repeat(first - skipped, sizes)
        sums, owner = sums.take(parts, axis=-1), np.repeat(wide, sizes)
        some = np.flatnonzero(sums[0].any(axis=0))
        parts, sums = parts[some], sums.take(some, axis=-1)
        return divided(bins, owner[some], sums, self.table.only[parts], parts)

    def single(self, nodes: Sequence[slice], runs: Sequence[Runs]) -> list[Runs]:
        """Divide parts of several values into rows, for each of some nodes."""
        numbers = np.full((len(nodes), self.table.only.size), -1, dtype=np.int32)
        sizes = np.zeros((len(nodes), self.table.X.shape[1]), dtype=np.int64)
        for parts, number, many in zip(runs, numbers, sizes, strict=True):
            owners = np.flatnonzero(np.isnan(parts.value))
            number[parts.place[owners]] = owners
            np.add.at(many, parts.feature[owners], parts.rows[owners].astype(np.int64))
        found = self.passes.collect(self.table, self.rows, nodes, numbers, sizes)
        return [self._in_order(*each) for each in zip(runs, found, strict=True)]

    def _in_order(self, parts: Runs, found: Found) -> Runs:
        """Replace parts by their rows, in the order of their values."""
        rows, owner = found[0], found[1].astype(np.int64)
        feature = parts.feature[owner]
        value = bounded(self.table.X[rows, feature])
        order = np.argsort((owner << 32) + order_codes(value))
        rows, owner, value = rows[order], owner[order], value[order]
        label = self.table.keys[rows, feature[order]] & ((1 << self.table.label_bits) - 1)
        sums = np.zeros((1 + len(self.values), self.table.labels, rows.size))
        each = np.arange(rows.size)
        sums[0, label, each] = 1.0
        sums[1:, label, each] = self.values[:, rows]
        return divided(parts, owner, sums, value, each)


def divided(runs: Runs, owner: Ints, sums: Floats, value: Singles, place: Ints) -> Runs:
    """Replace runs of several values by smaller ones; `owner` is the run of each, in order."""
    whole = np.flatnonzero(~np.isnan(runs.value))
    owner = np.concatenate([owner, whole])
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    sums = np.concatenate([sums, runs.sums.take(whole, axis=-1)], axis=-1).take(order, axis=-1)
    before = sums.cumsum(axis=-1) - sums
    last = np.diff(owner, append=-1) != 0
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    size = np.diff(first, append=owner.size)
    offset = runs.start.take(owner[first], axis=-1) - before.take(first, axis=-1)
    return Runs(
        runs.feature[owner],
        np.concatenate([place, runs.place[whole]])[order],
        before + np.repeat(offset, size, axis=-1),
        sums,
        np.concatenate([value, runs.value[whole]])[order],
        np.where(last, runs.joined[owner], True),
    )


SLACK = 1e-12  # share of the mass of a node: more than rounding can change a score


@dataclass(frozen=True)
class Cut:
    """A cut of a node."""

    score: float
    feature: int  # column that is cut
    threshold: float  # values up to it go left; infinity: only missing values go right
    last: float  # largest value that goes left
    next: float  # smallest value that goes right
    missing_left: bool  # side of the missing values
    left: Floats  # channels x labels: sums of the rows that go left


Search = Generator[Runs, Runs, Cut | None]


def best_cuts(
    searches: Sequence[Search], single: Callable[[list[int], list[Runs]], list[Runs]]
) -> list[Cut | None]:
    """Find the best cuts of several nodes; the rows that the searches need are read together.

    `single` divides parts into rows, given the positions of the searches that need them.
    """
    cuts: list[Cut | None] = [None] * len(searches)
    needed = {i: next(search) for i, search in enumerate(searches)}
    while needed:
        found = single(list(needed), list(needed.values()))
        divided_parts = zip(needed, found, strict=True)
        needed = {}
        for i, rows in divided_parts:
            try:
                needed[i] = searches[i].send(rows)
            except StopIteration as end:
                cuts[i] = end.value
    return cuts


def search_cut(judge: Judge, bins: Runs, look_into: Callable[[Runs], Runs]) -> Search:
    """Search the best cut; of equals the first column, missing right, the lowest threshold.

    The best cut between two runs bounds which runs could hold a better one: bins, which
    `look_into` divides into parts, and then parts. The search yields parts, and has to be sent
    their rows. Values next to the best cut may turn out to be too close for a cut.
    Then the search starts again and aims at what it found: as that is an allowed cut, it stays.
    """
    slack = SLACK * judge.total.sum()
    apart = _best_apart(judge)
    between = _between(judge, bins)
    aim = max(_highest(between), -np.inf if apart is None else apart.score)
    for raising in (True, False):
        parts = look_into(_promising(judge, bins, between, aim - slack))
        inner = _between(judge, parts)
        if raising:
            aim = max(aim, _highest(inner))
        rows = yield _promising(judge, parts, inner, aim - slack)
        cut = _best(judge, rows, apart)
        if cut is not None and cut.score >= aim - slack:
            break
        aim = -np.inf if cut is None else cut.score
    return cut


def _between(judge: Judge, runs: Runs) -> Floats:
    """Score the cut after each run, with missing values on the better side."""
    return np.max([judge.between(runs, side) for side in judge.sides], axis=0)


def _highest(scores: Floats) -> float:
    return float(scores.max(initial=-np.inf))


def _promising(judge: Judge, runs: Runs, between: Floats, aim: float) -> Runs:
    """Select the runs with the values next to every cut that may reach the aim."""
    within = np.max([judge.inside(runs, side) for side in judge.sides], axis=0)
    after = (between >= aim) & (between > -np.inf)
    wanted = after | ((within >= aim) & (within > -np.inf))
    wanted[1:] |= after[:-1]
    return runs.select(wanted)


def _best(judge: Judge, rows: Runs, apart: Cut | None) -> Cut | None:
    cuts = [_best_between(judge, rows, side) for side in judge.sides]
    cuts.insert(1, apart)
    found = [cut for cut in cuts if cut is not None]
    return max(found, key=lambda cut: (cut.score, -cut.feature), default=None)


def _best_between(judge: Judge, rows: Runs, missing_left: bool) -> Cut | None:
    score = judge.between(rows, missing_left)
    best = int(score.argmax()) if score.size else 0
    if not score.size or score[best] == -np.inf:
        return None
    feature = int(rows.feature[best])
    left = judge.left(rows, rows.end, missing_left)[..., best]
    if not judge.has_missing[feature]:  # no training value is missing: the side with more rows
        missing_left = bool(2 * left[0].sum() > judge.total[0].sum())
    low, high = float(rows.value[best]), float(rows.value[best + 1])
    return Cut(score[best], feature, low / 2 + high / 2, low, high, missing_left, left)


def _best_apart(judge: Judge) -> Cut | None:
    """Return the best cut that separates the missing values of a column from the rest."""
    known = judge.total[..., None] - judge.missing
    score = np.where(judge.has_missing, judge.score(known), -np.inf)
    best = int(score.argmax())
    if score[best] == -np.inf:
        return None
    return Cut(score[best], best, np.inf, np.inf, np.inf, False, known[..., best])
