"""Does the Platt map of a node differ along a column? One test per column.

Numbers: the largest score test over all cuts. Along a column that does not matter the
statistic of a cut is chi-square, and neighbouring cuts depend on each other like a squared
Bessel bridge. The lower of two bounds on the p-value of the largest one is taken: the number of
cuts times the p-value of a single one (Bonferroni), which is exact for one cut; and
Vostrikova's approximation for cuts that are dense.

Categories: a score test of one map per category against a single one, which does not depend
on the order of the categories. Those with little spread share one map.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from hetcal.arrays import Floats, Ints
from hetcal.partitions.scored import (
    FEWEST,
    MapDifference,
    NodeMap,
    ScorePartition,
    parts_statistic,
)
from hetcal.trees.cuts import Cut, Judge, Runs
from hetcal.trees.score_sums import Rows, ScoreCodes, ValueTables
from hetcal.trees.score_tree import Judged, NodeSums, tests_at


def column_tests(node: NodeSums, others: int = 1) -> tuple[Floats, Floats]:
    """Return statistic and p-value of every column of a node with the sums of `NodeMap.tables`.

    P-values are corrected for the number of features that can be cut, times `others`. Where no
    cut is allowed, the statistic is minus infinity and the p-value 1.
    """
    columns = node.columns
    statistic, p = _largest(node.runs, node.judge(MapDifference()), columns.source.size)
    allowed = statistic > -np.inf
    for j in np.flatnonzero((columns.levels > 0) & allowed):
        statistic[j], p[j] = _categories(node.sums[:, :, j], int(columns.levels[j]))
    many = others * np.unique(columns.source[allowed]).size
    return statistic, np.where(allowed, np.minimum(many * p, 1.0), 1.0)


def _largest(runs: Runs, judge: Judge, columns: int) -> tuple[Floats, Floats]:
    """Return the largest statistic of each column and its p-value."""
    known = judge.total[..., None] - judge.missing
    apart = np.where(judge.has_missing, judge.score(known), -np.inf)
    statistic = apart.copy()
    found = [(judge.between(runs, side), side) for side in judge.sides]
    for score, _ in found:
        np.maximum.at(statistic, runs.feature, score)
    allowed = statistic > -np.inf
    largest = np.where(allowed, statistic, 0.0)
    p = np.where(apart > -np.inf, chdtrc(2, np.maximum(largest, 0.0)), 0.0)
    for score, side in found:
        here = score > -np.inf
        feature = runs.feature[here]
        share = judge.left(runs, runs.end, side)[0].sum(axis=0)[here] / judge.total[0].sum()
        low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
        np.minimum.at(low, feature, share)
        np.maximum.at(high, feature, share)
        p += largest_p_value(largest, np.bincount(feature, minlength=columns), low, high)
    return statistic, np.where(allowed, np.minimum(p, 1.0), 1.0)


def largest_p_value(statistic: Floats, cuts: Ints, low: Floats, high: Floats) -> Floats:
    """Bound the p-value of the largest of some chi-squares with two degrees of freedom.

    There are `cuts` of them, possibly none, which have a share from `low` to `high` of the rows
    on the left.

    Notes
    -----
    For dense cuts from share `l` to share `h`, with `T = log(h (1 - l) / (l (1 - h)))`, the
    probability to exceed `x` is `exp(-x/2) (T (x/2 - 1) + 2)` but for terms of order `1/x²`
    (Vostrikova 1981; Csörgő and Horváth 1997, 1.3.26). Below the `x` at which that formula is
    largest it does not apply, and 1 is taken.
    """
    some = cuts > 0
    low, high = np.where(some, low, 0.5), np.where(some, high, 0.5)
    reach = np.log(high * (1 - low) / (low * (1 - high)))
    single = np.exp(-statistic / 2)
    dense = np.minimum(single * (reach * (statistic / 2 - 1) + 2), 1.0)
    means = statistic * reach > 4 * reach - 4
    return np.where(some, np.minimum(cuts * single, np.where(means, dense, 1.0)), 0.0)


def _categories(sums: Floats, levels: int) -> tuple[float, float]:
    """Return statistic and p-value of one map per category; missing values are one, too.

    Categories beyond the number of bins share bins, but count, so that the p-value is not too
    small.
    """
    shared = max(0, levels - (sums.shape[-1] - 2))
    sums = sums[..., sums[0].any(axis=0)]
    few = sums[3, 1] < FEWEST
    if few.any():
        rest = sums[..., few].sum(axis=-1, keepdims=True)
        sums = np.concatenate([sums[..., ~few], rest], axis=-1)
    degrees = 2 * (sums.shape[-1] - 1 + shared)
    statistic = parts_statistic(sums)
    return statistic, float(chdtrc(degrees, max(statistic, 0.0))) if degrees else 1.0


class InstabilityPartition(ScorePartition):
    """Partition the feature space where the Platt map of the score differs, by tests.

    In each node a single map is fitted and every feature is tested: is the map the same all
    along it? The feature with the lowest p-value is cut where two maps raise the likelihood
    most (Zeileis, Hothorn and Hornik: model-based recursive partitioning). P-values are
    corrected for the number of features, and for the number of nodes: half of `alpha` is
    for the root, a quarter for its two children, and so on. So the probability of any cut
    where nothing differs is at most `alpha` for the whole tree.

    Missing values and rare categories are treated as in `TreePartition`.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest rows of a leaf; None means `default_min_leaf`.
    alpha : float, default=0.05
        A node is cut if its lowest corrected p-value is below.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    """

    @property
    def tests_(self) -> pd.DataFrame:
        """All tests.

        Columns: `node` (position in the partition), `feature` (name), `statistic`
        (chi-square: the largest over cuts for numbers, that of all categories for
        categories), `p` (corrected), `chosen` (the node is cut there).
        """
        return self._judged

    def _chooser(self, codes: ScoreCodes) -> "InstabilityChooser":
        return InstabilityChooser(codes, self.alpha)


@dataclass(eq=False)
class InstabilityChooser:
    """Cuts the feature with the lowest p-value, where the map differs most."""

    codes: ScoreCodes
    alpha: float
    judged: list[Judged] = field(default_factory=list)
    same_sums: bool = False

    def values(self, rows: Rows) -> ValueTables | None:
        """Return the gradients of the node's own map."""
        fitted = NodeMap.of_rows(self.codes, rows)
        return None if fitted is None else fitted.tables()

    def choose(self, position: int, depth: int, node: NodeSums) -> Cut | None:
        """Test all features."""
        source = node.columns.source
        statistic, p = column_tests(node, tests_at(depth))
        feature = int(source[np.lexsort((-statistic, p))[0]])
        cut = node.cut(MapDifference(), feature) if p.min() < self.alpha else None
        for each, column in zip(*np.unique(source, return_index=True), strict=True):
            if statistic[column] > -np.inf:
                found = float(statistic[column]), float(p[column])
                chosen = cut is not None and each == feature
                self.judged.append(Judged(position, int(each), *found, chosen))
        return cut
