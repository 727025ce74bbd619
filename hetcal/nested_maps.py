"""Nested calibration: the maps of one partition after those of another, as in the appendix."""

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.shrunken_maps import ShrunkenMaps, fit_shrunken_maps
from hetcal.tree_ensemble import TreeEnsemble


def fit_nested_maps(
    logits: Floats,
    y: Ints,
    trees: TreeEnsemble,
    leaf: NDArray[np.integer],
    penalty: float,
    weight: Floats | None = None,
) -> ShrunkenMaps:
    """Fit the maps of the first tree, then those of the second on what the first gave, ….

    Parameters
    ----------
    logits : array of float
        Finite logits, calibrated for all rows together.
    y : array of int
        Labels 0 and 1.
    trees : TreeEnsemble
        The sequence of partitions.
    leaf : array of int
        Leaf numbers, rows by trees.
    penalty : float
        How strongly every map is drawn towards doing nothing, in rows.
    weight : array of float, optional
        Importance weights.
    """
    slope, intercept = np.ones(trees.leaves), np.zeros(trees.leaves)
    ends = np.append(trees.leaf_starts, trees.leaves)
    for tree, inside in enumerate(leaf.T):
        begin, end = ends[tree], ends[tree + 1]
        own = (inside - begin)[:, None]
        maps = fit_shrunken_maps(logits, y, own, int(end - begin), penalty, weight)
        slope[begin:end], intercept[begin:end] = maps.slope, maps.intercept
        logits = maps.mean_logit(logits, own)
    return ShrunkenMaps(slope, intercept)
