"""Bins of the columns of a matrix: at least 255 for numbers, one more for missing values.

Bins only have to keep the order of the values: the search for the best cut looks into
a bin wherever the best cut could hide there. So they are chosen for speed, from a sample.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Ints, Singles

Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Bins = NDArray[np.unsignedinteger[Any]]

CELLS = 1 << 18  # most entries of a look-up table
BLOCK = 1 << 10  # rows that are copied at a time
SAMPLE = 64  # rows per bin that the bins are chosen from
PARTS = 16  # parts that the search divides a bin into
HEAVY = 128  # a value with more than 1/128 of the rows gets a bin of its own


@dataclass(frozen=True)
class ColumnBins:
    """How the values of one column fall into bins.

    Parameters
    ----------
    cuts : array of float32
        Ascending; a value is in the bin whose number is that of the cuts below it.
    shift, base : int
        The cell of a value is `(order_code >> shift) - base`, kept inside the table.
    table : array of uint8 or uint16
        The bin of each cell. Empty if cells are too coarse to tell the bins apart: then
        the cuts are searched.
    only : array of float32, one per bin
        The only value of the bin in the sample; NaN if there are several or none.
    low, step : arrays of int, one per bin
        The part of a value in its bin is `(order_code - low) >> step`, kept from 0 to 15.
    """

    cuts: Singles
    shift: int
    base: int
    table: Bins
    only: Singles
    low: Ints
    step: Ints

    def find(self, values: Singles) -> Bins:
        """Return the bin of each value."""
        if self.table.size:
            cells = order_codes(values)
            cells >>= self.shift
            cells -= self.base
            found = self.table.take(np.clip(cells, 0, self.table.size - 1, out=cells))
        else:
            found = np.searchsorted(self.cuts, values).astype(self.table.dtype)
        missing = np.isnan(values)
        if missing.any():
            found[missing] = self.only.size - 1
        return found


@dataclass(frozen=True)
class BinnedRows:
    """A matrix with the bin of each value.

    Parameters
    ----------
    X : array of float32, rows x columns
        The values.
    bins : array of uint8 or uint16, rows x columns
        Their bins; missing values are in the last one.
    only : array of float32, columns x bins
        The only value of a bin; NaN if it may hold several.
    low, step : arrays of int, columns x bins
        How bins are divided into parts, see `ColumnBins`.
    """

    X: Singles
    bins: Bins
    only: Singles
    low: Ints
    step: Ints


def order_codes(values: Singles) -> Codes:
    """Return whole numbers in the order of the values, which are not missing.

    Examples
    --------
    >>> order_codes(np.array([-1.5, -0.0, 0.0, 2.0], dtype=np.float32)).tolist()
    [-1069547521, -1, 0, 1073741824]
    """
    bits = values.view(np.int32)
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))


def number_of_bins(rows: int) -> int:
    """Choose how many bins a column has.

    One byte holds the number of 256 bins. Bins of many rows hide more from the search than
    that saves.
    """
    return 256 if rows < 2_500_000 else 1024


def column_by_column(X: Singles) -> Singles:
    """Return the matrix in Fortran order, copied only if it is not."""
    if X.flags.f_contiguous:
        return X
    columns = np.empty(X.shape, dtype=np.float32, order="F")
    for start in range(0, len(X), BLOCK):  # a block at a time stays in the cache
        columns[start : start + BLOCK] = X[start : start + BLOCK]
    return columns


def choose_bins(values: Singles, many: int = 256) -> ColumnBins:
    """Choose the bins of a column from every so many of its rows."""
    sample = values[:: max(1, len(values) // (SAMPLE * many))]
    values, counts = np.unique(sample[~np.isnan(sample)], return_counts=True)
    cuts = _cuts(values, counts, many - 2)
    codes = order_codes(cuts).astype(np.int64)
    shift = _shift(codes)
    base = int(codes[0] >> shift) if codes.size else 0
    only = np.full(many, np.nan, dtype=np.float32)
    table = _table((codes >> shift) - base, np.min_scalar_type(many - 1))
    column = ColumnBins(cuts, shift, base, table, only, *_parts(codes, order_codes(values), many))
    bins = column.find(values)
    alone = np.bincount(bins, minlength=many)[bins] == 1
    only = only.copy()
    only[bins[alone]] = values[alone]
    return replace(column, only=only)


def _parts(cuts: Ints, codes: Codes, many: int) -> tuple[Ints, Ints]:
    """Return the code where the first part of each bin starts, and the log of their width."""
    low, step = np.zeros((2, many), dtype=np.int64)
    if codes.size:
        ends = np.concatenate([codes[:1] - 1, cuts, codes[-1:]]).astype(np.int64)
        width = np.maximum(np.diff(ends), 1) / (PARTS - 1)
        low[: width.size] = ends[:-1]
        step[: width.size] = np.maximum(np.ceil(np.log2(width)), 0)
    return low, step


def _cuts(values: Singles, counts: NDArray[np.integer], most: int) -> Singles:
    """Return the cuts: around each heavy value, and between equal shares of the others."""
    heavy = counts * HEAVY > counts.sum()
    alone = values[heavy]
    room = most - 2 * alone.size
    values, counts = values[~heavy], counts[~heavy]
    if values.size > room:
        until = np.cumsum(counts)
        shares = np.arange(1, room + 1) * (until[-1] / (room + 1))
        values = values[np.searchsorted(until, shares)]
    with np.errstate(over="ignore"):  # below the lowest number is minus infinity
        below = np.nextafter(alone, np.float32(-np.inf))
    return np.unique(np.concatenate([alone, below, values]))


def _shift(codes: Ints) -> int:
    """Return how many low bits of the codes of cuts a cell ignores.

    The table is as small as it can be while no cut moves by more than a quarter of the
    way to the next one.
    """
    if codes.size < 2:
        return 0
    low, high = int(codes[0]), int(codes[-1])
    fits = next(shift for shift in range(32) if (high >> shift) - (low >> shift) < CELLS - 1)
    biased = codes + (1 << 31)
    apart = int((biased[1:] ^ biased[:-1]).min()).bit_length() - 1
    return max(fits, apart - 2)


def _table(cells: Ints, dtype: np.dtype[Any]) -> Bins:
    """Return the number of cuts below each cell; nothing if two cuts share a cell."""
    widths = np.diff(cells, prepend=-1)
    if (widths == 0).any():
        return np.empty(0, dtype=dtype)
    numbers = np.arange(cells.size + 1, dtype=dtype)
    return np.repeat(numbers, np.append(widths, 1))
