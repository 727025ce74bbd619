"""What the order of cells says of the order of their rows: AUC and average precision, bounded."""

from dataclasses import dataclass, fields

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.ranking import ascending_order


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
    auc, average_precision : Bounded
        The measures.
    placed : array
        Share of the other class that each cell is on the right side of, as
        `hetcal.delong.placements` has it for rows: what `hetcal.delong.lift_of` takes.
    """

    auc: Bounded
    average_precision: Bounded
    placed: Floats


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
    """
    one = cells.y == 1
    zero_weight, one_weight = (np.where(side, cells.weight, 0.0) for side in (~one, one))
    zeros, ones = zero_weight.sum(), one_weight.sum()
    if not zeros * ones:
        return CellRanks(UNDEFINED, UNDEFINED, np.full(one.size, np.nan))
    orders = [
        _Order(each, zero_weight, one_weight) for each in (cells.centre, cells.low, cells.high)
    ]
    middle = orders[0].around_each()
    placed = np.where(one, 1 - middle.zeros_half / zeros, middle.ones_half / ones)
    cell = np.flatnonzero(one)
    sure, may = orders[1].around(cells.high[cell]), orders[2].around(cells.low[cell])
    area = placed[cell], 1 - may.zeros_half / zeros, 1 - sure.zeros_half / zeros
    precision = _precisions(cells.chosen(cell), middle.chosen(cell), sure, may)
    w = cells.weight[cell]
    areas, precisions = (
        [float(np.sum(w * each) / ones) for each in three] for three in (area, precision)
    )
    return CellRanks(Bounded(*areas), Bounded(*precisions), placed)


def auc(cells: Cells) -> Bounded:
    """Area under the ROC curve."""
    return rank_cells(cells).auc


def average_precision(cells: Cells) -> Bounded:
    """Mean over the positive rows of the precision at their own score.

    The estimate takes rows that share an interval to alternate evenly.
    """
    return rank_cells(cells).average_precision


@dataclass(frozen=True, eq=False)
class _Around:
    """Weight of both classes at or above some values, and above them."""

    zeros_at: Floats
    ones_at: Floats
    zeros_above: Floats
    ones_above: Floats

    @property
    def zeros_half(self) -> Floats:
        """Weight of class 0 above, ties counting half."""
        return (self.zeros_at + self.zeros_above) / 2

    @property
    def ones_half(self) -> Floats:
        """Weight of class 1 above, ties counting half."""
        return (self.ones_at + self.ones_above) / 2

    def chosen(self, which: Ints) -> "_Around":
        """Return the weights of some of the values."""
        return _Around(*(getattr(self, each.name)[which] for each in fields(self)))


class _Order:
    """Values in ascending order and the weight of either class from each upwards."""

    def __init__(self, values: Floats, zero_weight: Floats, one_weight: Floats) -> None:
        self.order: Ints = ascending_order(values)
        self.values = values[self.order]
        self.zeros_from = _from_the_top(zero_weight[self.order])
        self.ones_from = _from_the_top(one_weight[self.order])

    def around(self, values: Floats) -> _Around:
        """Look up other values."""
        first = np.searchsorted(self.values, values, "left")
        tied = self.values[np.minimum(first, self.values.size - 1)] == values
        past = first.copy()
        past[tied] = np.searchsorted(self.values, values[tied], "right")
        return self._weights(first, past)

    def around_each(self) -> _Around:
        """Look up the values themselves, in the order they were given in."""
        new = np.append(True, self.values[1:] != self.values[:-1])
        first = np.flatnonzero(new)
        group = np.empty(self.values.size, dtype=np.int64)
        group[self.order] = np.cumsum(new) - 1
        return self._weights(first, np.append(first[1:], self.values.size)).chosen(group)

    def _weights(self, first: Ints, past: Ints) -> _Around:
        zeros, ones = self.zeros_from, self.ones_from
        return _Around(zeros[first], ones[first], zeros[past], ones[past])


def _from_the_top(weight: Floats) -> Floats:
    """Add up weights from each place to the last one; 0 comes after it."""
    sums = np.zeros(weight.size + 1)
    sums[:-1] = np.cumsum(weight[::-1])[::-1]
    return sums


def _precisions(
    cells: Cells, middle: _Around, sure: _Around, may: _Around
) -> tuple[Floats, Floats, Floats]:
    """Return estimate and bounds of the mean precision in each positive cell."""
    point, w = cells.low == cells.high, cells.weight
    one_row = w / cells.rows
    true = np.where(point, middle.ones_at, middle.ones_half + one_row / 2)
    false = np.where(point, middle.zeros_at, middle.zeros_half)
    rising = _rising(sure.ones_at, may.zeros_at, w)
    low = np.where(point, _share(sure.ones_at, may.zeros_at), rising)
    return _share(true, false), low, _share(may.ones_at, sure.zeros_at)


def _share(true: Floats, false: Floats) -> Floats:
    both = true + false
    return np.divide(true, both, out=np.zeros(both.size), where=both > 0)


def _rising(true: Floats, false: Floats, weight: Floats) -> Floats:
    """Return the mean of (true + t) / (true + t + false) over t from 0 to weight."""
    hindered = false > 0  # elsewhere the precision is 1
    growth = np.divide(weight, true + false, out=np.zeros(true.size), where=hindered)
    return 1 - false * np.log1p(growth) / weight
