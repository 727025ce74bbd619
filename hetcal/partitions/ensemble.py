"""Many trees over the same columns as plain arrays, and the way of rows through them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.cells.cells import MAX_LEAVES
from hetcal.compiled import compiled, use_compiled
from hetcal.data.columns import named_columns, single_limits
from hetcal.partitions.encoding import EncodedColumn, to_partition, with_digits
from hetcal.partitions.nodes import Feature, broken, feature_fields, read_feature, shown
from hetcal.partitions.partition import Partition, column_values
from hetcal.progress import Progress, silent
from hetcal.strict_json import Fields, JsonError
from hetcal.trees.bins import bounded
from hetcal.trees.kernels import Words, end_of_path, first_left
from hetcal.trees.label_tree import NO_SETS, GrownTree, RankSets

MAX_TREES = 20_000
MAX_NODES = 4_000_000
MAX_WORDS = 2**24  # of 64 categories each, over all sets


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
    _check_sets(trees)
    for start, size in zip(trees.starts.tolist(), trees.sizes.tolist(), strict=True):
        _check_order(inner[start : start + size], trees.right[start : start + size])


def _check_sets(trees: "TreeEnsemble") -> None:
    """Check that nodes with a set cut a column of categories by nothing else."""
    node, size, rank = trees.sets.node, trees.sets.size, trees.sets.rank
    if node.size != size.size or (size < 1).any() or size.sum() != rank.size:
        raise broken("its sets of categories do not have one entry for each node")
    if (np.diff(node) <= 0).any() or (node < 0).any() or (node >= trees.feature.size).any():
        raise broken("its sets of categories are not those of nodes in their order")
    if (trees.feature[node] < 0).any():
        raise broken("a leaf has a set of categories")
    many = trees.category_counts[trees.feature[node]]
    if trees.threshold[node].any() or trees.missing_left[node].any():
        raise broken("a node has a set of categories beside another rule")
    if (rank < 0).any() or (rank >= np.repeat(many, size)).any():
        raise broken("a set names a category that is not listed")
    between = np.cumsum(size)[:-1] - 1  # from the last of a set to the first of the next
    if (np.delete(np.diff(rank), between) <= 0).any():
        raise broken("a set of categories is not sorted, or names one twice")
    if trees.set_words.sum() > MAX_WORDS:
        raise broken("its sets have too many categories")


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


SMALL = 64  # most leaves of a tree for which each is a bit of a number


@dataclass(frozen=True, eq=False)
class FlatTree:
    """A tree whose nodes come first, then their left part, then their right part."""

    feature: Ints  # column that a node cuts; -1 for a leaf
    limit: Singles  # values up to it go left
    missing_left: Bools  # side of the missing values
    right: Ints  # position of the right child
    place: Ints  # first word of the set of ranks that go left
    width: Ints  # words of the set; 0 if the limit decides
    words: Words  # all sets, a bit for each rank; the last of each set is always 0

    @cached_property
    def _leaves_before(self) -> Ints:
        return np.cumsum(self.feature < 0) - (self.feature < 0)

    @cached_property
    def _splits(self) -> tuple[Ints, Singles, Bools, NDArray[Any], Ints, Ints, Words]:
        """Of the splits alone: column, limit, side, leaves of the left part as bits, and sets."""
        inner = self.feature >= 0
        before, one = self._leaves_before.astype(np.uint64), np.uint64(1)
        crossed = (one << before[self.right[inner]]) - (one << before[inner])
        narrow = np.uint32 if (self.feature < 0).sum() <= 32 else np.uint64
        limit, missing_left = self.limit[inner], self.missing_left[inner]
        sets = self.place[inner], self.width[inner], self.words
        return self.feature[inner], limit, missing_left, crossed.astype(narrow), *sets

    def leaves(self, columns: Singles, begin: int, end: int) -> Ints:
        """Return the leaf, from 0, of the rows from `begin` to `end`; `columns` by rows."""
        small = self.feature.size < 2 * SMALL
        if not use_compiled():
            return (self._mark if small else self._list)(columns[:, begin:end])
        if small:
            return compiled(first_left)(columns, begin, end, *self._splits)
        rules = self.feature, self.limit, self.missing_left
        nodes = *rules, self.right, self.place, self.width, self.words
        return self._leaves_before[compiled(end_of_path)(columns, begin, end, *nodes)]

    def _mark(self, columns: Singles) -> Ints:
        """Mark the rows of a split: the numpy reference of `first_left`."""
        leaf = np.zeros(columns.shape[1], dtype=np.uint8)
        waiting: list[Bools] = [np.ones(leaf.size, dtype=np.bool_)]
        for node, column, passed, split_left, split_right in self._steps:
            inside, right = waiting.pop(), self._goes_right(columns[column], node)
            right &= inside
            leaf += right.view(np.uint8) * passed
            if split_right:
                waiting.append(right)
            if split_left:
                waiting.append(inside ^ right)
        return leaf.astype(np.int64)

    @cached_property
    def _steps(self) -> list[tuple[int, int, np.uint8, bool, bool]]:
        """Position and column of each split, its leaves on the left, which children split."""
        splits, before = self.feature >= 0, self._leaves_before
        inner = np.flatnonzero(splits)
        right = self.right[inner]
        passed = (before[right] - before[inner]).astype(np.uint8)
        children = splits[inner + 1].tolist(), splits[right].tolist()
        return list(
            zip(inner.tolist(), self.feature[inner].tolist(), passed, *children, strict=True)
        )

    def _list(self, columns: Singles) -> Ints:
        """List the rows of a node: the numpy reference of `end_of_path`."""
        leaf = np.zeros(columns.shape[1], dtype=np.int64)
        waiting: list[Ints] = [np.arange(leaf.size)]
        for position, column in enumerate(self.feature.tolist()):
            inside = waiting.pop()
            if column < 0:
                leaf[inside] = self._leaves_before[position]
            else:
                right = self._goes_right(columns[column, inside], position)
                waiting += [inside[right], inside[~right]]
        return leaf

    def _goes_right(self, values: Singles, node: int) -> Bools:
        limit, place, width = self.limit[node], self.place[node], self.width[node]
        if width == 0:
            return values > limit if self.missing_left[node] else ~(values <= limit)
        rank = np.where(values >= 0, values, 64 * width - 1).astype(np.int64)
        word = self.words[place + (rank >> 6)] >> (rank & 63).astype(np.uint64)
        return (word & np.uint64(1)) == 0


def flat_tree(tree: GrownTree) -> FlatTree:
    """Return a grown tree of thresholds as what rows are sent through."""
    limit = single_limits(np.where(tree.feature < 0, 0.0, tree.threshold))
    none, words = np.zeros(tree.feature.size, dtype=np.int64), np.empty(0, dtype=np.uint64)
    return FlatTree(tree.feature, limit, tree.missing_left, tree.right, none, none, words)


@dataclass(frozen=True)
class TreeColumns:
    """Columns of a table as a matrix of numbers.

    A number is itself in single precision; a category is the rank of its positive rate in
    training, so that hundreds of trees need not repeat the names. Missing values, and
    categories rare or unseen in training, are NaN.
    """

    features: tuple[Feature, ...]  # the columns
    # For each category of a column, its number; empty for a column of numbers.
    ranks: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        if len(set(names)) < len(names):
            raise broken("it names a column twice")
        for feature, ranks in zip(self.features, self.ranks, strict=True):
            if sorted(ranks) != list(range(len(feature.categories))):
                raise broken(f"the categories of '{shown(feature.name)}' have no order")

    @classmethod
    def of(cls, columns: Sequence[EncodedColumn], trees: Sequence[GrownTree] = ()) -> Self:
        """Take over the encoding of the training rows, with digits for the thresholds of trees."""
        feature = np.concatenate([[-1], *(tree.feature for tree in trees)])
        threshold = np.concatenate([[np.nan], *(tree.threshold for tree in trees)])
        cuts = [np.unique(threshold[feature == i]) for i in range(len(columns))]
        features = (with_digits(*each) for each in zip(columns, cuts, strict=True))
        return cls(tuple(features), tuple(tuple(column.ranks.tolist()) for column in columns))

    def encoded(self) -> list[EncodedColumn]:
        """Return the encoding without the values of any row."""
        none = np.empty(0, dtype=np.float32)
        pairs = zip(self.features, self.ranks, strict=True)
        return [EncodedColumn(each, none, np.array(ranks, np.int64)) for each, ranks in pairs]

    def matrix(self, X: pd.DataFrame | Any) -> Singles:
        """Return the rows as numbers, one column next to the other."""
        matrix = np.empty((len(X), len(self.features)), dtype=np.float32, order="F")
        for i, column in enumerate(column_values(named_columns(X), self.features)):
            # The last rank is that of code -1: missing, rare or unseen.
            ranks = np.array([*self.ranks[i], np.nan], dtype=np.float32)
            number = self.features[i].kind == "number"
            matrix[:, i] = bounded(np.asarray(column, np.float32)) if number else ranks[column]
        return matrix


BLOCK = 16_384  # rows at a time, so that they stay in the cache while the trees pass by
ENCODED = 16 * BLOCK  # rows that are encoded at a time, to save memory


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Trees as arrays over all of their nodes, tree after tree.

    Within a tree a node comes first, then its left part, then its right part. Leaves are
    numbered 0, 1, … across all trees in that order.
    """

    columns: TreeColumns  # what the nodes compare
    sizes: Ints  # nodes of each tree
    feature: Ints  # column that a node cuts; -1 for a leaf
    # Values up to it go left; infinity: all but missing ones; 0 for a leaf and for a set.
    threshold: Floats
    missing_left: Bools  # side of the missing values
    right: Ints  # right child, as a position in its tree; 0 for a leaf; the left child is next
    sets: RankSets = NO_SETS  # instead of thresholds

    def __post_init__(self) -> None:
        check_ensemble(self)

    @classmethod
    def of(cls, columns: Sequence[EncodedColumn], trees: Sequence[GrownTree]) -> Self:
        """Put trees that were grown on encoded columns one after the other."""
        sizes = np.array([tree.feature.size for tree in trees], dtype=np.int64)
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(
            TreeColumns.of(columns, trees),
            sizes,
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.where(np.isnan(threshold), 0.0, threshold),
            np.concatenate([tree.missing_left for tree in trees]),
            np.concatenate([tree.right for tree in trees]).astype(np.int64),
            RankSets.joined([tree.sets for tree in trees], np.cumsum(sizes) - sizes),
        )

    @property
    def trees(self) -> int:
        """Number of trees."""
        return int(self.sizes.size)

    @cached_property
    def starts(self) -> Ints:
        """First node of each tree."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @property
    def leaves(self) -> int:
        """Number of leaves of all trees."""
        return int((self.feature < 0).sum())

    @cached_property
    def leaf_starts(self) -> Ints:
        """Number of the first leaf of each tree."""
        before = np.concatenate([[0], np.cumsum(self.feature < 0)])
        return before[self.starts].astype(np.int64)

    @property
    def category_counts(self) -> Ints:
        """Number of categories of each column; 0 for a column of numbers."""
        return np.array([len(each.categories) for each in self.columns.features], dtype=np.int64)

    @property
    def set_words(self) -> Ints:
        """How many words of 64 bits hold the categories of each node with a set."""
        return self.category_counts[self.feature[self.sets.node]] // 64 + 1

    @cached_property
    def _routes(self) -> list[FlatTree]:
        ends = np.cumsum(self.sizes)[:-1]
        place, width, words = self._packed_sets()
        # Rows are in single precision, so that thresholds can be, too, without a change.
        limit = single_limits(self.threshold)
        arrays = self.feature, limit, self.missing_left, self.right, place, width
        parts = [*(np.split(each, ends) for each in arrays), [words] * self.trees]
        return [FlatTree(*tree) for tree in zip(*parts, strict=True)]

    def _packed_sets(self) -> tuple[Ints, Ints, Words]:
        """Return the first word of each node's set, how many it has, and the words."""
        place, width = np.zeros((2, self.feature.size), dtype=np.int64)
        node, rank = self.sets.node, self.sets.rank
        width[node] = self.set_words
        place[node] = np.cumsum(width[node]) - width[node]
        words = np.zeros(width.sum(), dtype=np.uint64)
        bits = np.uint64(1) << (rank & 63).astype(np.uint64)
        np.bitwise_or.at(words, np.repeat(place[node], self.sets.size) + (rank >> 6), bits)
        return place, width, words

    def walk(
        self, X: pd.DataFrame | NDArray[Any], progress: Progress = silent
    ) -> Iterator[tuple[slice, Iterator[Ints]]]:
        """Yield blocks of rows, and for each tree after tree the leaf number of its rows."""
        for first in range(0, max(len(X), 1), ENCODED):
            columns = self.columns.matrix(X[first : first + ENCODED]).T
            for begin in range(0, columns.shape[1], BLOCK):
                end = min(begin + BLOCK, columns.shape[1])
                progress((first + begin) / len(X), "Sending rows through the trees")
                yield slice(first + begin, first + end), self._leaves(columns, begin, end)

    def _leaves(self, columns: Singles, begin: int, end: int) -> Iterator[Ints]:
        for first, routes in zip(self.leaf_starts.tolist(), self._routes, strict=True):
            yield first + routes.leaves(columns, begin, end)

    def apply(self, X: pd.DataFrame | NDArray[Any]) -> NDArray[np.int32]:
        """Return the leaf numbers, rows by trees."""
        leaf = np.empty((len(X), self.trees), dtype=np.int32)
        for rows, found in self.walk(X):
            for number, inside in enumerate(found):
                leaf[rows, number] = inside
        return leaf

    def partition(self, tree: int) -> Partition:
        """Return one tree as a partition whose nodes count no rows."""
        part = slice(self.starts[tree], self.starts[tree] + self.sizes[tree])
        feature, right = self.feature[part], self.right[part]
        inner = feature >= 0
        left = np.where(inner, np.arange(feature.size) + 1, 0)
        none = np.zeros(feature.size, dtype=np.int64)
        threshold = np.where(inner, self.threshold[part], np.nan)
        sides = inner & self.missing_left[part]
        sets = self.sets.inside(part.start, part.stop)
        rate = none.astype(np.float64)
        grown = GrownTree(feature, threshold, sides, left, right, none, rate, sets=sets)
        return to_partition(grown, self.columns.encoded())


