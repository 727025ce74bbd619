"""Where the lift in AUC comes from: leaf by leaf with intervals, and by pairs of leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from hetcal.arrays import Floats, Groups, Ints
from hetcal.cells.cells import Cells, ascending_order, leaf_positions
from hetcal.compiled import use_compiled
from hetcal.metrics.delong import CONFIDENCE, error_of
from hetcal.metrics.ranking import class_variance, mean_influence


def lift_contributions(
    before: Cells, after: Cells, leaves: Sequence[int], group: Groups | None = None
) -> pd.DataFrame:
    """Divide the lift in AUC among the leaves.

    A pair of a positive and a negative row belongs half to the leaf of the one and half to
    the leaf of the other, so that the contributions of all leaves add up to the lift. Like
    the lift, a contribution is a mean over all pairs, whose variance by DeLong comes from the
    mean of each row over its partners. With a single leaf it is the variance of the lift.
    Cells of one `group`, which are rows then, are not independent.

    Returns
    -------
    DataFrame
        One row per leaf: `contribution`, `contribution_se`, `contribution_low` and
        `contribution_high` (95 % interval); NaN with one class only.
    """
    numbers = np.full((2, len(leaves)), np.nan)
    positive = before.y == 1
    if before.weight[positive].any() and before.weight[~positive].any():
        one, zero, was = before.cached(_ranks_before)
        now = _ranked(after, one, zero)
        # A negative row gains where positive rows move above it.
        ones, zeros = before.chosen(one), before.chosen(zero)
        ups, downs = _Gains(ones, was[0], now[0]), _Gains(zeros, was[1], now[1])
        for i, each in enumerate(leaves):
            up, down = ups.shared(each), downs.shared(each)
            if group is None:
                se = np.sqrt(ups.variance(up) + downs.variance(down))
            else:
                influence = mean_influence(up, ones.weight), mean_influence(down, zeros.weight)
                se = error_of(np.append(*influence), group[np.append(one, zero)])
            numbers[:, i] = np.average(up, weights=ones.weight), se
    contribution, se = numbers
    half = ndtri((1 + CONFIDENCE) / 2) * se
    return pd.DataFrame(
        {
            "contribution": contribution,
            "contribution_se": se,
            "contribution_low": contribution - half,
            "contribution_high": contribution + half,
        }
    )


PAIR_COLUMNS = ("positive", "negative", "share", "before", "after", "gain")


def pair_gains(before: Cells, after: Cells, leaves: Sequence[int]) -> pd.DataFrame:
    """Divide the lift among the ordered pairs of leaves: the paper's partition-calibrated AUC.

    The AUC is the share of pairs of a positive and a negative row that are in order, so it is a sum
    over the leaf of the one and the leaf of the other. The gains of all pairs add up to the lift;
    within a leaf an increasing map gains nothing.

    Returns
    -------
    DataFrame
        One row per pair: `positive` and `negative`, the leaves of the two rows; of all pairs of
        rows, the `share` that is in these leaves, and of it what is in order `before` and `after`,
        ties counting half; `gain`, their difference. NaN with one class only.
    """
    count = len(leaves)
    parts = np.full((3, count, count), np.nan)
    positive = before.y == 1
    if before.weight[positive].any() and before.weight[~positive].any():
        one, zero, (was, _) = before.cached(_ranks_before)
        now, _ = _ranked(after, one, zero)
        place = leaf_positions(before.leaf[one], leaves)
        mass = before.weight[one] / before.weight[one].sum()
        for column, leaf in enumerate(leaves):
            others = np.full(one.size, was.mass[was.leaf == leaf].sum())
            for part, below in zip(parts, (others, was.below(leaf), now.below(leaf)), strict=True):
                part[:, column] = np.bincount(place, mass * below, count)
    share, was_ordered, is_ordered = (each.ravel() for each in parts)
    sides = np.repeat(list(leaves), count), np.tile(list(leaves), count)
    numbers = *sides, share, was_ordered, is_ordered, is_ordered - was_ordered
    return pd.DataFrame(dict(zip(PAIR_COLUMNS, numbers, strict=True)))


MOST_TOLD = 5


def gains_in_words(pairs: pd.DataFrame, names: Mapping[int, str]) -> list[str]:
    """Say which pairs of leaves gained most, the largest first, and where order was lost.

    Parameters
    ----------
    pairs : DataFrame
        What `pair_gains` returns.
    names : mapping
        Of leaves.

    Examples
    --------
    >>> pairs = pd.DataFrame([(1, 2, 0.5, 0.3, 0.4, 0.1)], columns=PAIR_COLUMNS)
    >>> print(*gains_in_words(pairs, {1: "monthly", 2: "yearly"}))
    Positive rows of monthly against negative rows of yearly: +0.1000, in order 60.0 % of the time \
