"""Bins of the columns of a matrix, and the parts that make up a bin.

They only have to keep the order of the values: the search for the best cut looks into a
bin, and then into a part, wherever the best cut could hide there. So they are chosen for
speed, from a sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Singles

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class PickedColumns:
    """Some rows of columns, read like a matrix in Fortran order; rows are copied when read."""

    columns: Sequence[Singles]  # with all rows of the table or, if encoded, the picked ones
    rows: Ints | None  # the rows that are picked, in order; None for all rows
    whole: Sequence[bool]  # whether the column has all rows of the table
    size: int  # number of rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of picked rows and of columns."""
        return self.size, len(self.columns)

    def __len__(self) -> int:
        return self.size

    @property
    def T(self) -> Iterator[Singles]:  # noqa: N802
        """One column after the other."""
        return (self._column(j) for j in range(len(self.columns)))

    def __getitem__(self, key: tuple[slice | Numbers, int | Numbers]) -> Singles:
        """Return a column, `[:, j]`, or the values of pairs of rows and columns."""
        rows, columns = key
        if isinstance(rows, slice):
            return self._column(int(columns))
        values, columns = np.empty(len(rows), dtype=np.float32), np.asarray(columns)
        for j in np.unique(columns):
            here = np.flatnonzero(columns == j)
            at = rows[here]
            if self.rows is not None and self.whole[j]:
                at = self.rows.take(at)
            values[here] = self.columns[j].take(at)
        return values

    def _column(self, j: int) -> Singles:
        column = self.columns[j]
        return column if self.rows is None or not self.whole[j] else column.take(self.rows)


Matrix = Singles | PickedColumns


Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint16]

LARGEST = np.finfo(np.float32).max
SAMPLE = 1 << 14  # rows that the parts are chosen from
PARTS = 1 << 12  # most parts of a column, that of the missing values included
KEY_BITS = 16  # of a part and a label together
CELLS = 1 << 16  # most entries of a look-up table
MANY_ROWS, FINER = 2_500_000, 4  # so many rows have four times as much of all these
BINS = 1 << 8  # default bins of a column, that of the missing values included
OFTEN = 8  # rows of the sample that make it likely that a part has one value only
BLOCK = 1 << 10  # rows that are copied at a time


@dataclass(frozen=True)
class ColumnBins:
    """How the values of one column fall into parts of bins."""

    # The cell of a value is `(code >> shift) - (low >> shift)`, its code clipped to low and high.
    low: int
    high: int
    shift: int
    table: Keys  # the part of each cell; empty if cells are too coarse: then cuts are searched
    cuts: Singles  # ascending; a value is in the part whose number is that of the cuts below it
    only: Singles  # one per part: its only value in the sample; NaN if there may be several
    bin: Ints  # one per part: its bin; missing values have the last part and bin to themselves

    def find(self, values: Singles) -> Keys:
        """Return the part of each value."""
        if self.table.size:
            cells = np.clip(order_codes(values), self.low, self.high)
            cells >>= self.shift
            cells -= self.low >> self.shift
            found = self.table.take(cells)
        else:
            found = np.searchsorted(self.cuts, values).astype(np.uint16)
        missing = np.isnan(values)
        if missing.any():
            found[missing] = self.only.size - 1
        return found


@dataclass(frozen=True)
class BinnedRows:
    """A matrix with the part of each value; the parts of all columns are numbered in a row."""

    X: Matrix
    keys: Keys  # rows x columns: number of the part in its column; the label in the lowest bits
    ends: Ints  # where the parts of each column start, and where the last ones end
    only: Singles  # one per part: the only value of a part; NaN if it may hold several
    place: Ints  # one per part: its column times `bins`, plus its bin
    bins: int  # bins of a column
    labels: int  # labels are 0, 1, … below this

    @property
    def label_bits(self) -> int:
        """Bits of a key that hold the label."""
        return label_bits(self.labels)

    @cached_property
    def columns(self) -> list[slice]:
        """The parts of each column."""
        return [slice(start, end) for start, end in pairwise(self.ends.tolist())]

    @cached_property
    def _first(self) -> Ints:
        """The first part of every bin."""
        return np.flatnonzero(np.diff(self.place, prepend=-1))

    @cached_property
    def bin_only(self) -> Singles:
        """The only value of each bin, columns x bins."""
        alone = np.diff(self._first, append=self.place.size) == 1
        only = np.full((self.X.shape[1], self.bins), np.nan, dtype=np.float32)
        only.flat[self.place[self._first]] = np.where(alone, self.only[self._first], np.nan)
        return only

    def parts_of(self, place: Ints) -> tuple[Ints, Ints]:
        """Return the first part and the number of parts of bins, by their place."""
        first = self._first[np.searchsorted(self.place[self._first], place)]
        return first, np.searchsorted(self.place, place, side="right") - first

    def bin_sums(self, sums: Floats) -> Floats:
        """Add up sums of parts by bin; the last axis becomes columns x bins."""
        binned = np.zeros((*sums.shape[:-1], self.X.shape[1] * self.bins))
        binned[..., self.place[self._first]] = np.add.reduceat(sums, self._first, axis=-1)
        return binned.reshape(*sums.shape[:-1], -1, self.bins)


def label_bits(labels: int) -> int:
    """Return how many bits hold a label.

    Examples
    --------
    >>> [label_bits(labels) for labels in (1, 2, 3, 4, 100)]
    [0, 1, 2, 2, 7]
    """
    return (labels - 1).bit_length()


