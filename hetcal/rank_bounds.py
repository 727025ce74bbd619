"""What the order of cells says of the order of their rows: AUC and precision, bounded."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.kernels import use_compiled
from hetcal.precision_area import area_of_steps
from hetcal.rank_statistics import count_below, first_of_ties
from hetcal.ranking import ascending_order, weight_from

Classes = NDArray[np.complex128]
"""Weights: of class 0 in the real part, of class 1 in the imaginary one."""


@dataclass(frozen=True)
class Bounded:
    """A number from cells, and the interval that holds the number of the rows.

    Parameters
    ----------
    value : float
        The estimate; NaN, as both bounds, where the number is not defined.
    low, high : float
        The number of the rows is not outside.
    """

    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """How far the value is off at most."""
        return max(self.high - self.value, self.value - self.low)

    def __sub__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.value - other.value, self.low - other.high, self.high - other.low)


UNDEFINED = Bounded(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class CellRanks:
    """What follows from the order of cells; NaN with one class only.

    Parameters
    ----------
    auc, average_precision, balanced_precision_area : Bounded
        The measures.
    placed : array
        Share of the other class that each cell is on the right side of, as
        `hetcal.delong.placements` has it for rows: what `hetcal.delong.lift_of` takes.
    rates : array
        FPR (real part) and TPR at the centre of each cell, ties counting half.
    """

    auc: Bounded
    average_precision: Bounded
    balanced_precision_area: Bounded
    placed: Floats
    rates: Classes


def rank_cells(cells: Cells) -> CellRanks:
    """Rank cells by their centres, and bound what the rows inside could change.

    AUC: a pair counts for the lower bound only if the interval of the positive row lies above
    that of the negative one (half if they touch), because then its order is known. It counts
    for the upper bound unless that interval lies below, because then the order is known, too.

    Average precision: the precision at a row grows with the positive weight at or above it and
    falls with the negative weight. The upper bound takes every cell that may reach the row for
    the one, and only those that must for the other. The lower bound takes the opposite, and
    the rows of the row's own cell one after the other: their sum is that of a rising function
    at the right ends of steps, so not below the integral.

    Balanced area: at any threshold and share of ties, higher scores of positive rows raise the
    TPR and lower scores of negative rows lower the FPR, so the FPR of no recall rises. The
    bounds therefore put the positive rows at one end of their intervals and the negative ones
    at the other.
    """
    one = np.flatnonzero(cells.y == 1)
    classes = cells.weight.astype(np.complex128)  # class 0 is the real part, class 1 the other
    classes[one] *= 1j
    total = classes.sum()
    if not total.real * total.imag:
        nothing = np.full(classes.size, np.nan)
        return CellRanks(UNDEFINED, UNDEFINED, UNDEFINED, nothing, nothing.astype(np.complex128))
    middle, low, high = (
        _Order(cells.centre, cells.order),
        _Order(cells.low, ascending_order(cells.low)),
        _Order(cells.high, ascending_order(cells.high)),
    )
    inside = middle.around_each(classes)
    rates = inside.half.real / total.real + 1j * (inside.half.imag / total.imag)
    placed = rates.imag.copy()
    placed[one] = 1 - rates.real[one]
    inside = inside.chosen(one)
    lows, highs = (each.chosen(cells.y == 1) for each in (low, high))
    sure, may = (low.around(highs, classes).chosen(one), high.around(lows, classes).chosen(one))
    area = placed[one], *(1 - each.half.real / total.real for each in (may, sure))
    precision = _precisions(cells, one, inside, sure, may)
    w = cells.weight[one]
    areas, precisions = (
        Bounded(*(float(np.sum(w * each) / total.imag) for each in three))
        for three in (area, precision)
    )
    ends = (middle.chosen(cells.y == 1), middle), (lows, high), (highs, low)
    balances = Bounded(*(_balanced(*each, classes, total) for each in ends))
    return CellRanks(areas, precisions, balances, placed, rates)


def auc(cells: Cells) -> Bounded:
    """Area under the ROC curve."""
    return rank_cells(cells).auc


def average_precision(cells: Cells) -> Bounded:
    """Mean over the positive rows of the precision at their own score.

    The estimate takes rows that share an interval to alternate evenly.
    """
    return rank_cells(cells).average_precision


def placement_bounds(cells: Cells) -> tuple[Floats, Floats]:
    """Return the least and the largest share of the other class each cell is on the right side of.

    As in `rank_cells`, a pair is in doubt while the intervals of its cells overlap.
    """
    one = np.flatnonzero(cells.y == 1)
    classes = cells.weight.astype(np.complex128)
    classes[one] *= 1j
    total = classes.sum()
    low, high = (_Order(each, ascending_order(each)) for each in (cells.low, cells.high))
    sure, may = low.around(high, classes).half, high.around(low, classes).half
    least, most = sure.imag / total.imag, may.imag / total.imag
    least[one], most[one] = (1 - each.real[one] / total.real for each in (may, sure))
    return least, most


def balanced_influence(cells: Cells) -> Floats:
    """Return how the balanced area changes with the weight of each cell.

    A constant for each class is left out. A negative row lowers the precision of the positive
    rows below it by `x / (x + f)²`, where x and f are their TPR and FPR. A positive row raises
    it by `f / (x + f)²`, and adds its own.
    """
    rates, one = cells.once(rank_cells).rates, np.flatnonzero(cells.y == 1)
    both, w = rates[one].real + rates[one].imag, cells.weight[one]
    change = np.zeros(rates.size, dtype=np.complex128)
    change[one] = rates[one] * (w / w.sum() / both**2)
    middle = _Order(cells.centre, cells.order)
    below = change.sum() - middle.around_each(change).half
    influence = -below.imag
    influence[one] = below.real[one] + rates.imag[one] / both
    return influence


@dataclass(frozen=True, eq=False)
class _Around:
    """Weight of both classes at or above some values, and above them.

    The weight of class 0 is the real part, that of class 1 the imaginary part: all is looked
    up and added once for both.
    """

    at: Classes
    above: Classes

    @cached_property
    def half(self) -> Classes:
        """Weight above, ties counting half."""
        return (self.at + self.above) / 2

    def chosen(self, which: Ints) -> "_Around":
        """Return the weights of some of the values."""
        return _Around(self.at[which], self.above[which])


@dataclass(frozen=True, eq=False)
class _Order:
    """Values of all cells, and cells in ascending order of their value."""

    values: Floats
    order: Ints

    def chosen(self, which: Bools) -> "_Order":
        """Put some of the cells in order."""
        return _Order(self.values, self.order[which[self.order]])

    def around(self, others: "_Order", classes: Classes) -> _Around:
        """Look up the values of others; what is not in their order stays open."""
        if use_compiled():
            return self._compiled(others, classes)
        ranked, sought = self.values[self.order], others.values[others.order]
        first = np.searchsorted(ranked, sought, "left")
        tied = np.flatnonzero(ranked[np.minimum(first, ranked.size - 1)] == sought)
        past = first.copy()
        past[tied] = np.searchsorted(ranked, sought[tied], "right")
        return self._given(first, past, others, classes)

    def around_each(self, classes: Classes) -> _Around:
        """Look up the values themselves."""
        if use_compiled():
            return self._compiled(self, classes)
        ranked = self.values[self.order]
        first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        past = np.append(first[1:], ranked.size)
        count = past - first
        return self._given(np.repeat(first, count), np.repeat(past, count), self, classes)

    def _given(self, first: Ints, past: Ints, others: "_Order", classes: Classes) -> _Around:
        """Return the weight from two places on, which are those of others in order."""
        top = np.zeros(self.order.size + 1, dtype=np.complex128)  # of the highest 0, 1, … values
        np.cumsum(classes[self.order[::-1]], out=top[1:])
        found = np.empty((2, others.values.size), dtype=np.complex128)
        for each, place in zip(found, (first, past), strict=True):
            each[others.order] = top[self.order.size - place]
        return _Around(*found)

    def _compiled(self, others: "_Order", classes: Classes) -> _Around:
        from hetcal.rank_kernels import weights_around

        pairs = (self.values, self.order), (others.values, others.order)
        return _Around(*weights_around(*pairs, classes))


def _precisions(
    cells: Cells, one: Ints, middle: _Around, sure: _Around, may: _Around
) -> tuple[Floats, Floats, Floats]:
    """Return estimate and bounds of the mean precision in each positive cell."""
    point, w = cells.low[one] == cells.high[one], cells.weight[one]
    one_row = w / cells.rows[one]
    true = np.where(point, middle.at.imag, middle.half.imag + one_row / 2)
    false = np.where(point, middle.at.real, middle.half.real)
    rising = _rising(sure.at.imag, may.at.real, w)
    low = np.where(point, _share(sure.at.imag, may.at.real), rising)
    return _share(true, false), low, _share(may.at.imag, sure.at.real)


def _balanced(ones: _Order, others: _Order, classes: Classes, total: complex) -> float:
    """Return the balanced area of positive cells among others, the tied ones drawn."""
    if use_compiled():
        from hetcal.rank_kernels import balanced_area

        pairs = (ones.values, ones.order), (others.values, others.order)
        return float(balanced_area(*pairs, classes, total))
    ranked = ones.values[ones.order]
    first = first_of_ties(ranked)
    rise = np.add.reduceat(classes[ones.order].imag, first)
    true = np.cumsum(rise[::-1])[::-1] - rise
    other = others.order[classes[others.order].real > 0]
    negative = weight_from(classes[other].real)
    below, not_above = count_below(ranked[first], others.values[other])
    false = negative[not_above]
    return area_of_steps(true, rise, false, negative[below] - false, total.real)


def _share(true: Floats, false: Floats) -> Floats:
    both = true + false
    return np.divide(true, both, out=np.zeros(both.size), where=both > 0)


def _rising(true: Floats, false: Floats, weight: Floats) -> Floats:
    """Return the mean of (true + t) / (true + t + false) over t from 0 to weight."""
    hindered = false > 0  # elsewhere the precision is 1
    growth = np.divide(weight, true + false, out=np.zeros(true.size), where=hindered)
    return 1 - false * np.log1p(growth) / weight
