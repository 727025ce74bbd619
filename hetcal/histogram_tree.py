"""A decision tree grown from histograms that equals scikit-learn's, split for split.

Every column is put into bins of many parts. A node adds up its rows per part, judges the cuts
between bins, and looks only into the bins, then into the parts, that could hold a better cut.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats
from hetcal.binning import BinnedRows, choose_bins, column_by_column
from hetcal.grown_tree import GrownTree
from hetcal.kernels import use_compiled
from hetcal.magnifier import RowMagnifier
from hetcal.picked_columns import Matrix
from hetcal.row_passes import REFERENCE, Passes, Rows, bin_rows, compiled_passes
from hetcal.runs import Judge, Runs
from hetcal.split_criteria import Criterion, Gini
from hetcal.split_search import Cut, best_cut


@dataclass(frozen=True)
class Growth:
    """What decides how a tree grows.

    Parameters
    ----------
    max_depth : int
        Most cuts on a path.
    min_samples_leaf : int
        Fewest rows of a leaf.
    criterion : Criterion
        What makes a cut good.
    """

    max_depth: int
    min_samples_leaf: int = 1
    criterion: Criterion = field(default_factory=Gini)


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
        Labels 0 and 1.
    weight : array of float or None
        Row weights, all above 0.
    growth : Growth
        Limits and criterion.
    compiled : bool or None
        Whether to compile the passes over rows; None means if numba is there.
    """
    compiled = use_compiled() if compiled is None else compiled
    passes = compiled_passes() if compiled else REFERENCE
    X = column_by_column(X)
    table = bin_rows(
        X, y.astype(np.uint8, copy=False), [choose_bins(column) for column in X.T], passes
    )
    values = np.empty((0, len(X))) if weight is None else weight[None]
    return _Grower(table, values, growth, passes).grow()


@dataclass(frozen=True)
class _Branch:
    """The sums of a node; its rows, and their sums per part, unless it is a leaf."""

    total: Floats
    depth: int
    rows: Rows | None
    sums: Floats | None


class _Grower:
    def __init__(self, table: BinnedRows, values: Floats, growth: Growth, passes: Passes) -> None:
        self.table, self.values = table, values
        self.growth, self.passes = growth, passes
        self.spare = np.empty(len(table.X), dtype=passes.row_type)

    def grow(self) -> GrownTree:
        nodes: list[tuple[_Branch, Cut | None]] = []
        children: list[list[int]] = []
        waiting: list[tuple[_Branch, list[int]]] = [(self._root(), [])]
        while waiting:
            branch, siblings = waiting.pop()
            siblings.append(len(nodes))
            cut = self._cut(branch)
            nodes.append((branch, cut))
            children.append([])
            if cut is not None:
                left, right = self._divide(branch, cut)
                waiting += [(right, children[-1]), (left, children[-1])]
        return _as_tree(nodes, children)

    def _root(self) -> _Branch:
        rows = np.arange(len(self.table.X), dtype=self.passes.row_type)
        sums = self._add_up(rows)
        total = sums[..., : self.table.ends[1]].sum(axis=-1)
        return _Branch(total, 0, rows, sums if self._grows(total, 0) else None)

    def _grows(self, total: Floats, depth: int) -> bool:
        enough = total[0].sum() >= max(2, 2 * self.growth.min_samples_leaf)
        pure = self.growth.criterion.finished(total)
        return bool(depth < self.growth.max_depth and enough and not pure)

    def _cut(self, branch: _Branch) -> Cut | None:
        if branch.sums is None or branch.rows is None:
            return None
        growth, table = self.growth, self.table
        bins = table.bin_sums(branch.sums)
        judge = Judge(growth.criterion, growth.min_samples_leaf, branch.total, bins[..., -1])
        magnifier = RowMagnifier(table, self.values, branch.rows, branch.sums, self.passes)
        return best_cut(judge, Runs.of_bins(bins, table.bin_only), magnifier)

    def _divide(self, branch: _Branch, cut: Cut) -> tuple[_Branch, _Branch]:
        totals = cut.left, branch.total - cut.left
        depth = branch.depth + 1
        grows = [self._grows(total, depth) for total in totals]
        if branch.rows is None or not any(grows):
            return _Branch(totals[0], depth, None, None), _Branch(totals[1], depth, None, None)
        column = self.table.X[:, cut.feature]
        rows = self.passes.divide(column, branch.rows, cut.last, cut.missing_left, self.spare)
        sums = self._child_sums(branch, rows, grows)
        left, right = map(_Branch, totals, (depth, depth), rows, sums)
        return left, right

    def _child_sums(
        self, parent: _Branch, rows: tuple[Rows, Rows], grows: list[bool]
    ) -> list[Floats | None]:
        """Add up the smaller child: the other one is what it leaves of its parent.

        Sums of weights are added up anew, because differences would pile up rounding.
        """
        small = int(rows[1].size < rows[0].size)
        sums: list[Floats | None] = [None, None]
        if grows[small] or (grows[1 - small] and not len(self.values)):
            sums[small] = self._add_up(rows[small])
        if grows[1 - small]:
            fewer = None if len(self.values) else sums[small]
            sums[1 - small] = (
                self._add_up(rows[1 - small])
                if fewer is None or parent.sums is None
                else parent.sums - fewer
            )
        return [each if its else None for each, its in zip(sums, grows, strict=True)]

    def _add_up(self, rows: Rows) -> Floats:
        return self.passes.add_up(self.table, rows, self.values)


def _as_tree(nodes: list[tuple[_Branch, Cut | None]], children: list[list[int]]) -> GrownTree:
    cuts = [cut for _, cut in nodes]
    pairs = np.array([each or [0, 0] for each in children])
    mass = np.array([branch.total[-1] for branch, _ in nodes])
    return GrownTree(
        np.array([-1 if cut is None else cut.feature for cut in cuts]),
        np.array([np.nan if cut is None else cut.threshold for cut in cuts]),
        np.array([cut is not None and cut.missing_left for cut in cuts]),
        pairs[:, 0],
        pairs[:, 1],
        np.array([int(branch.total[0].sum()) for branch, _ in nodes]),
        mass[:, 1] / mass.sum(axis=1),
    )