def order_codes(values: Singles) -> Codes:
    """Return whole numbers in the order of the values, which are not missing.

    Examples
    --------
    >>> order_codes(np.array([-1.5, -0.0, 0.0, 2.0], dtype=np.float32)).tolist()
    [-1069547521, -1, 0, 1073741824]
    """
    bits = values.view(np.int32)
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))


def values_of(codes: Codes) -> Singles:
    """Undo `order_codes`: the order code of an order code gives the bits back."""
    return order_codes(codes.view(np.float32)).view(np.float32)


def bounded(values: Singles) -> Singles:
    """Replace infinite values by the largest ones."""
    return np.clip(values, -LARGEST, LARGEST)


def column_by_column(X: Matrix) -> Matrix:
    """Return the matrix in Fortran order, copied only if it is not."""
    if isinstance(X, PickedColumns) or X.flags.f_contiguous:
        return X
    columns = np.empty(X.shape, dtype=np.float32, order="F")
    for start in range(0, len(X), BLOCK):  # a block at a time stays in the cache
        columns[start : start + BLOCK] = X[start : start + BLOCK]
    return columns


def bins_for(rows: int) -> int:
    """Choose how many bins a column has: looking into a bin takes longer with many rows."""
    return _scale(rows) * BINS


def choose_bins(values: Singles, bins: int = BINS, labels: int = 2) -> ColumnBins:
    """Choose the parts of a column, and their bins, from every so many of its rows.

    With many labels there are fewer parts, so that a key holds both.
    """
    scale, keys = _scale(len(values)), 1 << (KEY_BITS - label_bits(labels))
    step = len(values) // (scale * SAMPLE) | 1  # odd: rows may take turns
    sample = np.ascontiguousarray(values[::step])  # far apart in memory: to be read once only
    sample = bounded(sample[~np.isnan(sample)])
    codes = np.sort(order_codes(sample))
    low, high = (int(codes[0]), int(codes[-1])) if codes.size else (0, 0)
    room = min(scale * CELLS, 16 * codes.size + 2)
    shift = next(s for s in range(33) if (high >> s) - (low >> s) < room)
    used, counts, value = _contents((codes >> shift) - (low >> shift), codes)
    if (counts[np.isnan(value)] * (BINS // 2) > codes.size).any():
        return _searched(sample, bins, keys)
    number, heavy = _shares(counts, min(scale * PARTS, keys) - 1)
    table = _table(used, number, heavy)
    cuts = np.empty(0, dtype=np.float32)
    return ColumnBins(low, high, shift, table, cuts, *_parts(number, counts, value, bins))


def _scale(rows: int) -> int:
    return FINER if rows >= MANY_ROWS else 1


def _searched(sample: Singles, bins: int, most: int) -> ColumnBins:
    """Choose exact cuts: between equal shares, and below each common value."""
    values, counts = np.unique(sample, return_counts=True)
    last = values[np.flatnonzero(np.diff(_shares(counts, BINS - 1)[0]))]
    with np.errstate(over="ignore"):  # below the lowest number is minus infinity
        often = max(OFTEN, sample.size // (most - BINS) + 1)
        below = np.nextafter(values[counts >= often], np.float32(-np.inf))
    cuts = np.unique(np.concatenate([last, below]))
    number = np.searchsorted(cuts, values)
    return ColumnBins(0, 0, 0, np.empty(0, np.uint16), cuts, *_parts(number, counts, values, bins))


def _contents(cells: Codes, codes: Codes) -> tuple[Codes, Ints, Singles]:
    """Find the cells in use, how many rows they hold, and their only value; NaN if several."""
    if not cells.size:
        return np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.float32)
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.diff(first, append=cells.size)
    alone = codes[first] == codes[first + counts - 1]
    return cells[first], counts, np.where(alone, values_of(codes[first]), np.float32(np.nan))


def _shares(counts: Ints, most: int) -> tuple[Ints, Bools]:
    """Give neighbours that make up about equal shares the same number, ascending from 0.

    What is larger than two shares is heavy: it has a number of its own, and between two heavy
    ones a number is left free.
    """
    heavy = counts * (most // 2) > counts.sum()
    light = np.where(heavy, 0, counts)
    until = np.cumsum(light)
    room = most - 2 * np.count_nonzero(heavy)
    share = ((until - light) * (room / max(int(until[-1]), 1))).astype(np.int64)
    steps = np.diff(share, prepend=0) > 0
    steps[1:] |= heavy[1:] != heavy[:-1]
    number: Ints = np.cumsum(steps)
    if heavy.any():
        number += 2 * np.cumsum(np.append(False, heavy[1:] & heavy[:-1]))
    return number, heavy


def _table(used: Codes, number: Ints, heavy: Bools) -> Keys:
    """Return the part of each cell; one that is not in use shares that of a light neighbour."""
    if not heavy.any():
        return np.repeat(number.astype(np.uint16), np.diff(used, prepend=-1))
    numbers = np.column_stack([number - heavy, number]).astype(np.uint16)
    widths = np.ones(numbers.shape, dtype=np.int64)
    widths[:, 0] = np.diff(used, prepend=-1) - 1
    return np.repeat(numbers.ravel(), widths.ravel())


def _parts(number: Ints, counts: Ints, value: Singles, bins: int) -> tuple[Singles, Ints]:
    """Return the only value and the bin of each part, given the parts of what is in use."""
    many = int(number[-1]) + 1
    only = np.full(many + 1, np.nan, dtype=np.float32)
    chosen = np.flatnonzero((np.bincount(number) == 1)[number] & (counts >= OFTEN))
    only[number[chosen]] = value[chosen]
    bin_of, _ = _shares(np.bincount(number, counts).astype(np.int64), bins - 1)
    return only, np.append(bin_of, bins - 1)
