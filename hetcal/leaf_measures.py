"""Measures of the rows of each leaf, all leaves at once."""

from collections.abc import Sequence

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.leaf_ids import leaf_positions
from hetcal.metrics import loss_of_rows


def leaf_counts(cells: Cells, leaves: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the number of rows in each leaf, and of those with label 1."""
    position = leaf_positions(cells.leaf, leaves)
    rows, positives = (
        np.bincount(position[side], cells.rows[side], len(leaves)).astype(np.int64)
        for side in (position >= 0, (position >= 0) & (cells.y == 1))
    )
    return rows, positives


def leaf_losses(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return the log-loss in each leaf; NaN without rows."""
    position = leaf_positions(cells.leaf, leaves)
    there = position >= 0
    loss = cells.weight * loss_of_rows(cells.y, cells.score)
    return _share(*(_sums(position[there], each[there], leaves) for each in (loss, cells.weight)))


def leaf_areas(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return the AUC in each leaf, ties counting half; NaN with one class only."""
    position = leaf_positions(cells.leaf, leaves)
    order = cells.order[position[cells.order] >= 0]
    order = order[np.argsort(position[order].astype(np.int32), kind="stable")]
    if not order.size:
        return np.full(len(leaves), np.nan)
    place, centre, weight = position[order], cells.centre[order], cells.weight[order]
    one = cells.y[order] == 1
    new = (place[1:] != place[:-1]) | (centre[1:] != centre[:-1])
    first = np.flatnonzero(np.append(True, new))  # of cells of one leaf that are tied
    zeros, ones = (np.add.reduceat(np.where(side, weight, 0.0), first) for side in (~one, one))
    place = place[first]
    all_zeros, all_ones = (_sums(place, each, leaves) for each in (zeros, ones))
    # Shares, for the weights of other leaves may be beyond comparison.
    zeros = zeros / np.where(all_zeros > 0, all_zeros, 1.0)[place]
    start = np.searchsorted(place, np.arange(len(leaves)))
    passed = np.append(0.0, np.cumsum(zeros))
    below = passed[:-1] - passed[start][place] + zeros / 2
    both = np.where(all_zeros > 0, all_ones, 0.0)
    return _share(_sums(place, ones * below, leaves), both)


def _sums(position: Ints, values: Floats, leaves: Sequence[int]) -> Floats:
    return np.bincount(position, values, len(leaves)).astype(np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0)
