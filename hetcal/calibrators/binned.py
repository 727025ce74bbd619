"""Non-parametric maps of one leaf: isotonic regression, histograms, BBQ and scaling-binning."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, gammaln, logit

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.newton import TINY
from hetcal.calibrators.shapes import Affine, Knots, Steps
from hetcal.cells.cells import Cells

BINS = 15  # of a histogram
PRIOR_ROWS = 2.0  # rows that the prior of a histogram counts for, shared by its bins
RANGE = 10.0  # histograms have from ∛n / 10 to 10 ∛n bins
FEWEST_ROWS = 5  # in a bin, on average
NEGLIGIBLE = 1e-6  # share of the posterior that may be left out
NEAREST = 1e-9  # how close a prior probability comes to 0 or 1
FEWER_BINS = 10  # of scaling-binning
FARTHEST = 700.0  # logits beyond have a probability of 0 or 1


@dataclass(frozen=True, eq=False)
class ScoreBlocks:
    """Score intervals that cells cover: of rows, their distinct scores.

    Weights are scaled to the effective number of rows.
    """

    low: Floats  # lowest score of each block, rising
    weight: Floats
    positives: Floats  # weight of label 1
    below_last: Floats  # weight below the last cell of a block; the heaviest row comes last

    @classmethod
    def of(cls, cells: Cells) -> "ScoreBlocks":
        """Put cells in order."""
        # How rows with equal scores are ordered must not decide where a bin starts.
        order = np.lexsort((() if cells.counted else (cells.weight,)) + (cells.low,))
        low, high = cells.low[order], np.maximum.accumulate(cells.high[order])
        fresh = np.append(True, low[1:] > high[:-1])[: low.size]
        first = np.flatnonzero(fresh)
        unit = 1.0 if cells.counted else cells.weight.sum() / max(cells.squares.sum(), TINY)
        weight = cells.weight[order] * unit
        ones = weight * (cells.y[order] == 1)
        masses = _sums((weight, ones), first)
        last = np.append(first[1:], low.size) - 1
        return cls(low[first], *masses, np.cumsum(masses[0]) - weight[last])

    def bins(self, count: int) -> Ints:
        """Return the first block of each bin, and the number of blocks after the last.

        The bins are those of `hetcal.metrics.metrics.equal_mass_bins`; there are fewer where many
        rows share a score.
        """
        levels = np.arange(1, count) * (self.weight.sum() / count)
        found = np.searchsorted(self.below_last, levels, "left")
        first = np.unique(np.minimum(found, self.low.size - 1))
        return np.concatenate([[0], first[first > 0], [self.low.size]])

    def sums(self, bounds: Ints) -> tuple[Floats, Floats]:
        """Return the weight of each bin, and that of label 1.

        They are added up bin by bin: a difference of sums would lose light rows next to heavy
        ones.
        """
        return _sums((self.weight, self.positives), bounds[:-1])


def _sums(values: tuple[Floats, Floats], starts: Ints) -> tuple[Floats, Floats]:
    one, other = (np.add.reduceat(each, starts) for each in values)
    return one, other


def fit_isotonic(cells: Cells) -> Knots:
    """Fit isotonic regression as scikit-learn does.

    The points are the centres of the cells, which both labels of a bin share. No probability
    comes closer to 0 or 1 than half a row, so that no log-loss is infinite.
    """
    score, place = np.unique(cells.centre, return_inverse=True)
    weight = np.bincount(place, cells.weight)
    rate = np.bincount(place, cells.weight * (cells.y == 1)) / weight
    level = isotonic_regression(rate, weights=weight).x
    effective = cells.weight.sum() ** 2 / max(cells.squares.sum(), TINY)
    rows = float(cells.rows.sum()) if cells.counted else effective
    half = min(0.5 / rows, 0.5)
    level = level.clip(half, 1 - half)
    corner = np.ones(score.size, dtype=np.bool_)  # where the map changes
    corner[1:-1] = (level[1:-1] != level[:-2]) | (level[1:-1] != level[2:])
    return Knots(tuple(score[corner].tolist()), tuple(level[corner].tolist()))


def fit_histogram(cells: Cells, bins: int = BINS) -> Steps:
    """Fit the rate of every bin, no closer to 0 or 1 than half a row of the bin."""
    blocks = ScoreBlocks.of(cells)
    bounds = blocks.bins(bins)
    weight, positives = blocks.sums(bounds)
    half = np.minimum(0.5 / weight, 0.5)
    rate = np.clip(positives / weight, half, 1 - half)
    return Steps(tuple(blocks.low[bounds[1:-1]].tolist()), tuple(logit(rate).tolist()))


def fit_bbq(cells: Cells) -> Steps:
    """Fit Bayesian binning into quantiles.

    The histograms of equal weight with all sensible numbers of bins are averaged by their
    posterior. The prior of the rate in a bin is a beta distribution about the score in the
    middle of the bin, so that no rate is 0 or 1.
    """
    blocks = ScoreBlocks.of(cells)
    models = [blocks.bins(count) for count in _counts(blocks.weight.sum())]
    scores = np.array([log_score(blocks, each) for each in models])
    likelihood = np.exp(scores - scores.max())
    posterior = likelihood / likelihood.sum()
    order = np.argsort(-posterior, kind="stable")
    kept = order[: np.searchsorted(np.cumsum(posterior[order]), 1 - NEGLIGIBLE) + 1]
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
    """Return the prior number of rows of label 1 and of label 0 in each bin."""
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


def bin_platt(platt: Affine, cells: Cells, bins: int = FEWER_BINS) -> Steps:
    """Average the probabilities of a Platt map in every bin.

    Means of fitted probabilities vary less than rates of labels do, and a map with few values
    can be checked value by value.
    """
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
