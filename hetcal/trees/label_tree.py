"""A decision tree grown from histograms that equals scikit-learn's, split for split.

Every column is put into bins of many parts. A node adds up its rows per part, judges the cuts
between bins, and looks only into the bins, then into the parts, that could hold a better cut.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints
from hetcal.compiled import use_compiled
from hetcal.trees.bins import BinnedRows, Matrix, bins_for, choose_bins, column_by_column
from hetcal.trees.cuts import Cut, Gini, Judge, RowMagnifier, Runs, Search, best_cuts, search_cut
from hetcal.trees.passes import REFERENCE, Passes, bin_rows, compiled_passes


@dataclass(frozen=True, eq=False)
class RankSets:
    """Nodes that cut a column of categories by a set of ranks: they go left, all others right."""

    node: Ints  # their positions, ascending
    size: Ints  # ranks of each set
    rank: Ints  # set after set, ascending in each

    @classmethod
    def of(cls, sets: Mapping[int, Sequence[int]]) -> Self:
        """Take the ranks of each node."""
        ranks = [sorted(sets[node]) for node in sorted(sets)]
        return cls(
            np.array(sorted(sets), dtype=np.int64),
            np.array([len(each) for each in ranks], dtype=np.int64),
            np.array([rank for each in ranks for rank in each], dtype=np.int64),
        )

    @classmethod
    def joined(cls, sets: Sequence[Self], starts: Ints) -> Self:
        """Put the nodes of trees, whose first positions are `starts`, one after the other."""
        none = np.empty(0, dtype=np.int64)
        moved = (each.node + start for each, start in zip(sets, starts, strict=True))
        return cls(
            np.concatenate([none, *moved]),
            np.concatenate([none, *(each.size for each in sets)]),
            np.concatenate([none, *(each.rank for each in sets)]),
        )

    def inside(self, first: int, last: int) -> "RankSets":
        """Return the sets of the nodes from `first` to before `last`, counted from `first`."""
        begin, end = np.searchsorted(self.node, [first, last]).tolist()
        ends = np.concatenate([[0], np.cumsum(self.size)])
        rank = self.rank[ends[begin] : ends[end]]
        return RankSets(self.node[begin:end] - first, self.size[begin:end], rank)

    def by_node(self) -> dict[int, list[int]]:
        """Return the ranks of each node."""
        ranks = np.split(self.rank, np.cumsum(self.size)[:-1]) if self.node.size else []
        pairs = zip(self.node.tolist(), ranks, strict=True)
        return {node: each.tolist() for node, each in pairs}


NO_SETS = RankSets.of({})


@dataclass(frozen=True)
class GrownTree:
    """The nodes of a tree: each node first, then its left part, then its right part."""

    feature: Ints  # column that a node cuts; -1 for a leaf
    # Values up to it go left; infinity: all but missing ones; NaN for a leaf and for a set.
    threshold: Floats
    missing_left: Bools  # side of the missing values; False for a leaf
    left: Ints  # left child; 0 for a leaf
    right: Ints  # right child; 0 for a leaf
    rows: Ints  # training rows of each node
    rate: Floats  # share of positive labels, or of the most common of many classes, by weight
    gaps: Bools | None = None  # whether values of a column are missing; None if unknown
    beside: Floats | None = None  # nodes x 2: values next to the threshold; None if unknown
    sets: RankSets = NO_SETS  # instead of thresholds

    @classmethod
    def from_scikit_learn(cls, tree: Any) -> Self:
        """Take over the `tree_` of a `DecisionTreeClassifier` for labels 0 and 1."""
        inner = tree.feature >= 0
        return cls(
            np.where(inner, tree.feature, -1),
            np.where(inner, tree.threshold, np.nan),
            inner & (tree.missing_go_to_left != 0),
            np.where(inner, tree.children_left, 0),
            np.where(inner, tree.children_right, 0),
            tree.n_node_samples,
            tree.value[:, 0, 1],
        )

    @classmethod
    def of_cuts(
        cls,
        cuts: Sequence[Cut | None],
        children: Sequence[list[int]],
        rows: Ints,
        mass: Floats,
        gaps: Bools | None = None,
    ) -> Self:
        """Take the cuts, the children, the rows and the mass by label of all nodes.

        A mass may be a difference of sums, so that rounding can leave it slightly below 0.
        """
        mass = np.maximum(mass, 0.0)
        total = mass.sum(axis=1)
        hits = mass[:, 1 if mass.shape[1] == 2 else mass[0].argmax()]
        rate = np.full(total.size, hits[0] / total[0])
        np.divide(hits, total, out=rate, where=total > 0)
        pairs = np.array([each or [0, 0] for each in children])
        return cls(
            np.array([-1 if cut is None else cut.feature for cut in cuts]),
            np.array([np.nan if cut is None else cut.threshold for cut in cuts]),
            np.array([cut is not None and cut.missing_left for cut in cuts]),
            pairs[:, 0],
            pairs[:, 1],
            rows,
            rate,
            gaps,
            np.array([[np.nan] * 2 if cut is None else [cut.last, cut.next] for cut in cuts]),
        )


MOST_CLASSES = 1 << 7  # so that a key holds parts enough
GINI = Gini()
TOGETHER = 8  # nodes whose children are counted in one pass over the rows


@dataclass(frozen=True)
class Growth:
    """How far a tree grows."""

    max_depth: int  # most cuts on a path
    min_samples_leaf: int = 1  # fewest rows of a leaf


def grow_tree(
    X: Matrix,
    y: NDArray[np.integer],
    weight: Floats | None = None,
    *,
    growth: Growth,
    compiled: bool | None = None,
) -> GrownTree:
    """Grow a tree; of equally good cuts the first column wins, then the lowest threshold.

    Parameters
    ----------
    X : array of float32, rows x columns
        NaN where a value is missing; infinite values count as the largest ones. It is copied
        unless in Fortran order.
    y : array of int
        Class numbers 0, 1, …, at most `MOST_CLASSES` of them.
    weight : array of float or None
        Row weights, all above 0.
    compiled : bool or None
        Whether to compile the passes over rows; None means if numba is installed.
    """
    compiled = use_compiled() if compiled is None else compiled
    passes = compiled_passes() if compiled else REFERENCE
    X = column_by_column(X)
    bins = bins_for(len(X))
    labels = max(2, int(y.max()) + 1)
    columns = [choose_bins(column, bins, labels) for column in X.T]
    table = bin_rows(X, y.astype(np.uint8, copy=False), columns, passes, labels)
    values = np.empty((0, len(X))) if weight is None else weight[None]
    return _Grower(table, values, growth, passes).grow()


@dataclass(frozen=True)
class _Branch:
    """A node: its sums, where its rows are, and their sums per part while it is looked at."""

    total: Floats
    depth: int
    rows: slice
    grows: bool
    sums: Floats | None = None


class _Grower:
    def __init__(self, table: BinnedRows, values: Floats, growth: Growth, passes: Passes) -> None:
        self.table, self.values = table, values
        self.growth, self.passes = growth, passes
        self.rows = np.arange(len(table.X), dtype=passes.row_type)
        self.spare = np.empty_like(self.rows)
        self.magnifier = RowMagnifier(table, values, self.rows, passes)

    def grow(self) -> GrownTree:
        """Grow the tree, some nodes at a time, so that their children can be counted together."""
        (sums,) = self._add_up([slice(0, len(self.rows))])
        gaps = sums[0][:, self.table.ends[1:] - 1].any(axis=0)
        nodes, cuts = [self._root(sums)], dict[int, Cut]()
        children: dict[int, tuple[int, int]] = {}
        waiting: list[Sequence[int]] = [[0]]
        while waiting:
            current = waiting.pop()
            divided = self._cuts({number: nodes[number] for number in current})
            below = self._divide([(nodes[number], cut) for number, cut in divided.items()])
            new = range(len(nodes), len(nodes) + len(below))
            children |= zip(divided, zip(new[::2], new[1::2], strict=True), strict=True)
            waiting += [new[at : at + TOGETHER] for at in range(0, len(new), TOGETHER)]
            cuts |= divided
            nodes += below
            for number in current:
                nodes[number] = replace(nodes[number], sums=None)
        return _as_tree(nodes, cuts, children, gaps)

    def _root(self, sums: Floats) -> _Branch:
        total = sums[..., : self.table.ends[1]].sum(axis=-1)
        return _Branch(total, 0, slice(0, len(self.rows)), self._grows(total, 0), sums)

    def _grows(self, total: Floats, depth: int) -> bool:
        enough = total[0].sum() >= max(2, 2 * self.growth.min_samples_leaf)
        return bool(depth < self.growth.max_depth and enough and not GINI.finished(total))

    def _cuts(self, branches: dict[int, _Branch]) -> dict[int, Cut]:
        """Return the best cuts of those branches that have one."""
        searches = {
            number: self._search(each.total, each.sums)
            for number, each in branches.items()
            if each.grows and each.sums is not None
        }
        nodes = [branches[number].rows for number in searches]
        cuts = best_cuts(
            list(searches.values()),
            lambda at, parts: self.magnifier.single([nodes[i] for i in at], parts),
        )
        return {number: cut for number, cut in zip(searches, cuts, strict=True) if cut is not None}

    def _search(self, total: Floats, sums: Floats) -> Search:
        bins = self.table.bin_sums(sums)
        judge = Judge(GINI, self.growth.min_samples_leaf, total, bins[..., -1])
        runs = Runs.of_bins(bins, self.table.bin_only)
        return search_cut(judge, runs, partial(self.magnifier.parts, sums))

    def _divide(self, cuts: Sequence[tuple[_Branch, Cut]]) -> list[_Branch]:
        """Return the children of some nodes, left before right.

        The smaller child is added up: the other one is what it leaves of its parent. Sums of
        weights are added up anew, because differences would pile up rounding.
        """
        pairs = [self._children(parent, cut) for parent, cut in cuts]
        added = [self._added(pair) for pair in pairs]
        chosen = [pair[side] for pair, sides in zip(pairs, added, strict=True) for side in sides]
        sums = iter(self._add_up([child.rows for child in chosen]))
        below = []
        for (parent, _), pair, sides in zip(cuts, pairs, added, strict=True):
            own = {side: next(sums) for side in sides}
            for side, child in enumerate(pair):
                if child.grows and parent.sums is not None:
                    its = own[side] if side in own else parent.sums - own[1 - side]
                    child = replace(child, sums=its)
                below.append(child)
        return below

    def _children(self, parent: _Branch, cut: Cut) -> tuple[_Branch, _Branch]:
        totals, depth = (cut.left, parent.total - cut.left), parent.depth + 1
        grows = [self._grows(total, depth) for total in totals]
        if any(grows):
            column, here = self.table.X[:, cut.feature], self.rows[parent.rows]
            self.passes.divide(column, here, cut.last, cut.missing_left, self.spare)
        middle = parent.rows.start + int(cut.left[0].sum())
        rows = slice(parent.rows.start, middle), slice(middle, parent.rows.stop)
        left, right = map(_Branch, totals, (depth, depth), rows, grows)
        return left, right

    def _added(self, pair: tuple[_Branch, _Branch]) -> list[int]:
        """Return which of two children to add up: 0 is the left one, 1 the right one."""
        if len(self.values):
            return [side for side, child in enumerate(pair) if child.grows]
        smaller = int(pair[1].total[0].sum() < pair[0].total[0].sum())
        return [smaller] if pair[0].grows or pair[1].grows else []

    def _add_up(self, nodes: Sequence[slice]) -> list[Floats]:
        return self.passes.add_up(self.table, self.rows, nodes, self.values)


def _as_tree(
    nodes: list[_Branch], cuts: dict[int, Cut], children: dict[int, tuple[int, int]], gaps: Bools
) -> GrownTree:
    """Put the nodes in the order of scikit-learn: each before its left part, then its right one."""
    order, waiting = list[int](), [0]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children.get(order[-1], ()))
    place = {number: i for i, number in enumerate(order)}
    return GrownTree.of_cuts(
        [cuts.get(number) for number in order],
        [[place[child] for child in children.get(number, ())] for number in order],
        np.array([int(nodes[number].total[0].sum()) for number in order]),
        np.array([nodes[number].total[-1] for number in order]),
        gaps,
    )


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

    The cost of a tree is the Gini impurity of its leaves, by their share of the rows, plus the
    complexity times the number of leaves. As the complexity grows, the node whose branch lowers
    the impurity least per leaf is pruned first. `mass` is the weight of the training rows of
    each node, by default their number. Leaves have minus infinity.
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
    """Return the tree, of thresholds, in which only the given nodes are split."""
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