before and 80.0 % after.
    """
    moved = pairs[pairs["gain"].abs() > 0]
    told = moved.loc[moved["gain"].abs().sort_values(ascending=False, kind="stable").index]
    return [
        f"Positive rows of {names[one]} against negative rows of {names[zero]}: {gain:+.4f}, in "
        f"order {100 * before / share:.1f} % of the time before and {100 * after / share:.1f} % "
        "after."
        for one, zero, share, before, after, gain in told.head(MOST_TOLD).itertuples(index=False)
    ]


class _Gains:
    """By how many of the other class the cells of one class have moved up."""

    def __init__(self, own: Cells, before: "_Places", after: "_Places") -> None:
        self._own, self._before, self._after = own, before, after
        self._all = after.below() - before.below()

    def shared(self, leaf: int) -> Floats:
        """For each cell the mean over its pairs of the share of a leaf."""
        with_leaf = self._after.below(leaf) - self._before.below(leaf)
        return ((self._own.leaf == leaf) * self._all + with_leaf) / 2

    def variance(self, values: Floats) -> float:
        """Return the variance of the weighted mean of some values."""
        own = self._own
        return class_variance(values, own.weight, own.squares, float(own.rows.sum()))


@dataclass(frozen=True, eq=False)
class _Places:
    """The ranks of the cells of one class among those of the other.

    `leaf` and `mass` are those of the others in order of score, the masses adding up to 1; `low`
    and `high` count those below each cell, without and with ties.
    """

    leaf: Ints
    mass: Floats
    low: Ints
    high: Ints

    def below(self, leaf: int | None = None) -> Floats:
        """For each cell the mass of the others (in a leaf) that score less; ties count half."""
        if leaf is not None and use_compiled():
            from hetcal.metrics.kernels import mass_below

            return mass_below(self.leaf, leaf, self.mass, self.low, self.high)
        mass = self.mass if leaf is None else self.mass * (self.leaf == leaf)
        summed = np.append(0.0, np.cumsum(mass))
        return (summed[self.low] + summed[self.high]) / 2


def _ranks_before(cells: Cells) -> tuple[Ints, Ints, tuple[_Places, _Places]]:
    """Return the numbers of the cells of each class in order of score, and their ranks before."""
    positive = cells.y[cells.order] == 1
    one, zero = cells.order[positive], cells.order[~positive]
    return one, zero, _ranked(cells, one, zero)


def _ranked(cells: Cells, one: Ints, zero: Ints) -> tuple[_Places, _Places]:
    """Rank positive cells among the negative ones, and vice versa with signs changed."""
    ones, zeros = cells.chosen(one), cells.chosen(zero)
    upper = _place(ones.centre, zeros.centre, zeros)
    return upper, _place(-zeros.centre, -ones.centre, ones)


def _place(own: Floats, scores: Floats, others: Cells) -> _Places:
    order = ascending_order(scores)
    low, high = (np.searchsorted(scores[order], own, side) for side in ("left", "right"))
    mass = others.weight / others.weight.sum()
    return _Places(others.leaf[order], mass[order], low, high)
