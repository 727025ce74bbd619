"""Histogram binning: the rate of positives in bins of equal weight."""

from collections.abc import Sequence

import numpy as np
from scipy.special import logit

from hetcal.cells import Cells
from hetcal.map_shapes import Steps
from hetcal.score_blocks import ScoreBlocks

BINS = 15


def fit_histogram(cells: Cells, leaves: Sequence[int], bins: int = BINS) -> list[Steps | None]:
    """Fit the map of every leaf; None for a leaf without rows.

    No rate comes closer to 0 or 1 than half a row of its bin, for no rate is certain.
    """
    return [_steps(cells.inside(each), bins) for each in leaves]


def _steps(cells: Cells, bins: int) -> Steps | None:
    if not cells.score.size:
        return None
    blocks = ScoreBlocks.of(cells)
    bounds = blocks.bins(bins)
    weight, positives = blocks.sums(bounds)
    half = np.minimum(0.5 / weight, 0.5)
    rate = np.clip(positives / weight, half, 1 - half)
    return Steps(tuple(blocks.low[bounds[1:-1]].tolist()), tuple(logit(rate).tolist()))
