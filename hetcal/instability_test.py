"""Does the Platt map of a node differ along a column? One test per column.

Numbers: the largest score test over all cuts. Along a column that does not matter the
statistic of a cut is chi-square, and neighbouring cuts depend on each other like a squared
Bessel bridge. Two bounds on the chance of its largest value are known, and the lower one is
taken: the number of cuts times the chance of a single one (Bonferroni), which is exact for
one cut; and Vostrikova's approximation for cuts that are dense.

Categories: a score test of one map per category against a single one, which does not depend
on the order of the categories. Those with little spread share one map.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from hetcal.arrays import Bools, Floats, Ints
from hetcal.map_difference import FEWEST, MapDifference, parts_statistic
from hetcal.runs import Judge, Runs
from hetcal.score_tree import NodeSums


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """The tests of a node, one per column.

    Parameters
    ----------
    feature : array of int
        The feature of the column.
    statistic : array of float
        The statistic; minus infinity where no cut is allowed.
    p : array of float
        The chance of such a statistic if the map is the same everywhere, corrected for
        the number of features that can be cut; 1 where no cut is allowed.
    """

    feature: Ints
    statistic: Floats
    p: Floats


def column_tests(node: NodeSums, others: int = 1) -> ColumnTests:
    """Test every column of a node.

    Parameters
    ----------
    node : NodeSums
        The node, with the sums of `NodeMap.tables`.
    others : int
        For how many tests per feature chances are corrected.
    """
    columns = node.columns
    statistic, p = _largest(node.runs, node.judge(MapDifference()), columns.source.size)
    allowed = statistic > -np.inf
    for j in np.flatnonzero((columns.levels > 0) & allowed):
        statistic[j], p[j] = _categories(node.sums[:, :, j], int(columns.levels[j]))
    many = others * np.unique(columns.source[allowed]).size
    return ColumnTests(columns.source, statistic, np.where(allowed, np.minimum(many * p, 1.0), 1.0))


def _largest(runs: Runs, judge: Judge, columns: int) -> tuple[Floats, Floats]:
    """Return the largest statistic of each column and its chance."""
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
        rows = judge.left(runs, runs.end, side)[0].sum(axis=0)
        cuts, low, high = _reach(runs.feature, score > -np.inf, rows, columns)
        share = np.stack([low, high]) / judge.total[0].sum()
        p += largest_chance(largest, cuts, *share)
    return statistic, np.where(allowed, np.minimum(p, 1.0), 1.0)


def _reach(
    feature: Ints, allowed: Bools, rows: Floats, columns: int
) -> tuple[Ints, Floats, Floats]:
    """Return the number of cuts of each column, and the rows left of the first and the last."""
    cuts = np.bincount(feature[allowed], minlength=columns)
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    np.minimum.at(low, feature[allowed], rows[allowed])
    np.maximum.at(high, feature[allowed], rows[allowed])
    return cuts, low, high


def largest_chance(statistic: Floats, cuts: Ints, low: Floats, high: Floats) -> Floats:
    """Bound the chance that the largest of some chi-squares with two degrees exceeds a value.

    Parameters
    ----------
    statistic : array of float
        The values.
    cuts : array of int
        Number of cuts; 0 gives chance 0.
    low, high : arrays of float
        Share of rows left of the first and of the last cut.

    Notes
    -----
    For dense cuts from share `l` to share `h`, with `T = log(h (1 - l) / (l (1 - h)))`, the
    chance to exceed `x` is `exp(-x/2) (T (x/2 - 1) + 2)` but for terms of order `1/x²`
    (Vostrikova 1981; Csörgő and Horváth 1997, 1.3.26). Below the largest value of
    that formula it means nothing, and 1 is taken.
    """
    some = cuts > 0
    low, high = np.where(some, low, 0.5), np.where(some, high, 0.5)
    reach = np.log(high * (1 - low) / (low * (1 - high)))
    single = np.exp(-statistic / 2)
    dense = np.minimum(single * (reach * (statistic / 2 - 1) + 2), 1.0)
    means = statistic * reach > 4 * reach - 4
    return np.where(some, np.minimum(cuts * single, np.where(means, dense, 1.0)), 0.0)


def _categories(sums: Floats, levels: int) -> tuple[float, float]:
    """Return statistic and chance of one map per category; missing values are one, too.

    Categories in excess of the bins share bins, but count, so that the chance is not too small.
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
