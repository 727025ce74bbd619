"""The passes of `hetcal.trees.passes` as loops for a compiler.

They are plain Python, so that this module imports without numba; `hetcal.compiled.compiled`
turns them into machine code, which is compiled again only if this file changes: so constants of
other modules are arguments. A loop does what its namesake in `passes` says.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.trees.bins import Bytes, Codes, Keys

SEQUENCE = 0x03F79D71B4CB0A89  # de Bruijn: shifted by 0, 1, …, 63 its first six bits all differ
PLACE = np.empty(64, dtype=np.int64)
PLACE[[(SEQUENCE << place) % 2**64 >> 58 for place in range(64)]] = np.arange(64)
Words = NDArray[np.uint64]
CACHED = 1024  # rows whose bits stay in the innermost cache


def first_left(
    columns: Singles,
    begin: int,
    end: int,
    feature: Ints,
    limit: Singles,
    missing_left: Bools,
    crossed: NDArray[Any],
    place: Ints,
    width: Ints,
    words: Words,
) -> Ints:
    """Return for some rows the first leaf that no split of a small tree crosses out.

    A split that sends a row right crosses out the leaves of its left part. All splits are
    evaluated, whether or not they are on the row's path, since that needs no jumps: those on the
    path cross out all leaves before the row's own, those off the path none but these and later
    ones. A split with a set of some `width` sends those ranks left whose bits are set in its words,
    which begin at its `place`; the last bit is 0, so that it can stand for missing values.
    """
    leaf = np.empty(end - begin, dtype=np.int64)
    one, six = np.uint64(1), np.uint64(6)
    gone, none = np.empty(CACHED, dtype=crossed.dtype), crossed.dtype.type(0)
    for start in range(begin, end, CACHED):
        size = min(CACHED, end - start)
        gone[:size] = none
        for split in range(feature.size):
            values = columns[feature[split], start : start + size]
            edge, bits = limit[split], crossed[split]
            many, at = width[split], np.uint64(place[split])
            last = np.float32(64 * many - 1)
            if many == 0 and missing_left[split]:
                for i in range(size):
                    gone[i] |= bits if values[i] > edge else none
            elif many == 0:
                for i in range(size):
                    gone[i] |= none if values[i] <= edge else bits
            elif many == 1:  # the same word for all rows
                word = words[at]
                for i in range(size):
                    rank = np.uint64(np.int64(values[i] if values[i] >= 0 else last))
                    gone[i] |= bits * crossed.dtype.type(~(word >> rank) & one)
            else:
                for i in range(size):
                    rank = np.uint64(np.int64(values[i] if values[i] >= 0 else last))
                    word = words[at + (rank >> six)] >> (rank & np.uint64(63))
                    gone[i] |= bits * crossed.dtype.type(~word & one)
        for i in range(size):
            out = np.int64(gone[i])
            leaf[start - begin + i] = PLACE[((~out & (out + 1)) * SEQUENCE >> 58) & 63]
    return leaf


def end_of_path(
    columns: Singles,
    begin: int,
    end: int,
    feature: Ints,
    limit: Singles,
    missing_left: Bools,
    right: Ints,
    place: Ints,
    width: Ints,
    words: Words,
) -> Ints:
    """Return the node in which each of some rows ends; the left child follows its parent.

    Sets of ranks are those of `first_left`.
    """
    node, sets = np.empty(end - begin, dtype=np.int64), words.size > 0
    for i in range(begin, end):
        position = 0
        while feature[position] >= 0:
            value = columns[feature[position], i]
            if sets and width[position] > 0:
                rank = np.int64(value) if value >= 0 else 64 * width[position] - 1
                word = words[place[position] + (rank >> 6)] >> np.uint64(rank & 63)
                position = position + 1 if word & np.uint64(1) else right[position]
            elif value <= limit[position] or (missing_left[position] and np.isnan(value)):
                position += 1
            else:
                position = right[position]
        node[i - begin] = position
    return node


def nest(logits: Floats, leaf: Ints, slope: Floats, intercept: Floats) -> None:
    """Map each logit by the slope and the intercept of its leaf, in place."""
    for i in range(logits.size):
        logits[i] = slope[leaf[i]] * logits[i] + intercept[leaf[i]]


Rows = NDArray[np.integer]
BLOCK = 1024  # rows at a time, so that what they need stays in the cache


def bin_column(
    values: Singles,
    bits: Codes,
    y: Bytes,
    cell: tuple[int, int, int],
    table: Keys,
    cuts: Singles,
    only: Singles,
    keys: Keys,
    label_bits: int,
) -> None:
    """Write the keys of a column; `bits` is the column seen as whole numbers."""
    low, high, shift = np.int32(cell[0]), np.int32(cell[1]), np.int32(cell[2])
    base = low >> shift
    cells = np.empty(BLOCK, dtype=np.uint32)
    check = not np.isnan(only).all()
    for begin in range(0, len(values), BLOCK):
        end = min(len(values), begin + BLOCK)
        part, codes = values[begin:end], bits[begin:end]
        labels, out = y[begin:end], keys[begin:end]
        missing = wrong = False
        if len(table):
            for i in range(end - begin):
                code = np.int32(codes[i] ^ ((codes[i] >> 31) & 0x7FFFFFFF))
                cells[i] = (min(max(code, low), high) >> shift) - base
        else:
            cells[: end - begin] = np.searchsorted(cuts, part)
        for i in range(end - begin):
            missing |= part[i] != part[i]
        if len(table):
            for i in range(end - begin):
                out[i] = (table[cells[i]] << label_bits) + labels[i]
        else:
            for i in range(end - begin):
                out[i] = (cells[i] << label_bits) + labels[i]
        if missing:
            for i in range(end - begin):
                if np.isnan(part[i]):
                    out[i] = np.uint16((len(only) - 1) << label_bits) + labels[i]
        if check:
            for i in range(end - begin):
                wrong |= part[i] != only[out[i] >> label_bits]
        if wrong:
            for i in range(end - begin):
                if part[i] != only[out[i] >> label_bits]:
                    only[out[i] >> label_bits] = np.nan


def count(keys: Keys, rows: Rows, borders: Ints, ends: Ints, label_bits: int) -> NDArray[np.uint32]:
    """Count the rows of nodes by node, part and label.

    Row `b` of `borders` says where the rows of each node in block `b` of the table start.
    """
    first = ends << label_bits
    counts = np.zeros((borders.shape[1], first[-1]), dtype=np.uint32)
    step = keys.shape[1] // 4
    for j in range(step):  # columns far apart: an addition need not wait for the one before
        in_a, in_b = keys[:, j], keys[:, j + step]
        in_c, in_d = keys[:, j + 2 * step], keys[:, j + 3 * step]
        for block in range(len(borders) - 1):
            for k in range(borders.shape[1]):
                a, b = counts[k, first[j] :], counts[k, first[j + step] :]
                c, d = counts[k, first[j + 2 * step] :], counts[k, first[j + 3 * step] :]
                for row in rows[borders[block, k] : borders[block + 1, k]]:
                    a[in_a[row]] += np.uint32(1)
                    b[in_b[row]] += np.uint32(1)
                    c[in_c[row]] += np.uint32(1)
                    d[in_d[row]] += np.uint32(1)
    for j in range(4 * step, keys.shape[1]):
        in_a = keys[:, j]
        for k in range(borders.shape[1]):
            a = counts[k, first[j] :]
            for row in rows[borders[0, k] : borders[-1, k]]:
                a[in_a[row]] += np.uint32(1)
    return counts.reshape(borders.shape[1], -1, 1 << label_bits)


def add_up(keys: Keys, rows: Rows, values: Floats, ends: Ints, label_bits: int) -> Floats:
    """Add up values per row by part, label and value."""
    sums = np.zeros((ends[-1] << label_bits, len(values)))
    near = np.empty((BLOCK, len(values)))
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        for i in range(len(part)):
            for k in range(len(values)):
                near[i, k] = values[k, part[i]]
        for j in range(keys.shape[1]):
            here, column = sums[ends[j] << label_bits :], keys[:, j]
            for i in range(len(part)):
                for k in range(len(values)):
                    here[column[part[i]], k] += near[i, k]
    return sums.reshape(-1, 1 << label_bits, len(values))


def collect(
    keys: Keys,
    rows: Rows,
    borders: Ints,
    numbers: Codes,
    ends: Ints,
    label_bits: int,
    places: tuple[Ints, Ints],
) -> tuple[Rows, Codes]:
    """Find the rows of nodes in numbered parts.

    `borders` are those of `count`. The rows of a node and a column are written from the first
    of its `places` up to the second.
    """
    at, stop = places[0].copy(), places[1]
    found = np.empty(stop[-1, -1], dtype=rows.dtype)
    owner = np.empty(stop[-1, -1], dtype=np.int32)
    for j in range(keys.shape[1]):
        column = keys[:, j]
        for block in range(len(borders) - 1):
            for k in range(borders.shape[1]):
                to = at[k, j]
                if to == stop[k, j]:
                    continue
                here = numbers[k, ends[j] :]
                for row in rows[borders[block, k] : borders[block + 1, k]]:
                    its = here[column[row] >> label_bits]
                    if its >= 0:
                        found[to], owner[to] = row, its
                        to += 1
                at[k, j] = to
    return found, owner


def divide(
    column: Singles, rows: Rows, last: float, missing_left: bool, spare: Rows
) -> tuple[Rows, Rows]:
    """Divide rows in their own memory: values up to `last` go left."""
    limit = np.float32(last)
    lefts = rights = np.uint32(0)  # without a sign, so that no place is checked for one
    for i in range(len(rows)):
        row = rows[i]
        value = column[row]
        left = np.uint32((value <= limit) | (missing_left & (value != value)))
        rows[lefts] = row  # no branch: it could not be predicted
        spare[rights] = row
        lefts = np.uint32(lefts + left)
        rights = np.uint32(rights + np.uint32(1) - left)
    rows[lefts:] = spare[:rights]
    return rows[:lefts], rows[lefts:]


def around(bits: Codes, codes_up_to: Codes) -> tuple[Codes, Codes]:
    """Return the largest order code up to each limit and the smallest one above it."""
    lowest, highest = np.int32(-0x7F800001), np.int32(0x7F800000)  # of minus and plus infinity
    below, above = np.full_like(codes_up_to, lowest), np.full_like(codes_up_to, highest)
    codes = np.empty(BLOCK, dtype=np.int32)
    for begin in range(0, len(bits), BLOCK):
        end = min(len(bits), begin + BLOCK)
        part = bits[begin:end]
        for i in range(end - begin):
            codes[i] = part[i] ^ ((part[i] >> 31) & 0x7FFFFFFF)
        for k in range(len(codes_up_to)):
            limit, low, high = codes_up_to[k], below[k], above[k]
            for i in range(end - begin):
                low = max(low, codes[i] if codes[i] <= limit else lowest)
                high = min(high, codes[i] if codes[i] > limit else highest)
            below[k], above[k] = low, high
    return below, above


def send(
    values: Singles | Bytes,
    limit: np.generic,
    missing_left: bool,
    at: NDArray[np.int8],
    here: np.int8,
    left: np.int8,
    right: np.int8,
) -> None:
    """Send the rows that are at a node on to the left or to the right."""
    for i in range(len(at)):
        goes_left = (values[i] <= limit) | (missing_left & (values[i] != values[i]))
        to = left if goes_left else right
        at[i] = to if at[i] == here else at[i]
