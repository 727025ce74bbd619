"""What a cut gains in AUC if both sides are calibrated: the criterion of the paper's appendix.

On either side the scores of a class are assumed to be normal. The logit of a side,
`log(p N(s; μ₁, v₁) / ((1 - p) N(s; μ₀, v₀)))`, is then quadratic in the score; its Platt map is
the line through its values at two points, here the two class means. Mapped scores of a
class are a mixture of two normals, so the AUC of both sides together is
`Σ w₁ᵢ w₀ⱼ Φ((m₁ᵢ - m₀ⱼ) / √(u₁ᵢ + u₀ⱼ))` over pairs of sides, with mapped means `m` and
variances `u`.

The paper weights a side by `p / (p + p')`; its mass belongs there, too: `w₁ᵢ` is the share of
the positive rows that side i has, `w₀ⱼ` that of the negative ones.

The gain is local: it counts pairs of rows of the node, since a node's pairs with other nodes
depend on how these are cut. It is the AUC of both sides minus that of the node with one normal
per class. An error of this approximation can look like a small gain; `AucGainPartition` tests
whether the maps of both sides differ at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import ndtr

from hetcal.arrays import Floats
from hetcal.partitions.instability import column_tests
from hetcal.partitions.scored import NodeMap, ScorePartition
from hetcal.trees.cuts import Cut
from hetcal.trees.score_sums import Rows, ScoreCodes, ValueTables
from hetcal.trees.score_tree import Judged, NodeSums, tests_at

SMALLEST = 1e-12  # variance of equal scores
MASS_IS_COUNT = (0, 0, 2, 3, 4, 4, 6, 7)  # without weights


class AucGain:
    """The gain as a criterion of cuts, for sums of `score_moments`."""

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return the gain of each cut."""
        total = total.reshape(*total.shape, *[1] * (left.ndim - 2))
        sides = np.stack([left, total - left], axis=2)
        mass, mean, variance = _moments(sides, total[:, :, None])
        share = mass / np.maximum(mass.sum(axis=1, keepdims=True), SMALLEST)
        slope, intercept = platt_line(mass, mean, variance)
        after = mixture_auc(share, slope * mean + intercept, slope**2 * variance)
        return after - _calibrated_auc(total)

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return the better end: a bin is looked into if it is next to the best cut."""
        return np.maximum(self.score(start, total), self.score(end, total))


def score_moments(codes: ScoreCodes) -> ValueTables:
    """Return what rows add up, by label: count, mass, score and squared score."""
    channels = np.ones_like(codes.score), np.ones_like(codes.score), codes.score, codes.score**2
    sides = 1 - codes.label, codes.label
    table = np.stack([channel * side for side in sides for channel in channels], axis=-1)
    return ValueTables(codes, (table,), MASS_IS_COUNT)


def _calibrated_auc(total: Floats) -> Floats:
    """Return the AUC of a node that is not cut; its map may turn the order of scores round."""
    _, mean, variance = _moments(total, total)
    auc: Floats = ndtr(np.abs(mean[1] - mean[0]) / np.sqrt(variance[0] + variance[1]))
    return auc


def _moments(sums: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mass, mean and variance by label, shrunk towards those of the node by one row."""
    _, one, score, squared = total / np.maximum(total[0], 1.0)
    own = np.maximum(sums[1], 0.0)
    mass = np.maximum(own + one, SMALLEST)
    mean, square = (sums[2] + score) / mass, (sums[3] + squared) / mass
    return own, mean, np.maximum(square - mean**2, SMALLEST)


