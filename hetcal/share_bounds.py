"""How far the leaves' shares of the lift, computed from cells, are off at most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats
from hetcal.cells import Cells
from hetcal.leaf_ids import leaf_positions
from hetcal.rank_bounds import placement_bounds, rank_cells


def share_bounds(before: Cells, after: Cells, leaves: Sequence[int]) -> Floats:
    """Bound the error of the contribution of each leaf; 0 with one class only.

    A leaf has half of every pair with one row in it. What it has of the AUC is therefore half
    the sum of the placements of its rows, of either class, and these have bounds.

    Parameters
    ----------
    before, after : Cells
        The same cells with the scores before and after.
    leaves : sequence of int
        The leaves.
    """
    was, now = (each.once(_Slack(tuple(leaves))) for each in (before, after))
    return np.maximum(now[0] + was[1], now[1] + was[0])


@dataclass(frozen=True)
class _Slack:
    """The question how far the AUC of each leaf may rise, and how far it may fall."""

    leaves: tuple[int, ...]

    def __call__(self, cells: Cells) -> Floats:
        slack = np.zeros((2, len(self.leaves)))
        positive = cells.y == 1
        masses = [cells.weight[side].sum() for side in (~positive, positive)]
        if not all(masses) or np.array_equal(cells.low, cells.high):
            return slack
        placed = cells.once(rank_cells).placed
        least, most = placement_bounds(cells)
        part = cells.weight / np.where(positive, masses[1], masses[0]) / 2
        position = leaf_positions(cells.leaf, self.leaves)
        there = position >= 0
        for into, free in zip(slack, (most - placed, placed - least), strict=True):
            into += np.bincount(position[there], (part * free)[there], len(self.leaves))
        return slack
