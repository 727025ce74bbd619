"""The passes of `row_passes` as loops for a compiler.

They are plain Python so that this module imports without numba; `kernels.compiled`
turns them into machine code, which is made anew only if this file changes: so constants of
other modules are arguments. What a loop does is told by its namesake in `row_passes`.
"""

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import Bins, Bytes, Codes

Rows = NDArray[np.integer]
BLOCK, NEAR = 1024, 512  # rows at a time, so that what they need stays in the cache


def bin_rows(
    X: Singles,
    bits: Codes,
    places: Ints,
    tables: Bins,
    cuts: Singles,
    only: Singles,
) -> Bins:
    """Return the bin of each value; set `only` to NaN where a bin has another value, too.

    `bits` is `X` seen as whole numbers. `places` has one row per column: shift, base,
    where its table starts and ends, where its cuts start and end.
    """
    rows, columns = X.shape
    bins = np.empty((rows, columns), dtype=tables.dtype)
    cells = np.empty(BLOCK, dtype=np.uint32)
    found = np.empty(BLOCK, dtype=tables.dtype)
    check = [not np.isnan(only[j]).all() for j in range(columns)]
    for begin in range(0, rows, BLOCK):
        end = min(rows, begin + BLOCK)
        for j in range(columns):
            shift, base, first, last, cut, cut_end = places[j]
            values, codes, alone = X[begin:end, j], bits[begin:end, j], only[j]
            missing = wrong = False
            if first < last:
                for i in range(end - begin):
                    code = np.int64(codes[i])
                    code ^= (code >> 63) & 0x7FFFFFFF
                    cells[i] = min(max((code >> shift) - base, 0), last - first - 1)
                table = tables[first:last]
                for i in range(end - begin):
                    found[i] = table[cells[i]]
            else:
                found[: end - begin] = np.searchsorted(cuts[cut:cut_end], values)
            for i in range(end - begin):
                missing |= np.isnan(values[i])
            if missing:
                for i in range(end - begin):
                    if np.isnan(values[i]):
                        found[i] = only.shape[1] - 1
            if check[j]:
                for i in range(end - begin):
                    wrong |= values[i] != alone[found[i]]
            if wrong:
                for i in range(end - begin):
                    if values[i] != alone[found[i]]:
                        alone[found[i]] = np.nan
            for i in range(end - begin):
                bins[begin + i, j] = found[i]
    return bins


def count(bins: Bins, rows: Rows, y: Bytes, many: int) -> NDArray[np.uint32]:
    """Count rows by label, column and bin."""
    columns = bins.shape[1]
    sums = np.zeros((2, columns, many), dtype=np.uint32)
    for row in rows:
        label = y[row]
        for j in range(columns):
            sums[label, j, bins[row, j]] += np.uint32(1)
    return sums


def add_up(bins: Bins, rows: Rows, y: Bytes, values: Floats, many: int) -> Floats:
    """Add up values per row by label, column and bin."""
    columns = bins.shape[1]
    sums = np.zeros((len(values), 2, columns, many))
    for row in rows:
        label = y[row]
        for k in range(len(values)):
            value = values[k, row]
            for j in range(columns):
                sums[k, label, j, bins[row, j]] += value
    return sums


def collect(
    bins: Bins,
    bits: Codes,
    rows: Rows,
    y: Bytes,
    number: Codes,
    low: Ints,
    step: Ints,
    columns: Ints,
    sizes: Ints,
    parts: int,
) -> tuple[Rows, Ints]:
    """Find the rows in numbered bins, column by column; `bits` is the matrix."""
    found = np.empty(sizes.sum(), dtype=rows.dtype)
    spots = np.empty(sizes.sum(), dtype=np.int64)
    place = np.cumsum(sizes) - sizes
    near = np.empty(NEAR, dtype=np.uint32)
    near_bin = np.empty(NEAR, dtype=bins.dtype)
    for begin in range(0, len(rows), NEAR):
        for k in range(len(columns)):
            j, at = columns[k], place[k]
            numbers, lows, steps = number[j], low[j], step[j]
            wanted = numbers >= 0
            many = 0
            for row in rows[begin : begin + NEAR]:  # no branch: it could not be predicted
                near[many] = row
                near_bin[many] = bins[row, j]
                many += wanted[bins[row, j]]
            for i in range(many):
                row, b = near[i], near_bin[i]
                code = np.int64(bits[row, j])
                code ^= (code >> 63) & 0x7FFFFFFF
                part = min(max((code - lows[b]) >> steps[b], 0), parts - 1)
                found[at + i] = row
                spots[at + i] = (numbers[b] * parts + part) * 2 + y[row]
            place[k] += many
    return found, spots


def divide(column: Singles, rows: Rows, last: float, missing_left: bool) -> tuple[Rows, Rows]:
    """Divide rows: values up to `last` go left."""
    left, right = np.empty_like(rows), np.empty_like(rows)
    lefts = 0
    for i in range(len(rows)):
        value = column[rows[i]]
        goes_left = (value <= last) | (missing_left & (value != value))
        left[lefts] = rows[i]  # no branch: it could not be predicted
        right[i - lefts] = rows[i]
        lefts += goes_left
    return left[:lefts].copy(), right[: len(rows) - lefts].copy()
