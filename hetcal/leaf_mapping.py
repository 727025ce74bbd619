"""Scores through the maps of many leaves."""

from collections.abc import Iterator, Sequence

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.leaf_ids import leaf_positions
from hetcal.leaf_map import LeafMap, map_leaves
from hetcal.map_shapes import Affine


def are_straight(maps: Sequence[LeafMap]) -> bool:
    """Tell whether every map is a straight line of the logit."""
    return all(isinstance(each.shape, Affine) for each in maps)


def map_scores(maps: Sequence[LeafMap], pooled: LeafMap, scores: Floats, leaf: Ints) -> Floats:
    """Return calibrated logits; NaN where a score is not finite.

    A leaf that is not known has the pooled map.
    """
    every = (*maps, pooled)  # position -1 is that of an unknown leaf
    position = leaf_positions(np.asarray(leaf), [each.leaf for each in maps])
    if are_straight(every):
        slope, intercept = (
            np.array([getattr(each, name) for each in every]) for name in ("slope", "intercept")
        )
        return map_leaves(scores, position, slope, intercept)
    scores, found = np.asarray(scores, dtype=np.float64), np.empty(len(position))
    for each, rows in _rows_of_maps(position, every):
        found[rows] = each.logit(scores[rows])
    return found


def _rows_of_maps(position: Ints, maps: Sequence[LeafMap]) -> Iterator[tuple[LeafMap, Ints]]:
    """Yield every map that is used, with the numbers of its rows; the last has position -1."""
    position = position % len(maps)
    order = np.argsort(position, kind="stable")
    bounds = np.searchsorted(position[order], np.arange(len(maps) + 1))
    for each, start, end in zip(maps, bounds[:-1], bounds[1:], strict=True):
        if start < end:
            yield each, order[start:end]
