"""Scaling-binning (Kumar, Liang, Ma): Platt scaling, levelled in bins of equal weight."""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit

from hetcal.cells import Cells
from hetcal.map_shapes import Affine, Steps
from hetcal.score_blocks import ScoreBlocks

BINS = 10
FARTHEST = 700.0  # logits beyond have a probability of 0 or 1


def level(
    platt: Sequence[Affine | None], cells: Cells, leaves: Sequence[int], bins: int = BINS
) -> list[Steps | None]:
    """Give every bin of a leaf the mean probability that the leaf's Platt map gives its rows.

    Means of fitted probabilities vary less than rates of labels do, and a map with few levels
    can be checked level by level.

    Parameters
    ----------
    platt : sequence of Affine or None
        The map of each leaf; None gives None.
    cells : Cells
        Raw scores.
    leaves : sequence of int
        Ids of the leaves.
    bins : int
        How many there are at most.
    """
    return [
        None if each is None else _steps(each, cells.inside(leaf), bins)
        for each, leaf in zip(platt, leaves, strict=True)
    ]


def _steps(platt: Affine, cells: Cells, bins: int) -> Steps:
    blocks = ScoreBlocks.of(cells)
    bounds = blocks.bins(bins)
    edges = blocks.low[bounds[1:-1]]
    bin_of = np.searchsorted(edges, cells.low, "right")
    weight = np.bincount(bin_of, cells.weight)
    # A probability that rounds to 0 or 1 has no logit, so means are of the nearer side.
    low, high = (
        np.bincount(bin_of, cells.weight * expit(side * platt.logit(cells.score))) / weight
        for side in (1, -1)
    )
    with np.errstate(divide="ignore"):
        logits = np.where(low < high, logit(low), -logit(high)).clip(-FARTHEST, FARTHEST)
    return Steps(tuple(edges.tolist()), tuple(logits.tolist()))
