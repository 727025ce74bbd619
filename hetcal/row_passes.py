"""The passes over rows that grow a tree, in numpy: the reference for the compiled ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal import tree_kernels
from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import PARTS, BinnedRows, Bytes, ColumnBins, order_codes
from hetcal.kernels import compiled

Rows = NDArray[np.integer]
Numbers = NDArray[np.int32]
BLOCK = 1 << 15  # rows at a time, so that intermediate arrays stay in the cache


@dataclass(frozen=True)
class Passes:
    """The passes over rows.

    Parameters
    ----------
    bin_rows : callable
        Puts each value of a matrix into its bin.
    add_up : callable
        Counts rows and adds up their values by label, column and bin.
    collect : callable
        Finds the rows in some bins, and the part of the bin that each is in.
    divide : callable
        Divides rows: values of a column up to a last one go left.
    row_type : type
        The type of row numbers that is fastest.
    """

    bin_rows: Callable[[Singles, Sequence[ColumnBins]], BinnedRows]
    add_up: Callable[[BinnedRows, Rows, Bytes, Floats], Floats]
    collect: Callable[[BinnedRows, Rows, Bytes, Numbers, Ints], tuple[Rows, Ints]]
    divide: Callable[[Singles, Rows, float, bool], tuple[Rows, Rows]]
    row_type: type[np.integer[Any]]


def bin_rows(X: Singles, columns: Sequence[ColumnBins]) -> BinnedRows:
    """Put each value into its bin; a bin loses its only value if another one turns up."""
    bins = np.empty(X.shape, dtype=columns[0].table.dtype, order="F")
    only, low, step = _per_bin(columns)
    for j, column in enumerate(columns):
        check = not np.isnan(only[j]).all()
        for start in range(0, len(X), BLOCK):
            block = slice(start, start + BLOCK)
            values = np.ascontiguousarray(X[block, j])
            bins[block, j] = found = column.find(values)
            if check:
                only[j, found[values != column.only.take(found)]] = np.nan
    return BinnedRows(X, bins, only, low, step)


def _per_bin(columns: Sequence[ColumnBins]) -> tuple[Singles, Ints, Ints]:
    return (
        np.stack([each.only for each in columns]),
        np.stack([each.low for each in columns]),
        np.stack([each.step for each in columns]),
    )


def add_up(table: BinnedRows, rows: Rows, y: Bytes, values: Floats) -> Floats:
    """Return sums of shape (1 + values, 2, columns, bins)."""
    columns, many = table.only.shape
    sums = np.zeros((1 + len(values), 2, columns, many))
    label = y[rows].astype(np.int64) * many
    parts = values[:, rows]
    for j in range(columns):
        keys = label + table.bins[:, j].take(rows)
        sums[0, :, j] = np.bincount(keys, minlength=2 * many).reshape(2, many)
        for k, part in enumerate(parts, start=1):
            sums[k, :, j] = np.bincount(keys, part, minlength=2 * many).reshape(2, many)
    return sums


def collect(
    table: BinnedRows, rows: Rows, y: Bytes, number: Numbers, sizes: Ints
) -> tuple[Rows, Ints]:
    """Return the rows in numbered bins, and `(number * PARTS + part) * 2 + label` of each.

    `number` is -1 for bins that are not wanted; `sizes` tells how many rows there are in
    the wanted bins of each column.
    """
    found, spots = [rows[:0]], [np.empty(0, dtype=np.int64)]
    for j in np.flatnonzero(sizes):
        bins = table.bins[:, j].take(rows)
        at = np.flatnonzero((number[j] >= 0).take(bins))
        here, bins = rows[at], bins[at]
        code = order_codes(table.X[:, j].take(here)).astype(np.int64)
        part = (code - table.low[j].take(bins)) >> table.step[j].take(bins)
        part = np.clip(part, 0, PARTS - 1)
        found.append(here)
        spots.append((number[j].take(bins) * PARTS + part) * 2 + y[here])
    return np.concatenate(found), np.concatenate(spots)


def divide(column: Singles, rows: Rows, last: float, missing_left: bool) -> tuple[Rows, Rows]:
    """Return the rows that go left and those that go right, in their order."""
    values = column.take(rows)
    left = values <= np.float32(last)
    if missing_left:
        left |= np.isnan(values)
    return rows[left], rows[~left]


REFERENCE = Passes(bin_rows, add_up, collect, divide, np.int64)


def compiled_passes() -> Passes:
    """Return the passes as machine code, with the same results bit for bit."""
    return Passes(_bin_rows, _add_up, _collect, compiled(tree_kernels.divide), np.uint32)


def _bin_rows(X: Singles, columns: Sequence[ColumnBins]) -> BinnedRows:
    only, low, step = _per_bin(columns)
    tables = [each.table for each in columns]
    cuts = [each.cuts for each in columns]
    places = np.array([(each.shift, each.base) for each in columns])
    bins = compiled(tree_kernels.bin_rows)(
        X,
        X.view(np.int32),
        np.column_stack([places, _ends(tables), _ends(cuts)]),
        np.concatenate(tables),
        np.concatenate(cuts),
        only,
    )
    return BinnedRows(X, bins, only, low, step)


def _ends(parts: Sequence[NDArray[Any]]) -> Ints:
    """Return where each part starts and ends once they are joined."""
    sizes = np.array([part.size for part in parts])
    return np.column_stack([np.cumsum(sizes) - sizes, np.cumsum(sizes)])


def _add_up(table: BinnedRows, rows: Rows, y: Bytes, values: Floats) -> Floats:
    many = table.only.shape[1]
    counts = compiled(tree_kernels.count)(table.bins, rows, y, many).astype(np.float64)[None]
    if not len(values):
        return counts
    added = compiled(tree_kernels.add_up)(table.bins, rows, y, values, many)
    return np.concatenate([counts, added])


def _collect(
    table: BinnedRows, rows: Rows, y: Bytes, number: Numbers, sizes: Ints
) -> tuple[Rows, Ints]:
    bits = table.X.view(np.int32)
    columns = np.flatnonzero(sizes)
    return compiled(tree_kernels.collect)(
        table.bins, bits, rows, y, number, table.low, table.step, columns, sizes[columns], PARTS
    )