def platt_line(mass: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return slope and intercept of the line through the logit at the class means.

    Arrays are 2 x ...: of the normals of class 0 and class 1.
    """
    apart = mean[1] - mean[0]
    even = np.log((mass[1] + 0.5) / (mass[0] + 0.5)) + 0.5 * np.log(variance[0] / variance[1])
    slope = apart / 2 * (1 / variance[0] + 1 / variance[1])
    return slope, even + apart**2 / 2 / variance[0] - slope * mean[1]


def mixture_auc(share: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the AUC where each class is a mixture of normals.

    Arrays are 2 x parts x ...: of class 0 and class 1; the shares of a class add up to 1.
    """
    apart = mean[1][:, None] - mean[0][None]
    spread = np.sqrt(variance[1][:, None] + variance[0][None])
    ordered = ndtr(apart / np.maximum(spread, SMALLEST))
    found: Floats = (share[1][:, None] * share[0][None] * ordered).sum(axis=(0, 1))
    return found


class AucGainPartition(ScorePartition):
    """Partition the feature space where it raises the AUC most, after the paper's appendix.

    A cut is judged by the AUC of the node's rows after calibrating both sides, see
    `auc_gain`. The AUC can gain only where both sides need different maps, but on the
    rows that the tree is grown on every cut seems to gain a little. So a feature is cut only
    if the test of `InstabilityPartition` rejects a single map along it; features are tested
    in the order of their gains, with p-values corrected as there.

    Missing values and rare categories are treated as in `TreePartition`.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest rows of a leaf; None means `default_min_leaf`.
    alpha : float, default=0.05
        Highest corrected p-value of a cut.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    """

    @property
    def gains_(self) -> pd.DataFrame:
        """The features that were tested, node by node.

        Columns: `node` (position in the partition), `feature` (name), `gain` (of AUC in the
        node, between bins), `p` (corrected), `chosen` (the node is cut there).
        """
        return self._judged.rename(columns={"statistic": "gain"})

    def _chooser(self, codes: ScoreCodes) -> "GainChooser":
        return GainChooser(codes, self.alpha)


@dataclass(eq=False)
class GainChooser:
    """Cuts where the AUC gains most, among features along which the map differs significantly."""

    codes: ScoreCodes
    alpha: float
    judged: list[Judged] = field(default_factory=list)
    same_sums: bool = True

    def __post_init__(self) -> None:
        self._moments = score_moments(self.codes)

    def values(self, rows: Rows) -> ValueTables | None:
        """Return the moments of scores by label."""
        return self._moments

    def choose(self, position: int, depth: int, node: NodeSums) -> Cut | None:
        """Look for the largest gain that is significant."""
        gains = node.best_scores(AucGain())
        for column, feature, p in self._candidates(depth, node, gains):
            cut = node.cut(AucGain(), feature) if p < self.alpha else None
            found = feature, float(gains[column]), p
            self.judged.append(Judged(position, *found, cut is not None))
            if cut is not None:
                return cut
        return None

    def _candidates(
        self, depth: int, node: NodeSums, gains: Floats
    ) -> Iterator[tuple[int, int, float]]:
        """Yield column, feature and corrected p-value, the largest gain first.

        It is mostly significant, so its column is tested alone, and the others only if it fails.
        """
        order = list(_by_gain(gains, node))
        fitted = NodeMap.of_rows(self.codes, node.rows) if order else None
        if fitted is None:
            return
        gradients = fitted.tables()
        column, feature = order[0]
        features = np.unique(node.columns.source[gains > -np.inf]).size
        alone = NodeSums.of_rows(node.columns.select(column), node.rows, gradients, node.min_rows)
        yield column, feature, float(column_tests(alone, features * tests_at(depth))[1][0])
        if len(order) > 1:
            node = NodeSums.of_rows(node.columns, node.rows, gradients, node.min_rows)
            _, p = column_tests(node, tests_at(depth))
            yield from ((column, feature, float(p[column])) for column, feature in order[1:])


def _by_gain(gains: Floats, node: NodeSums) -> Iterator[tuple[int, int]]:
    """Yield column and feature of each gain above 0, the largest first; features once."""
    done = set()
    for column in np.argsort(-gains, kind="stable").tolist():
        feature = int(node.columns.source[column])
        if gains[column] > 0 and feature not in done:
            done.add(feature)
            yield column, feature
