"""Tell whether arrays form the trees that they claim to be."""

from typing import TYPE_CHECKING

import numpy as np

from hetcal.arrays import Bools, Ints
from hetcal.nodes import MAX_LEAVES, broken

if TYPE_CHECKING:
    from hetcal.tree_ensemble import TreeEnsemble

MAX_TREES = 20_000
MAX_NODES = 4_000_000


def check_ensemble(trees: "TreeEnsemble") -> None:
    """Raise `PartitionError` unless the nodes form trees over the columns."""
    nodes = trees.feature.size
    if not 1 <= trees.trees <= MAX_TREES or nodes > MAX_NODES:
        raise broken(f"it has {trees.trees:,} trees with {nodes:,} nodes")
    arrays = trees.threshold, trees.missing_left, trees.right
    if any(each.size != nodes for each in arrays) or trees.sizes.sum() != nodes:
        raise broken("its lists do not have one entry for each node")
    if (trees.sizes < 1).any() or (trees.sizes > 2 * MAX_LEAVES).any():
        raise broken("a tree has no nodes or too many")
    if (trees.feature < -1).any() or (trees.feature >= len(trees.columns.features)).any():
        raise broken("a node splits on a column that is not listed")
    if np.isnan(trees.threshold).any() or (trees.threshold == -np.inf).any():
        raise broken("a threshold is not a number")
    inner = trees.feature >= 0
    if (np.isposinf(trees.threshold) & inner & trees.missing_left).any():
        raise broken("a node sends every row left")
    for start, size in zip(trees.starts.tolist(), trees.sizes.tolist(), strict=True):
        _check_order(inner[start : start + size], trees.right[start : start + size])


def _check_order(inner: Bools, right: Ints) -> None:
    """Check that each right part begins where the left part ends."""
    waiting: list[int] = []
    for position, (splits, other) in enumerate(zip(inner.tolist(), right.tolist(), strict=True)):
        if splits:
            waiting.append(other)
        elif other != 0:
            raise broken("a leaf has a child")
        elif position + 1 < inner.size and (not waiting or waiting.pop() != position + 1):
            raise broken("a node has no parent or several")
    if waiting:
        raise broken("a node has no right part")