def ensemble_fields(trees: TreeEnsemble) -> dict[str, Any]:
    """Return the fields of many trees; a threshold beyond all values is left out."""
    endless = np.isposinf(trees.threshold)
    fields = {
        "features": [feature_fields(feature) for feature in trees.columns.features],
        "ranks": [{"order": list(ranks)} for ranks in trees.columns.ranks],
        "sizes": trees.sizes.tolist(),
        "feature": trees.feature.tolist(),
        "threshold": np.where(endless, 0.0, trees.threshold).tolist(),
        "endless": np.flatnonzero(endless).tolist(),
        "missing_left": np.flatnonzero(trees.missing_left).tolist(),
        "right": trees.right.tolist(),
    }
    if trees.sets.node.size:
        sets = trees.sets
        lists = {"node": sets.node, "size": sets.size, "rank": sets.rank}
        fields["sets"] = {name: each.tolist() for name, each in lists.items()}
    return fields


def read_ensemble(fields: Fields) -> TreeEnsemble:
    """Read what `ensemble_fields` gave; what is no ensemble is a `PartitionError`."""
    keys = "features ranks sizes feature threshold endless missing_left right"
    fields.only(*keys.split(), "sets")
    features = tuple(read_feature(each) for each in fields.objects("features"))
    orders = fields.objects("ranks")
    for each in orders:
        each.only("order")
    ranks = tuple(tuple(each.integers("order", 0, 2**31)) for each in orders)
    if len(ranks) != len(features):
        raise JsonError("not every column of the trees has an order")
    threshold = np.array(fields.numbers("threshold"), dtype=np.float64)
    last = threshold.size - 1
    threshold[fields.integers("endless", 0, last)] = np.inf
    missing_left = np.zeros(threshold.size, dtype=np.bool_)
    missing_left[fields.integers("missing_left", 0, last)] = True
    return TreeEnsemble(
        TreeColumns(features, ranks),
        np.array(fields.integers("sizes", 1, 2 * MAX_LEAVES), dtype=np.int64),
        np.array(fields.integers("feature", -1, 2**31), dtype=np.int64),
        threshold,
        missing_left,
        np.array(fields.integers("right", 0, 2 * MAX_LEAVES), dtype=np.int64),
        _read_sets(fields.fields("sets")) if "sets" in fields else NO_SETS,
    )


def _read_sets(fields: Fields) -> RankSets:
    fields.only("node", "size", "rank")
    lists = (fields.integers(key, 0, 2**31) for key in ("node", "size", "rank"))
    return RankSets(*(np.array(each, dtype=np.int64) for each in lists))
