"""The passes over rows that grow a tree, in numpy: the reference for the compiled ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal import tree_kernels
from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import BinnedRows, Bytes, ColumnBins, Keys
from hetcal.kernels import compiled
from hetcal.picked_columns import Matrix

Rows = NDArray[np.integer]
Numbers = NDArray[np.int32]
Found = tuple[Rows, Numbers]
BLOCK, CHUNK = 1 << 15, 1 << 18  # rows at a time, so that intermediate arrays stay in the cache
COUNTED = 1 << 15  # rows of the table that are counted at a time


@dataclass(frozen=True)
class Passes:
    """The passes over rows.

    Parameters
    ----------
    bin_column : callable
        Writes the keys of a column; a part loses its only value if another one turns up.
    add_up : callable
        Counts the rows of nodes and adds up their values by label and part.
    collect : callable
        Finds the rows of nodes in numbered parts of some columns.
    divide : callable
        Divides rows: values of a column up to a last one go left.
    row_type : type
        The type of row numbers that is fastest.
    """

    bin_column: Callable[[Singles, Bytes, ColumnBins, Singles, Keys], None]
    add_up: Callable[[BinnedRows, Rows, Sequence[slice], Floats], list[Floats]]
    collect: Callable[[BinnedRows, Rows, Sequence[slice], Numbers, Ints], list[Found]]
    divide: Callable[[Singles, Rows, float, bool, Rows], tuple[Rows, Rows]]
    row_type: type[np.integer[Any]]


def bin_rows(X: Matrix, y: Bytes, columns: Sequence[ColumnBins], passes: Passes) -> BinnedRows:
    """Put each value of a matrix in Fortran order into its part."""
    keys = np.empty(X.shape, dtype=np.uint16, order="F")
    ends = np.cumsum([0, *(column.only.size for column in columns)])
    only = np.concatenate([column.only for column in columns])
    for j, column in enumerate(columns):
        passes.bin_column(X[:, j], y, column, only[ends[j] : ends[j + 1]], keys[:, j])
    bins = int(columns[0].bin[-1]) + 1
    place = np.concatenate([j * bins + column.bin for j, column in enumerate(columns)])
    return BinnedRows(X, keys, ends, only, place, bins)


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


def add_up(table: BinnedRows, rows: Rows, nodes: Sequence[slice], values: Floats) -> list[Floats]:
    """Return sums of shape (1 + values, 2, parts) for the rows of each node."""
    return [_add_up_node(table, rows[node], values) for node in nodes]


def _add_up_node(table: BinnedRows, rows: Rows, values: Floats) -> Floats:
    sums = np.zeros((1 + len(values), 2, table.only.size))
    for part in _chunks(rows, len(table.X)):
        for j, here in enumerate(table.columns):
            counts = np.bincount(_keys(table, j, part), minlength=2 * (here.stop - here.start))
            sums[0, :, here] += counts.reshape(-1, 2).T
    for k, each in enumerate(values[:, rows], start=1):  # all rows at once: so sums are rounded
        for j, here in enumerate(table.columns):
            keys = table.keys[:, j].take(rows)
            added = np.bincount(keys, each, minlength=2 * (here.stop - here.start))
            sums[k, :, here] = added.reshape(-1, 2).T
    return sums


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
    tell how many rows there are in the wanted parts.
    """
    each = zip(nodes, numbers, sizes, strict=True)
    return [_collect_node(table, rows[node], number, many) for node, number, many in each]


def _collect_node(table: BinnedRows, rows: Rows, number: Numbers, sizes: Ints) -> Found:
    found, numbers = [rows[:0]], [number[:0]]
    for j in np.flatnonzero(sizes):
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            here = number[table.columns[j]].take(table.keys[:, j].take(part) >> 1)
            at = np.flatnonzero(here >= 0)
            found.append(part[at])
            numbers.append(here[at])
    return np.concatenate(found), np.concatenate(numbers)


def divide(
    column: Singles, rows: Rows, last: float, missing_left: bool, spare: Rows
) -> tuple[Rows, Rows]:
    """Return the rows that go left and those that go right, in their order.

    They take the place of `rows`, those on the right by way of `spare`: memory that was used
    before is faster than new memory.
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


def _add_up(table: BinnedRows, rows: Rows, nodes: Sequence[slice], values: Floats) -> list[Floats]:
    if not nodes:
        return []
    found = []
    borders = _borders(table, rows, nodes)
    counted = compiled(tree_kernels.count)(table.keys, rows, borders, table.ends)
    for node, counts in zip(nodes, counted, strict=True):
        sums = np.empty((1 + len(values), 2, len(counts)))
        sums[0] = counts.T
        if len(values):
            added = compiled(tree_kernels.add_up)(table.keys, rows[node], values, table.ends)
            sums[1:] = added.transpose(2, 1, 0)
        found.append(sums)
    return found


def _collect(
    table: BinnedRows, rows: Rows, nodes: Sequence[slice], numbers: Numbers, sizes: Ints
) -> list[Found]:
    ends = np.cumsum(sizes).reshape(sizes.shape)
    borders = _borders(table, rows, nodes)
    places = ends - sizes, ends
    all_rows, all_numbers = compiled(tree_kernels.collect)(
        table.keys, rows, borders, numbers, table.ends, places
    )
    last = ends[:-1, -1]
    return list(zip(np.split(all_rows, last), np.split(all_numbers, last), strict=True))


def _borders(table: BinnedRows, rows: Rows, nodes: Sequence[slice]) -> Ints:
    """Tell where the rows of each node in each block of the table start, blocks x nodes.

    So all nodes are done with a block before it leaves the cache.
    """
    blocks = np.arange(0, len(table.X) + COUNTED, COUNTED, dtype=rows.dtype)
    starts = [node.start + rows[node].searchsorted(blocks) for node in nodes]
    return np.array(starts, dtype=np.int64).T
