"""The smaller trees inside a grown tree: cut at a depth, or pruned at the weakest links.

Both give nested trees. Each node has a key, and a node is split in the tree of a limit if
its key is above the limit; the key of a node is never above that of its parent.
"""

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.grown_tree import GrownTree


def parents(tree: GrownTree) -> Ints:
    """Return the parent of each node; -1 for the root."""
    parent = np.full(tree.feature.size, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    return parent


def depth_keys(tree: GrownTree) -> Floats:
    """Return keys for which a limit of `-depth` cuts the tree at that depth."""
    depth = np.zeros(tree.feature.size)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return np.where(tree.feature >= 0, -depth, -np.inf)


def weakest_links(tree: GrownTree, mass: Floats | None = None) -> Floats:
    """Return the complexity at which each node stops being split (Breiman et al., 1984).

    The cost of a tree is the Gini impurity of its leaves, by their share of the rows, plus
    the complexity times the number of leaves. As the complexity grows, one after another
    the node goes whose branch lowers the impurity least per leaf.

    Parameters
    ----------
    tree : GrownTree
        The tree.
    mass : array of float or None
        Weight of the training rows of each node; None means their number.

    Returns
    -------
    array of float
        One per node, minus infinity for leaves. A limit below prunes the tree.
    """
    mass = tree.rows.astype(np.float64) if mass is None else mass
    branches = _Branches(tree, mass / mass[0] * 2 * tree.rate * (1 - tree.rate))
    keys = np.full(tree.feature.size, -np.inf)
    complexity = 0.0
    while np.isfinite(branches.strength[0]):
        weakest = int(np.argmin(branches.strength))
        complexity = max(complexity, float(branches.strength[weakest]))
        keys[branches.prune(weakest)] = complexity
    return keys


class _Branches:
    """The branch below each node: its leaves, their cost, and what each of them gains."""

    def __init__(self, tree: GrownTree, cost: Floats) -> None:
        self.parent = parents(tree)
        inner = tree.feature >= 0
        self.cost, self.below = cost, np.where(inner, 0.0, cost)
        self.leaves = np.where(inner, 0, 1)
        for node in range(cost.size - 1, 0, -1):
            self.below[self.parent[node]] += self.below[node]
            self.leaves[self.parent[node]] += self.leaves[node]
        self.end = np.arange(cost.size) + 2 * self.leaves - 1  # where the nodes below it end
        self.strength = np.full(cost.size, np.inf)
        self.strength[inner] = (cost - self.below)[inner] / (self.leaves[inner] - 1)

    def prune(self, node: int) -> Ints:
        """Make a node a leaf; return the nodes that are no longer split."""
        branch = np.arange(node, self.end[node])
        gone = branch[np.isfinite(self.strength[branch])]
        self.strength[branch] = np.inf
        more, fewer = self.cost[node] - self.below[node], self.leaves[node] - 1
        while (node := int(self.parent[node])) >= 0:
            self.below[node] += more
            self.leaves[node] -= fewer
            self.strength[node] = (self.cost[node] - self.below[node]) / (self.leaves[node] - 1)
        return gone


def end_nodes(tree: GrownTree, keys: Floats, limits: Floats) -> Ints:
    """Return the leaf that the rows of each node end in, by limit and node."""
    parent = parents(tree)
    end = np.zeros((limits.size, keys.size), dtype=np.int64)
    for node in range(1, keys.size):
        end[:, node] = np.where(keys[parent[node]] > limits, node, end[:, parent[node]])
    return end


def subtree(tree: GrownTree, split: Bools) -> GrownTree:
    """Return the tree in which only the given nodes are split."""
    reached = np.zeros(split.size, dtype=np.bool_)
    reached[0] = True
    for node in np.flatnonzero(split):
        reached[[tree.left[node], tree.right[node]]] = reached[node]
    place, kept = np.cumsum(reached) - 1, split[reached]
    return GrownTree(
        np.where(kept, tree.feature[reached], -1),
        np.where(kept, tree.threshold[reached], np.nan),
        kept & tree.missing_left[reached],
        np.where(kept, place[tree.left[reached]], 0),
        np.where(kept, place[tree.right[reached]], 0),
        tree.rows[reached],
        tree.rate[reached],
        tree.gaps,
        None if tree.beside is None else np.where(kept[:, None], tree.beside[reached], np.nan),
    )
