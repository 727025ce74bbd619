"""Bayesian binning into quantiles (Naeini, Cooper, Hauskrecht): an average of histograms."""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, gammaln, logit

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.map_shapes import Steps
from hetcal.score_blocks import ScoreBlocks

PRIOR_ROWS = 2.0  # what the prior of a histogram is worth, shared by its bins
RANGE = 10.0  # histograms have from ∛n / 10 to 10 ∛n bins
FEWEST_ROWS = 5  # in a bin, on average
NEGLIGIBLE = 1e-6  # share of the posterior that may be left out
NEAREST = 1e-9  # how close a prior probability comes to 0 or 1


def fit_bbq(cells: Cells, leaves: Sequence[int]) -> list[Steps | None]:
    """Fit the map of every leaf; None for a leaf without rows.

    The histograms of equal weight with all sensible numbers of bins are averaged by their
    posterior. In every bin the labels are drawn with a rate whose prior is a beta
    distribution about the score in the middle of the bin, so that no rate is 0 or 1.
    """
    return [_average(cells.inside(each)) for each in leaves]


def _average(cells: Cells) -> Steps | None:
    if not cells.score.size:
        return None
    blocks = ScoreBlocks.of(cells)
    models = [blocks.bins(count) for count in _counts(blocks.weight.sum())]
    posterior = _normalised(np.array([log_score(blocks, each) for each in models]))
    kept = _weightiest(posterior)
    rate, share = np.zeros(blocks.low.size), posterior[kept] / posterior[kept].sum()
    for which, weight in zip(kept, share, strict=True):
        rate += weight * np.repeat(_rates(blocks, models[which]), np.diff(models[which]))
    fresh = np.append(True, rate[1:] != rate[:-1])
    return Steps(tuple(blocks.low[fresh][1:].tolist()), tuple(logit(rate[fresh]).tolist()))


def log_score(blocks: ScoreBlocks, bounds: Ints) -> float:
    """Return the log-likelihood of the labels under one histogram, over all rates (BDeu)."""
    alpha, beta = _prior(blocks, bounds)
    ones, zeros = _labels(blocks, bounds)
    parts = (
        gammaln(alpha + beta) - gammaln(alpha + beta + ones + zeros),
        gammaln(ones + alpha) - gammaln(alpha),
        gammaln(zeros + beta) - gammaln(beta),
    )
    return float(sum(each.sum() for each in parts))


def _counts(rows: float) -> range:
    root = np.cbrt(rows)
    most = min(np.ceil(rows / FEWEST_ROWS), np.ceil(RANGE * root))
    fewest = min(max(1.0, np.floor(root / RANGE)), most)
    return range(int(fewest), int(most) + 1)


def _prior(blocks: ScoreBlocks, bounds: Ints) -> tuple[Floats, Floats]:
    """Return what each bin holds of either label before any row is seen."""
    edges = np.concatenate([[0.0], expit(blocks.low[bounds[1:-1]]), [1.0]])
    middle = ((edges[1:] + edges[:-1]) / 2).clip(NEAREST, 1 - NEAREST)
    share = PRIOR_ROWS / middle.size
    return share * middle, share * (1 - middle)


def _labels(blocks: ScoreBlocks, bounds: Ints) -> tuple[Floats, Floats]:
    weight, ones = blocks.sums(bounds)
    return ones, np.maximum(weight - ones, 0.0)


def _rates(blocks: ScoreBlocks, bounds: Ints) -> Floats:
    (alpha, beta), (ones, zeros) = _prior(blocks, bounds), _labels(blocks, bounds)
    return (alpha + ones) / (alpha + beta + ones + zeros)


def _normalised(scores: Floats) -> Floats:
    likelihood = np.exp(scores - scores.max())
    return likelihood / likelihood.sum()


def _weightiest(posterior: Floats) -> Ints:
    """Return the fewest histograms that hold all but a negligible part."""
    order = np.argsort(-posterior, kind="stable")
    needed = np.searchsorted(np.cumsum(posterior[order]), 1 - NEGLIGIBLE) + 1
    return order[:needed]
