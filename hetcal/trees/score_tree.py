"""A tree whose cuts are judged by scores and labels, grown from histograms."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from hetcal.arrays import Bools, Floats
from hetcal.trees.cuts import Criterion, Cut, Judge, Runs, best_cuts, search_cut
from hetcal.trees.label_tree import GrownTree
from hetcal.trees.score_sums import BinnedColumns, Rows, ScoreCodes, ValueTables, single_rows


@dataclass(frozen=True, eq=False)
class NodeSums:
    """A node that may be cut: what its rows add up by column and bin."""

    columns: BinnedColumns  # all columns
    rows: Rows  # the rows of the node
    values: ValueTables  # what is added up
    sums: Floats  # channels x 2 x columns x bins: the sums
    min_rows: int  # fewest rows of a side

    @classmethod
    def of_rows(
        cls, columns: BinnedColumns, rows: Rows, values: ValueTables, min_rows: int
    ) -> "NodeSums":
        """Add up."""
        sums = values.per_bin(columns, rows)
        return cls(columns, rows, values, sums, min_rows)

    @cached_property
    def total(self) -> Floats:
        """Sums of the node."""
        total: Floats = self.sums[:, :, 0].sum(axis=-1)
        return total

    @cached_property
    def runs(self) -> Runs:
        """The bins with rows."""
        return Runs.of_bins(self.sums, self.columns.only)

    def judge(self, criterion: Criterion, wanted: Bools | None = None) -> Judge:
        """Return how cuts are judged; those of missing values only in wanted columns."""
        missing = self.sums[..., -1]
        if wanted is not None:
            missing = np.where(wanted, missing, 0.0)
        return Judge(criterion, self.min_rows, self.total, missing)

    def best_scores(self, criterion: Criterion) -> Floats:
        """Return the score of the best cut between bins for each column."""
        judge = self.judge(criterion)
        known = judge.total[..., None] - judge.missing
        best = np.where(judge.has_missing, judge.score(known), -np.inf)
        for side in judge.sides:
            np.maximum.at(best, self.runs.feature, judge.between(self.runs, side))
        return best

    def cut(self, criterion: Criterion, feature: int) -> Cut | None:
        """Find the best cut of a feature."""
        wanted = self.columns.source == feature
        runs = self.runs.select(wanted[self.runs.feature])
        search = search_cut(self.judge(criterion, wanted), runs, lambda bins: bins)
        single = partial(single_rows, self.columns, self.values, self.rows)
        (cut,) = best_cuts([search], lambda _, parts: list(map(single, parts)))
        return cut


def tests_at(depth: int) -> int:
    """Return how many times below alpha the lowest p-value of a node at some depth has to be.

    The root may spend half of alpha, its children a quarter between them, their children an
    eighth, and so on: alpha in all, for the whole tree.
    """
    return int(2 ** (2 * depth + 1))


@dataclass(frozen=True)
class Judged:
    """What was found about a feature in a node."""

    node: int  # position of the node in the tree
    feature: int  # position of the feature in the table
    statistic: float  # what the feature was judged by
    p: float  # corrected p-value of the test for different maps
    chosen: bool  # whether the node is cut there


class Chooser(Protocol):
    """Decides whether and how nodes are cut."""

    judged: list[Judged]
    same_sums: bool  # whether the values of a row are the same in every node

    def values(self, rows: Rows) -> ValueTables | None:
        """Return what the rows of a node add up; None if the node needs no cut."""

    def choose(self, position: int, depth: int, node: NodeSums) -> Cut | None:
        """Return the cut of a node; None if it is a leaf. Nodes are numbered as they are grown."""


@dataclass(frozen=True, eq=False)
class _Branch:
    """The rows of a node and how many they are by label; sums if they are known already."""

    rows: Rows
    counts: Floats
    depth: int
    sums: NodeSums | None = None


class ScoreTreeGrower:
    """Grows a tree, whose cuts a chooser decides."""

    def __init__(
        self, columns: BinnedColumns, chooser: Chooser, max_depth: int, min_rows: int
    ) -> None:
        self.columns, self.chooser = columns, chooser
        self.max_depth, self.min_rows = max_depth, min_rows
        self.spare = np.empty(len(columns.X), dtype=columns.passes.row_type)

    def grow(self, codes: ScoreCodes) -> GrownTree:
        """Grow the tree: each node first, then its left part, then its right part."""
        cuts: list[Cut | None] = []
        children: list[list[int]] = []
        branches: list[_Branch] = []
        rows = np.arange(len(codes.code), dtype=self.columns.passes.row_type)
        ones = np.count_nonzero(codes.code & 1)
        root = _Branch(rows, np.array([rows.size - ones, ones], dtype=np.float64), 0)
        waiting: list[tuple[_Branch, list[int]]] = [(root, [])]
        while waiting:
            branch, siblings = waiting.pop()
            siblings.append(len(cuts))
            node = self._sums(branch)
            cut = None if node is None else self.chooser.choose(len(cuts), branch.depth, node)
            cuts.append(cut)
            children.append([])
            branches.append(replace(branch, sums=None))
            if cut is not None and node is not None:
                left, right = self._divide(branch, node, cut)
                waiting += [(right, children[-1]), (left, children[-1])]
        counts = np.array([branch.counts for branch in branches])
        mass = counts
        if codes.weight is not None:
            masses = [codes.masses(branch.rows) for branch in branches]
            mass = np.array([each.reshape(-1, 2).sum(axis=0) for each in masses])
        return GrownTree.of_cuts(cuts, children, counts.sum(axis=1).astype(np.int64), mass)

    def _grows(self, branch: _Branch) -> bool:
        enough = branch.rows.size >= max(2, 2 * self.min_rows)
        return enough and branch.depth < self.max_depth

    def _sums(self, branch: _Branch) -> NodeSums | None:
        if branch.sums is not None or not self._grows(branch):
            return branch.sums
        values = self.chooser.values(branch.rows)
        if values is None:
            return None
        return NodeSums.of_rows(self.columns, branch.rows, values, self.min_rows)

    def _divide(self, branch: _Branch, node: NodeSums, cut: Cut) -> tuple[_Branch, _Branch]:
        column = self.columns.X[:, cut.feature]
        divide = self.columns.passes.divide
        parts = divide(column, branch.rows, cut.last, cut.missing_left, self.spare)
        counts = cut.left[0], branch.counts - cut.left[0]
        left, right = map(_Branch, parts, counts, (branch.depth + 1,) * 2)
        if not self.chooser.same_sums:
            return left, right
        if left.rows.size <= right.rows.size:
            return self._siblings(node, left, right)
        right, left = self._siblings(node, right, left)
        return left, right

    def _siblings(
        self, parent: NodeSums, small: _Branch, large: _Branch
    ) -> tuple[_Branch, _Branch]:
        """Add up the smaller one: the other is what it leaves of its parent."""
        if self._grows(large):
            fewer = NodeSums.of_rows(self.columns, small.rows, parent.values, self.min_rows)
            more = replace(parent, rows=large.rows, sums=parent.sums - fewer.sums)
            large = replace(large, sums=more)
            small = replace(small, sums=fewer if self._grows(small) else None)
        return small, large
