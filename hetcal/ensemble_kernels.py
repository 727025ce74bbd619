"""The way of rows through a tree, and its maps, as loops for a compiler; see `kernels`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Singles

SEQUENCE = 0x03F79D71B4CB0A89  # de Bruijn: shifted by 0, 1, …, 63 its first six bits all differ
PLACE = np.empty(64, dtype=np.int64)
PLACE[[(SEQUENCE << place) % 2**64 >> 58 for place in range(64)]] = np.arange(64)
CACHED = 1024  # rows whose bits stay in the innermost cache


def first_left(
    columns: Singles,
    begin: int,
    end: int,
    feature: Ints,
    limit: Singles,
    missing_left: Bools,
    crossed: NDArray[Any],
) -> Ints:
    """Return for some rows the first leaf that no split of a small tree crosses out.

    A split that sends a row right crosses out the leaves of its left part; all splits are asked
    in turn, whether or not they are on the row's path, since that needs no jumps. Those on the
    path cross out all leaves before the row's own, those off the path none but these and later
    ones.
    """
    leaf = np.empty(end - begin, dtype=np.int64)
    gone, none = np.empty(CACHED, dtype=crossed.dtype), crossed.dtype.type(0)
    for start in range(begin, end, CACHED):
        size = min(CACHED, end - start)
        gone[:size] = none
        for split in range(feature.size):
            values = columns[feature[split], start : start + size]
            edge, bits = limit[split], crossed[split]
            if missing_left[split]:
                for i in range(size):
                    gone[i] |= bits if values[i] > edge else none
            else:
                for i in range(size):
                    gone[i] |= none if values[i] <= edge else bits
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
) -> Ints:
    """Return the node in which each of some rows ends; the left child follows its parent."""
    node = np.empty(end - begin, dtype=np.int64)
    for i in range(begin, end):
        position = 0
        while feature[position] >= 0:
            value = columns[feature[position], i]
            if value <= limit[position] or (missing_left[position] and np.isnan(value)):
                position += 1
            else:
                position = right[position]
        node[i - begin] = position
    return node


def nest(logits: Floats, leaf: Ints, slope: Floats, intercept: Floats) -> None:
    """Map each logit by the slope and the intercept of its leaf, in place."""
    for i in range(logits.size):
        logits[i] = slope[leaf[i]] * logits[i] + intercept[leaf[i]]
