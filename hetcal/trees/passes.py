"""The passes over rows that grow a tree, in numpy: the reference for the compiled ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.compiled import compiled, use_compiled
from hetcal.data.columns import single_limits
from hetcal.trees import kernels as tree_kernels
from hetcal.trees.bins import (
    BinnedRows,
    Bytes,
    ColumnBins,
    Keys,
    Matrix,
    label_bits,
    order_codes,
    values_of,
)

FEW = 1 << 12  # rows that narrow the search


def neighbours(values: Singles, thresholds: Floats) -> Floats:
    """Return the largest value up to each threshold and the smallest one above it, side by side.

    Where there is none, it is infinite. Without a compiler, those of a few rows narrow the
    search, so that nothing is sorted.

    Examples
    --------
    >>> neighbours(np.array([3, 1, np.nan, 2], dtype=np.float32), np.array([2.5, 1.5])).tolist()
    [[2.0, 3.0], [1.0, 2.0]]
    """
    limits = single_limits(thresholds)
    if not use_compiled():
        pairs = [_around_near(values, limit) for limit in limits]
        return np.array(pairs, dtype=np.float64).reshape(-1, 2)
    bits = np.ascontiguousarray(values).view(np.int32)
    found = compiled(tree_kernels.around)(bits, order_codes(limits))
    return np.column_stack([values_of(codes) for codes in found]).astype(np.float64)


def _around_near(values: Singles, limit: np.float32) -> tuple[float, float]:
    below, above = _around(values[:: max(1, len(values) // FEW)], limit)
    return _around(values[(values >= below) & (values <= above)], limit)


def _around(values: Singles, limit: np.float32) -> tuple[float, float]:
    left, right = values[values <= limit], values[values > limit]
    return float(left.max(initial=-np.inf)), float(right.min(initial=np.inf))


Rows = NDArray[np.integer]
Numbers = NDArray[np.int32]
Found = tuple[Rows, Numbers]
BLOCK, CHUNK = 1 << 15, 1 << 18  # rows at a time, so that intermediate arrays stay in the cache
COUNTED = 1 << 15  # rows of the table that are counted at a time


@dataclass(frozen=True)
class Passes:
    """The passes over rows."""

    # Writes the keys of a column; a part loses its only value if another one is found.
    bin_column: Callable[[Singles, Bytes, ColumnBins, Singles, Keys, int], None]
    # Counts the rows of nodes and adds up their values by label and part.
    add_up: Callable[[BinnedRows, Rows, Sequence[slice], Floats], list[Floats]]
    # Finds the rows of nodes in numbered parts of some columns.
    collect: Callable[[BinnedRows, Rows, Sequence[slice], Numbers, Ints], list[Found]]
    # Divides rows: values of a column up to a last one go left.
    divide: Callable[[Singles, Rows, float, bool, Rows], tuple[Rows, Rows]]
    row_type: type[np.integer[Any]]  # the fastest type of row numbers


def bin_rows(
    X: Matrix, y: Bytes, columns: Sequence[ColumnBins], passes: Passes, labels: int = 2
) -> BinnedRows:
    """Put each value of a matrix in Fortran order into its part."""
    bits = label_bits(labels)
    keys = np.empty(X.shape, dtype=np.uint16, order="F")
    ends = np.cumsum([0, *(column.only.size for column in columns)])
    only = np.concatenate([column.only for column in columns])
    for j, column in enumerate(columns):
        passes.bin_column(X[:, j], y, column, only[ends[j] : ends[j + 1]], keys[:, j], bits)
    bins = int(columns[0].bin[-1]) + 1
    place = np.concatenate([j * bins + column.bin for j, column in enumerate(columns)])
    return BinnedRows(X, keys, ends, only, place, bins, labels)


def bin_column(
    values: Singles, y: Bytes, column: ColumnBins, only: Singles, keys: Keys, bits: int
) -> None:
    """Write the part of each row, and the label in so many bits, into `keys`; correct `only`."""
    check = not np.isnan(only).all()
    for start in range(0, len(values), BLOCK):
        block = slice(start, start + BLOCK)
        found = column.find(values[block])
        if check:
            only[found[values[block] != column.only.take(found)]] = np.nan
        found <<= bits
        np.add(found, y[block], out=keys[block])


def add_up(table: BinnedRows, rows: Rows, nodes: Sequence[slice], values: Floats) -> list[Floats]:
    """Return sums of shape (1 + values, labels, parts) for the rows of each node."""
    return [_add_up_node(table, rows[node], values) for node in nodes]


def _add_up_node(table: BinnedRows, rows: Rows, values: Floats) -> Floats:
    sums = np.zeros((1 + len(values), table.labels, table.only.size))
    for part in _chunks(rows, len(table.X)):
        for j, here in enumerate(table.columns):
            sums[0, :, here] += _by_label(table, here, _keys(table, j, part))
    for k, each in enumerate(values[:, rows], start=1):  # all rows at once: so sums are rounded
        for j, here in enumerate(table.columns):
            sums[k, :, here] = _by_label(table, here, table.keys[:, j].take(rows), each)
    return sums


def _by_label(
    table: BinnedRows, parts: slice, keys: Keys, value: Floats | None = None
) -> Floats | Ints:
    """Count rows or add up their values, labels x parts of a column."""
    bits = table.label_bits
    sums = np.bincount(keys, value, (parts.stop - parts.start) << bits)
    return sums.reshape(-1, 1 << bits).T[: table.labels]


def _chunks(rows: Rows, many: int) -> Iterator[Rows | slice]:
    """Yield some rows after the other: all rows as slices, which need not be looked up."""
    for start in range(0, len(rows), CHUNK):
        end = min(start + CHUNK, len(rows))
        yield slice(start, end) if len(rows) == many else rows[start:end]


def _keys(table: BinnedRows, j: int, part: Rows | slice) -> Keys:
    keys = table.keys[:, j]
    return keys[part] if isinstance(part, slice) else keys.take(part)


def collect(
    table: BinnedRows, rows: Rows, nodes: Sequence[slice], numbers: Numbers, sizes: Ints
) -> list[Found]:
    """Return the rows of each node in numbered parts, column by column, and their numbers.

    `numbers`, nodes x parts, are -1 for parts that are not wanted; `sizes`, nodes x columns,
    are the numbers of rows in the wanted parts.
    """
    each = zip(nodes, numbers, sizes, strict=True)
    return [_collect_node(table, rows[node], number, many) for node, number, many in each]


def _collect_node(table: BinnedRows, rows: Rows, number: Numbers, sizes: Ints) -> Found:
    found, numbers = [rows[:0]], [number[:0]]
    for j in np.flatnonzero(sizes):
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            here = number[table.columns[j]].take(table.keys[:, j].take(part) >> table.label_bits)
            at = np.flatnonzero(here >= 0)
            found.append(part[at])
            numbers.append(here[at])
    return np.concatenate(found), np.concatenate(numbers)


def divide(
    column: Singles, rows: Rows, last: float, missing_left: bool, spare: Rows
) -> tuple[Rows, Rows]:
    """Return the rows that go left and those that go right, in their order.

    They overwrite `rows`, those on the right by way of `spare`: memory that was used before is
    faster than new memory.
    """
    lefts = rights = 0
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        values = column.take(part)
        left = values <= np.float32(last)
        if missing_left:
            left |= np.isnan(values)
        here, there = part[left], part[~left]
        rows[lefts : lefts + here.size] = here
        spare[rights : rights + there.size] = there
        lefts, rights = lefts + here.size, rights + there.size
    rows[lefts:] = spare[:rights]
    return rows[:lefts], rows[lefts:]


REFERENCE = Passes(bin_column, add_up, collect, divide, np.int64)


def compiled_passes() -> Passes:
    """Return the same passes as machine code."""
    return Passes(_bin_column, _add_up, _collect, compiled(tree_kernels.divide), np.uint32)


def _bin_column(
    values: Singles, y: Bytes, column: ColumnBins, only: Singles, keys: Keys, bits: int
) -> None:
    compiled(tree_kernels.bin_column)(
        values,
        values.view(np.int32),
        y,
        (column.low, column.high, column.shift),
        column.table,
        column.cuts,
        only,
        keys,
        bits,
    )


def _add_up(table: BinnedRows, rows: Rows, nodes: Sequence[slice], values: Floats) -> list[Floats]:
    if not nodes:
        return []
    found = []
    borders, keys = _borders(table, rows, nodes), (table.ends, table.label_bits)
    counted = compiled(tree_kernels.count)(table.keys, rows, borders, *keys)
    for node, counts in zip(nodes, counted, strict=True):
        sums = np.empty((1 + len(values), table.labels, len(counts)))
        sums[0] = counts.T[: table.labels]
        if len(values):
            added = compiled(tree_kernels.add_up)(table.keys, rows[node], values, *keys)
            sums[1:] = added.transpose(2, 1, 0)[:, : table.labels]
        found.append(sums)
    return found


def _collect(
    table: BinnedRows, rows: Rows, nodes: Sequence[slice], numbers: Numbers, sizes: Ints
) -> list[Found]:
    ends = np.cumsum(sizes).reshape(sizes.shape)
    keys, places = (table.ends, table.label_bits), (ends - sizes, ends)
    borders = _borders(table, rows, nodes)
    all_rows, all_numbers = compiled(tree_kernels.collect)(
        table.keys, rows, borders, numbers, *keys, places
    )
    last = ends[:-1, -1]
    return list(zip(np.split(all_rows, last), np.split(all_numbers, last), strict=True))


def _borders(table: BinnedRows, rows: Rows, nodes: Sequence[slice]) -> Ints:
    """Return where the rows of each node in each block of the table start, blocks x nodes.

    So all nodes read a block before it leaves the cache.
    """
    blocks = np.arange(0, len(table.X) + COUNTED, COUNTED, dtype=rows.dtype)
    starts = [node.start + rows[node].searchsorted(blocks) for node in nodes]
    return np.array(starts, dtype=np.int64).T
