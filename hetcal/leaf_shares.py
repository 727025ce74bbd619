"""What each leaf has of the AUC."""

from collections.abc import Sequence

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.delong import placements
from hetcal.kernels import use_compiled
from hetcal.leaf_ids import leaf_positions, position_table
from hetcal.rank_statistics import count_below, counted_up

MOST_BITS = 12  # of a score that may be used for the position of its leaf
MAGNITUDE = np.int64(2**63 - 1)  # all bits of a number but its sign


def leaf_shares(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return what each leaf has of the AUC: half of every pair with one row in it.

    All leaves together have the whole AUC; NaN with one class only.
    """
    one = cells.y == 1
    if one.all() or not one.any():
        return np.full(len(leaves), np.nan)
    if cells.given_weight is None and len(leaves) < 1 << MOST_BITS:
        return _of_counted(cells, leaves)
    position = _positions(cells, leaves)
    placed = placements(cells.y, cells.centre, cells.weight)
    mass = np.where(one, cells.weight[one].sum(), cells.weight[~one].sum())
    return _sums(position, cells.weight * placed / mass / 2, len(leaves) + 1)[:-1]


def _of_counted(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Do so for rows that count once.

    Their scores are sorted with the positions of their leaves in place of the last bits, which
    is several times faster than finding their order. Scores that differ in these bits only,
    by less than one part in 10¹¹, count as equal.
    """
    bits, fast = len(leaves).bit_length(), use_compiled()
    ones, zeros = (_code_by_loop if fast else _code)(cells, leaves, bits)
    ones.sort()
    zeros.sort()
    found = (_merge if fast else _look_up)(ones, zeros, bits, len(leaves) + 1)
    return found[:-1] / (4 * ones.size * zeros.size)


def _positions(cells: Cells, leaves: Sequence[int]) -> Ints:
    """Return the position of each leaf; that of others comes last."""
    position = leaf_positions(cells.leaf, leaves)
    return np.where(position < 0, len(leaves), position)


def _code(cells: Cells, leaves: Sequence[int], bits: int) -> tuple[Ints, Ints]:
    """Write the scores of either class as whole numbers in their order, with their leaves."""
    codes = (cells.centre + 0.0).view(np.int64)  # zero has one sign only
    codes ^= (codes >> 63) & MAGNITUDE
    codes >>= bits
    codes <<= bits
    codes |= _positions(cells, leaves)
    one = cells.y == 1
    return codes[one], codes[~one]


def _code_by_loop(cells: Cells, leaves: Sequence[int], bits: int) -> tuple[Ints, Ints]:
    from hetcal.rank_kernels import code_classes

    many = np.count_nonzero(cells.y == 1)
    ones = np.empty(many + 1, dtype=np.int64)
    zeros = np.empty(cells.y.size - many + 1, dtype=np.int64)
    leaf, position = position_table(cells.leaf, leaves)
    other = len(leaves)
    code_classes(cells.centre.view(np.int64), cells.y, leaf, position, (bits, other), ones, zeros)
    return ones[:-1], zeros[:-1]


def _look_up(ones: Ints, zeros: Ints, bits: int, many: int) -> Floats:
    """Add two for every pair in order to the leaf of either row, and one for every tie."""
    below, not_above = count_below(ones >> bits, zeros >> bits)
    lost = counted_up(below, zeros.size) + counted_up(not_above, zeros.size)
    last = (1 << bits) - 1
    found = _sums(ones & last, below + not_above, many)
    return found + _sums(zeros & last, 2 * ones.size - lost, many)


def _merge(ones: Ints, zeros: Ints, bits: int, many: int) -> Floats:
    from hetcal.rank_kernels import pairs_by_leaf

    found = np.zeros(many, dtype=np.int64)
    pairs_by_leaf(ones, zeros, bits, found)
    return found.astype(np.float64)


def _sums(position: Ints, values: Floats | Ints, many: int) -> Floats:
    return np.bincount(position, values, many).astype(np.float64)
