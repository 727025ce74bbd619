"""Which leaves the lift in AUC comes from, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.delong import CONFIDENCE
from hetcal.kernels import use_compiled
from hetcal.rank_statistics import class_variance, count_below
from hetcal.ranking import ascending_order


def lift_contributions(before: Cells, after: Cells, leaves: Sequence[int]) -> pd.DataFrame:
    """Divide the lift in AUC among the leaves.

    A pair of a positive and a negative row belongs half to the leaf of the one and half to
    the leaf of the other, so that the contributions of all leaves add up to the lift. Like
    the lift, a contribution is a mean over all pairs, whose variance by DeLong comes from the
    mean of each row over its partners. With a single leaf it is the variance of the lift.

    Parameters
    ----------
    before, after : Cells
        The same cells with the scores before and after.
    leaves : sequence of int
        The leaves to divide it among.

    Returns
    -------
    DataFrame
        One row per leaf: `contribution`, `contribution_se`, `contribution_low` and
        `contribution_high` (95 % interval); NaN with one class only.
    """
    order = ascending_order(before.centre)  # neighbours then look up sums that lie side by side
    cells = before.chosen(order)
    w, squares = cells.weight, cells.squares
    rows = _Rows(cells.centre, after.centre[order], cells.leaf, w, squares, cells.rows)
    positive = cells.y == 1
    numbers = np.full((2, len(leaves)), np.nan)
    if w[positive].any() and w[~positive].any():
        one, zero = rows.of(positive), rows.of(~positive)
        # A negative row gains where positive rows come to stand above it.
        ups, downs = _Gains(one, zero), _Gains(zero.mirrored, one.mirrored)
        for i, each in enumerate(leaves):
            up, down = ups.shared(each), downs.shared(each)
            variance = one.variance(up) + zero.variance(down)
            numbers[:, i] = np.average(up, weights=one.weight), np.sqrt(variance)
    return _table(*numbers)


@dataclass(frozen=True)
class _Rows:
    before: Floats
    after: Floats
    leaf: Ints
    weight: Floats
    squares: Floats
    counts: Ints

    def of(self, side: Bools) -> "_Rows":
        return _Rows(*(getattr(self, each.name)[side] for each in fields(self)))

    def variance(self, values: Floats) -> float:
        """Return the variance of the weighted mean of some values."""
        return class_variance(values, self.weight, self.squares, float(self.counts.sum()))

    @property
    def mirrored(self) -> "_Rows":
        return replace(self, before=-self.before, after=-self.after)


class _Gains:
    """How many of the other class the rows of one class have come to stand above."""

    def __init__(self, own: _Rows, others: _Rows) -> None:
        self._leaf = own.leaf
        self._before = _place(own.before, others.before, others)
        self._after = _place(own.after, others.after, others)
        self._all = self._after.below() - self._before.below()

    def shared(self, leaf: int) -> Floats:
        """For each row the mean over its partners of what a leaf has of their pairs."""
        with_leaf = self._after.below(leaf) - self._before.below(leaf)
        return ((self._leaf == leaf) * self._all + with_leaf) / 2


@dataclass(frozen=True)
class _Places:
    """Where the rows of one class stand among those of the other.

    `leaf` and `mass` are of the others in order of score, the masses adding up to 1; `low`
    and `high` count those below each row, without and with its equals.
    """

    leaf: Ints
    mass: Floats
    low: Ints
    high: Ints

    def below(self, leaf: int | None = None) -> Floats:
        """For each row the mass of the others, or of those in a leaf, that score less.

        Ties count half.
        """
        if leaf is not None and use_compiled():
            from hetcal.cell_kernels import mass_below

            return mass_below(self.leaf, leaf, self.mass, self.low, self.high)
        mass = self.mass if leaf is None else self.mass * (self.leaf == leaf)
        summed = np.append(0.0, np.cumsum(mass))
        return (summed[self.low] + summed[self.high]) / 2


def _place(own: Floats, scores: Floats, others: _Rows) -> _Places:
    order = ascending_order(scores)
    low, high = _counts_below(own, scores[order])
    mass = others.weight / others.weight.sum()
    return _Places(others.leaf[order], mass[order], low, high)


def _counts_below(own: Floats, ranked: Floats) -> tuple[Ints, Ints]:
    """For each of the own scores count the ranked ones below it, and those not above it."""
    order = ascending_order(own)  # neighbours are found faster than scores far apart
    low, high = np.empty(own.size, dtype=np.int64), np.empty(own.size, dtype=np.int64)
    low[order], high[order] = count_below(own[order], ranked)
    return low, high


def _table(contribution: Floats, se: Floats) -> pd.DataFrame:
    half = ndtri((1 + CONFIDENCE) / 2) * se
    return pd.DataFrame(
        {
            "contribution": contribution,
            "contribution_se": se,
            "contribution_low": contribution - half,
            "contribution_high": contribution + half,
        }
    )
