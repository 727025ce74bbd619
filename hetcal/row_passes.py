"""The passes over rows that grow a tree, in numpy: the reference for the compiled ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal import tree_kernels
from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import BINS, BinnedRows, Bytes, ColumnBins, Keys
from hetcal.kernels import compiled

Rows = NDArray[np.integer]
Numbers = NDArray[np.int32]
BLOCK = 1 << 15  # rows at a time, so that intermediate arrays stay in the cache


@dataclass(frozen=True)
class Passes:
    """The passes over rows.

    Parameters
    ----------
    bin_column : callable
        Writes the keys of a column; a part loses its only value if another one turns up.
    add_up : callable
        Counts rows and adds up their values by label and part.
    collect : callable
        Finds the rows in numbered parts of some columns.
    divide : callable
        Divides rows: values of a column up to a last one go left.
    row_type : type
        The type of row numbers that is fastest.
    """

    bin_column: Callable[[Singles, Bytes, ColumnBins, Singles, Keys], None]
    add_up: Callable[[BinnedRows, Rows, Floats], Floats]
    collect: Callable[[BinnedRows, Rows, Numbers, Ints], tuple[Rows, Numbers]]
    divide: Callable[[Singles, Rows, float, bool], tuple[Rows, Rows]]
    row_type: type[np.integer[Any]]


def bin_rows(X: Singles, y: Bytes, columns: Sequence[ColumnBins], passes: Passes) -> BinnedRows:
    """Put each value of a matrix in Fortran order into its part."""
    keys = np.empty(X.shape, dtype=np.uint16, order="F")
    ends = np.cumsum([0, *(column.only.size for column in columns)])
    only = np.concatenate([column.only for column in columns])
    for j, column in enumerate(columns):
        passes.bin_column(X[:, j], y, column, only[ends[j] : ends[j + 1]], keys[:, j])
    place = np.concatenate([j * BINS + column.bin for j, column in enumerate(columns)])
    return BinnedRows(X, keys, ends, only, place)


def bin_column(values: Singles, y: Bytes, column: ColumnBins, only: Singles, keys: Keys) -> None:
    """Write twice the part plus the label of each row into `keys`; correct `only`."""
    check = not np.isnan(only).all()
    for start in range(0, len(values), BLOCK):
        block = slice(start, start + BLOCK)
        found = column.find(values[block])
        if check:
            only[found[values[block] != column.only.take(found)]] = np.nan
        found *= 2
        np.add(found, y[block], out=keys[block])


def add_up(table: BinnedRows, rows: Rows, values: Floats) -> Floats:
    """Return sums of shape (1 + values, 2, parts)."""
    sums = np.zeros((1 + len(values), 2, table.only.size))
    parts = values[:, rows]
    for j in range(table.X.shape[1]):
        here = slice(table.ends[j], table.ends[j + 1])
        many = 2 * (here.stop - here.start)
        keys = table.keys[:, j].take(rows)
        sums[0, :, here] = np.bincount(keys, minlength=many).reshape(-1, 2).T
        for k, part in enumerate(parts, start=1):
            sums[k, :, here] = np.bincount(keys, part, minlength=many).reshape(-1, 2).T
    return sums


def collect(table: BinnedRows, rows: Rows, number: Numbers, sizes: Ints) -> tuple[Rows, Numbers]:
    """Return the rows in numbered parts, column by column, and the number of each.

    `number` is -1 for parts that are not wanted; `sizes` tells how many rows there are in
    the wanted parts of each column.
    """
    found, numbers = [rows[:0]], [number[:0]]
    for j in np.flatnonzero(sizes):
        here = number[table.ends[j] : table.ends[j + 1]].take(table.keys[:, j].take(rows) >> 1)
        at = np.flatnonzero(here >= 0)
        found.append(rows[at])
        numbers.append(here[at])
    return np.concatenate(found), np.concatenate(numbers)


def divide(column: Singles, rows: Rows, last: float, missing_left: bool) -> tuple[Rows, Rows]:
    """Return the rows that go left and those that go right, in their order.

    The compiled pass uses the memory of `rows` for them.
    """
    values = column.take(rows)
    left = values <= np.float32(last)
    if missing_left:
        left |= np.isnan(values)
    return rows[left], rows[~left]


REFERENCE = Passes(bin_column, add_up, collect, divide, np.int64)


def compiled_passes() -> Passes:
    """Return the same passes as machine code."""
    return Passes(_bin_column, _add_up, _collect, compiled(tree_kernels.divide), np.uint32)


def _bin_column(values: Singles, y: Bytes, column: ColumnBins, only: Singles, keys: Keys) -> None:
    compiled(tree_kernels.bin_column)(
        values,
        values.view(np.int32),
        y,
        (column.low, column.high, column.shift),
        column.table,
        column.cuts,
        only,
        keys,
    )


def _add_up(table: BinnedRows, rows: Rows, values: Floats) -> Floats:
    counts = compiled(tree_kernels.count)(table.keys, rows, table.ends)
    if not len(values):
        return counts.T[None].astype(np.float64)
    sums = np.empty((1 + len(values), 2, len(counts)))
    sums[0] = counts.T
    added = compiled(tree_kernels.add_up)(table.keys, rows, values, table.ends)
    sums[1:] = added.transpose(2, 1, 0)
    return sums


def _collect(table: BinnedRows, rows: Rows, number: Numbers, sizes: Ints) -> tuple[Rows, Numbers]:
    columns = np.flatnonzero(sizes)
    return compiled(tree_kernels.collect)(
        table.keys, rows, number, table.ends, columns, sizes[columns]
    )
