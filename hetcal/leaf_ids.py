"""From leaf ids to positions in a list of leaves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hetcal.arrays import Ints
from hetcal.errors import CalibrationError

LARGEST_TABLE = 2**20


def whole_ids(leaf: ArrayLike) -> Ints:
    """Return leaf ids as integers, or refuse them.

    Examples
    --------
    >>> whole_ids([3.0, 7.0]).tolist()
    [3, 7]
    """
    ids = np.asarray(leaf)
    if ids.dtype.kind == "i":
        return ids
    if ids.dtype.kind not in "uf" or not (np.isfinite(ids) & (ids % 1 == 0)).all():
        raise CalibrationError(
            "The leaves of the rows are not whole numbers.",
            "Each row needs the id of its leaf, as the `apply` of a partition gives it.",
            "Give these ids, or number the leaves.",
        )
    return ids.astype(np.int64)


def leaf_positions(leaf: Ints, leaves: Sequence[int]) -> Ints:
    """Return the position of each leaf id in `leaves`; -1 where it is not there.

    Examples
    --------
    >>> leaf_positions(np.array([3, 7, 1]), [1, 2, 3]).tolist()
    [2, -1, 0]
    """
    ids = np.asarray(leaves, dtype=np.int64)
    if ids.size == 0 or len(leaf) == 0:
        return np.full(len(leaf), -1, dtype=np.int64)
    lowest, highest = int(leaf.min()), int(leaf.max())
    if ids[0] <= lowest and highest <= ids[-1] and (np.diff(ids) == 1).all():
        return np.asarray(leaf - ids[0])
    largest = max(int(ids.max()), highest)
    if min(int(ids.min()), lowest) >= 0 and largest < LARGEST_TABLE:
        table = np.full(largest + 1, -1, dtype=np.int64)
        table[ids] = np.arange(ids.size)
        return table[leaf]
    order = np.argsort(ids)
    place = np.searchsorted(ids, leaf, sorter=order).clip(max=len(ids) - 1)
    found = order[place]
    return np.where(ids[found] == leaf, found, -1)


def position_table(leaf: Ints, leaves: Sequence[int]) -> tuple[Ints, Ints]:
    """Return leaf ids and the position of each id from 0 on; -1 where it is not in `leaves`.

    The ids are those given, unless a table of them would be too large.
    """
    ids = np.asarray(leaves, dtype=np.int64)
    if ids.size and (ids.min() < 0 or ids.max() >= LARGEST_TABLE):
        return leaf_positions(leaf, leaves), np.arange(ids.size)
    table = np.full(ids.max(initial=-1) + 1, -1, dtype=np.int64)
    table[ids] = np.arange(ids.size)
    return leaf, table
