"""A partition: plain data that sends every row to one leaf."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Labels, Singles
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, LeafMap
from hetcal.compiled import compiled, use_compiled
from hetcal.data.columns import RAW, category_codes, named_columns, single_limit, single_values
from hetcal.data.splits import ROLES, Split
from hetcal.data.table import positive_rate
from hetcal.errors import PartitionError, did_you_mean
from hetcal.partitions.nodes import (
    ALL_ROWS,
    Condition,
    Feature,
    Node,
    broken,
    check_tree,
    paths,
    read_tree_fields,
    rule_words,
    short_names,
    shown,
    tree_fields,
)
from hetcal.strict_json import JsonError, parse_object
from hetcal.trees.kernels import send

BLOCK, SENT = 1 << 15, 1 << 16  # rows at a time
FEW = 32  # a node with less than one row in 32 lists its rows instead of marking them
MOST_SPLITS = 100  # of a tree whose every split sees every row; leaf ids have to be below 128


@dataclass(frozen=True)
class RoutingSplit:
    """A split with the column that it reads."""

    values: Singles | Ints  # the column: numbers, or codes of categories
    limit: np.float32  # numbers up to the limit go left
    sides: Bools | None  # for each code whether it goes left; None for numbers
    missing_left: bool  # side of the missing numbers
    left: int  # position of the left child
    right: int

    def compared(self, rows: slice) -> tuple[NDArray[Any], np.generic, bool]:
        """Return numbers of rows that go left up to a limit, and the side of missing ones."""
        if self.sides is None:
            return np.ascontiguousarray(self.values[rows]), self.limit, self.missing_left
        return (~self.sides)[self.values[rows]].view(np.uint8), np.uint8(0), False

    def goes_left(self, rows: slice | Ints) -> Bools:
        """Return which of the rows go left."""
        values = self.values[rows]
        if self.sides is not None:
            return self.sides[values]
        left: Bools = values <= self.limit
        if self.missing_left:
            left |= np.isnan(values)
        return left


@dataclass(frozen=True)
class Routes:
    """A tree whose splits know their columns."""

    splits: Mapping[int, RoutingSplit]  # by position, each before those below it
    leaves: Mapping[int, int]  # the leaf id by position

    def leaf_ids(self, rows: int) -> Ints:
        """Return the leaf id of each row."""
        if len(self.splits) <= MOST_SPLITS and use_compiled():
            return self._send(rows)
        leaf = np.empty(rows, dtype=np.int32)
        small = np.empty(min(rows, BLOCK), dtype=np.min_scalar_type(max(self.leaves.values())))
        for start in range(0, rows, BLOCK):
            block = small[: rows - start]
            self._mark(start, block)
            leaf[start : start + BLOCK] = block
        return leaf

    def _send(self, rows: int) -> Ints:
        """Compare every row with every split: simple steps, done for many rows at a time."""
        leaf, at = np.empty(rows, dtype=np.int32), np.empty(min(rows, SENT), dtype=np.int8)
        for start in range(0, rows, SENT):
            block = at[: rows - start]
            block[:] = self._numbers[0]
            for position, split in self.splits.items():
                nodes = (self._numbers[each] for each in (position, split.left, split.right))
                here = slice(start, start + block.size)
                compiled(send)(*split.compared(here), block, *nodes)
            leaf[start : start + SENT] = block
        return leaf

    @cached_property
    def _numbers(self) -> dict[int, np.int8]:
        """The id of a leaf, and for a split a number below 0."""
        splits = {position: np.int8(-1 - i) for i, position in enumerate(self.splits)}
        return splits | {position: np.int8(leaf) for position, leaf in self.leaves.items()}

    def _mark(self, start: int, leaf: NDArray[Any]) -> None:
        """Write the leaf ids of a block; the rows of a node are marked."""
        leaf[:] = 0
        waiting: list[tuple[int, Bools]] = [(0, np.ones(leaf.size, dtype=np.bool_))]
        while waiting:
            node, inside = waiting.pop()
            if node in self.leaves:  # arithmetic is several times faster than writing by a mask
                leaf += inside.view(np.uint8) * leaf.dtype.type(self.leaves[node])
            elif FEW * np.count_nonzero(inside) < inside.size:
                self._list(node, np.flatnonzero(inside), start, leaf)
            else:
                split = self.splits[node]
                left = split.goes_left(slice(start, start + inside.size))
                left &= inside
                waiting += [(split.left, left), (split.right, inside ^ left)]

    def _list(self, top: int, rows: Ints, start: int, leaf: NDArray[Any]) -> None:
        """Write the leaf ids below a node; its rows are listed."""
        waiting: list[tuple[int, Ints]] = [(top, rows)]
        while waiting:
            node, inside = waiting.pop()
            if node in self.leaves:
                leaf[inside] = self.leaves[node]
            elif inside.size:
                split = self.splits[node]
                left = split.goes_left(inside + start)
                waiting += [(split.left, inside[left]), (split.right, inside[~left])]


def column_values(frame: pd.DataFrame, features: Sequence[Feature]) -> Iterator[Singles | Ints]:
    """Yield the columns of features: numbers in single precision, or codes of categories."""
    columns = list(frame.columns)
    absent = [feature.name for feature in features if columns.count(feature.name) != 1]
    if absent:
        names = "', '".join(map(shown, absent[:5]))
        remedy = did_you_mean(
            absent[0],
            [str(each) for each in columns],
            "Add the column, give it the name that it had in training, or use another partition.",
        )
        if absent[0].endswith(RAW):
            remedy = (
                "Give what the run was given: a second table (--raw FILE), or the steps to undo "
                "(--undo-scale FILE)."
            )
        raise PartitionError(
            f"The table has no column '{names}', or has it twice.",
            "The partition splits on it, so every row needs it once.",
            remedy,
        )
    for feature in features:
        column = frame.iloc[:, columns.index(feature.name)]
        number = feature.kind == "number"
        yield single_values(column) if number else category_codes(column, feature.categories)


@dataclass(frozen=True)
class Leaf:
    """One cell of the partition."""

    id: int  # 1, 2, … from left to right
    rule: str  # the path in words, long lists of categories shortened
    depth: int  # splits on the path
    node: int  # position among the nodes
    rows: int  # training rows
    positive_rate: float  # share of positive labels among them
    conditions: tuple[Condition, ...]  # the path, merged to one condition per column

    @property
    def full_rule(self) -> str:
        """The path in words with every category."""
        return rule_words(self.conditions, full=True)


@dataclass(frozen=True)
class Branch:
    """An inner node of the tree but the root: the union of its leaves."""

    id: int  # -1, -2, … from the top, left branches before right ones
    rule: str  # the path in words
    node: int  # position among the nodes
    leaves: tuple[int, ...]  # ids of the leaves below


@dataclass(frozen=True)
class Partition:
    """A binary tree over the columns of a table.

    A missing value goes to the side that its split chose; a category rare or unseen
    in training follows the missing values.

    Parameters
    ----------
    features : tuple of Feature
        The columns that the splits read.
    nodes : tuple of Node
        The root first, children after their parent.
    edited : bool
        Whether a person has changed the tree, see `hetcal.partitions.editing`.
    """

    features: tuple[Feature, ...]
    nodes: tuple[Node, ...]
    edited: bool = False

    def __post_init__(self) -> None:
        check_tree(self.features, self.nodes)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Number of splits above each node."""
        depths = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            if node.feature is not None:
                depths[node.left] = depths[node.right] = depths[position] + 1
        return tuple(depths)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        conditions = paths(self.features, self.nodes)
        return tuple(
            Leaf(
                number,
                rule_words(conditions[node]),
                self.depths[node],
                node,
                self.nodes[node].rows,
                self.nodes[node].positive_rate,
                conditions[node],
            )
            for number, node in enumerate(self._leaf_nodes, start=1)
        )

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The inner nodes below the root, each before those below it."""
        below: dict[int, tuple[int, ...]] = {leaf.node: (leaf.id,) for leaf in self.leaves}
        for position, node in reversed(list(enumerate(self.nodes))):
            if node.feature is not None:
                below[position] = below[node.left] + below[node.right]
        conditions = paths(self.features, self.nodes)
        found: list[Branch] = []
        waiting = [0]
        while waiting:
            position = waiting.pop()
            node = self.nodes[position]
            if node.feature is None:
                continue
            if position:
                rule = rule_words(conditions[position])
                found.append(Branch(-1 - len(found), rule, position, below[position]))
            waiting += [node.right, node.left]
        return tuple(found)

    def members(self, number: int) -> tuple[int, ...]:
        """Return the leaves of a leaf, of a branch (below 0), or none for all rows (0)."""
        if number >= 0:
            return (number,) if number else ()
        return self.branches[-1 - number].leaves

    @cached_property
    def names(self) -> dict[int, str]:
        """Short names of leaves, no two alike: a few conditions, then the number; of branches."""
        words = short_names([each.conditions for each in self.leaves])
        leaves = {
            leaf.id: f"{name} ({leaf.id})" for leaf, name in zip(self.leaves, words, strict=True)
        }
        return leaves | {each.id: f"{each.rule} (branch {-each.id})" for each in self.branches}

    @cached_property
    def _leaf_nodes(self) -> tuple[int, ...]:
        found, waiting = [], [0]
        while waiting:
            position = waiting.pop()
            node = self.nodes[position]
            if node.feature is None:
                found.append(position)
            else:
                waiting += [node.right, node.left]
        return tuple(found)

    @property
    def base_rate(self) -> float:
        """Share of positive labels among all training rows."""
        return self.nodes[0].positive_rate

    @cached_property
    def _by_name(self) -> dict[str, Feature]:
        return {feature.name: feature for feature in self.features}

    def apply(self, X: pd.DataFrame | NDArray[Any]) -> Ints:
        """Return the leaf id of each row; the columns of an array are x0, x1, …."""
        values = dict(
            zip(self._by_name, column_values(named_columns(X), self.features), strict=True)
        )
        splits = {
            position: self._split(node, values[node.feature])
            for position, node in enumerate(self.nodes)
            if node.feature is not None
        }
        leaves = {node: number for number, node in enumerate(self._leaf_nodes, start=1)}
        return Routes(splits, leaves).leaf_ids(len(X))

    def counting(self, X: pd.DataFrame, y: Labels, weight: Floats | None = None) -> Self:
        """Return the partition whose nodes count these rows and the share of their labels 1.

        A node without rows has the rate of its parent.
        """
        weight = np.ones(len(X)) if weight is None else weight
        place, many = np.array(self._leaf_nodes)[self.apply(X) - 1], len(self.nodes)
        values = None, weight, weight * y
        sums = np.stack([np.bincount(place, each, many) for each in values]).astype(np.float64)
        for at, node in reversed(list(enumerate(self.nodes))):
            if node.feature is not None:
                sums[:, at] = sums[:, node.left] + sums[:, node.right]
        rows, mass, hits = sums
        rate = np.divide(hits, mass, out=np.zeros(many), where=mass > 0)
        for at, node in enumerate(self.nodes):
            for child in (node.left, node.right) if node.feature is not None else ():
                if mass[child] == 0:
                    rate[child] = rate[at]
        nodes = (
            replace(node, rows=int(rows[at]), positive_rate=float(rate[at]))
            for at, node in enumerate(self.nodes)
        )
        return replace(self, nodes=tuple(nodes))

    def _split(self, node: Node, values: Singles | Ints) -> RoutingSplit:
        feature = self._by_name[node.feature or ""]
        sides = None
        if feature.kind == "category":
            chosen = set(node.categories)
            # The last entry is that of code -1: missing, rare or unseen.
            marks = [*(name in chosen for name in feature.categories), node.missing_left]
            sides = np.array(marks, dtype=np.bool_)
        limit = single_limit(np.inf if node.threshold is None else node.threshold)
        return RoutingSplit(values, limit, sides, node.missing_left, node.left, node.right)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the JSON text, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the partition as JSON text; equal partitions give equal text."""
        fields = tree_fields(self.features, self.nodes, self.edited)
        return json.dumps(fields, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a partition back; anything unsound is a `PartitionError`."""
        try:
            return cls(*read_tree_fields(parse_object(text)))
        except JsonError as problem:
            raise broken(str(problem)) from problem


def leaf_table(
    partition: Partition,
    leaf: Ints,
    y: NDArray[np.integer],
    split: Split,
    weight: Floats | None = None,
) -> pd.DataFrame:
    """Count rows and positive rows per leaf and role.

    There is one row per leaf: `leaf`, `rule`, then `rows_<role>` and `rate_<role>` (share of
    positive rows, by weight if they have one; NaN without rows or weight) for each role, and
    `distance`, the training rate of the leaf minus that of all leaves.
    """
    ids = np.array([each.id for each in partition.leaves])
    size = int(ids.max()) + 1
    columns: dict[str, object] = {"leaf": ids, "rule": [each.rule for each in partition.leaves]}
    for role in ROLES:
        rows = split.of(role)
        count = np.bincount(leaf[rows], minlength=size)[ids]
        total = count if weight is None else np.bincount(leaf[rows], weight[rows], size)[ids]
        ones = rows[y[rows] == 1]
        positive = np.bincount(leaf[ones], None if weight is None else weight[ones], size)[ids]
        rate = np.full(ids.size, np.nan)
        columns[f"rows_{role}"] = count
        columns[f"rate_{role}"] = np.divide(positive, total, out=rate, where=total > 0)
    table = pd.DataFrame(columns)
    train = split.train
    overall = positive_rate(y[train], None if weight is None else weight[train])
    table["distance"] = table["rate_train"] - overall
    return table


def maps_table(calibrator: LeafCalibrator, partition: Partition) -> pd.DataFrame:
    """List the map of all rows (leaf 0), then that of each leaf.

    Columns: `leaf`, `rule`, `rows`, `positives`, `map` (in words), `slope`, `slope_se`,
    `intercept`, `intercept_se` (NaN for a map that is not linear), `fallback` (text, empty for a
    leaf with a slope of its own).
    """
    rules = {0: ALL_ROWS} | {leaf.id: leaf.rule for leaf in partition.leaves}
    maps = (calibrator.pooled_, *calibrator.maps_)
    numbers = ("slope", "slope_se", "intercept", "intercept_se")
    return pd.DataFrame(
        {
            "leaf": [each.leaf for each in maps],
            "rule": [rules.get(each.leaf, "") for each in maps],
            "rows": [each.rows for each in maps],
            "positives": [each.positives for each in maps],
            "map": [each.shape.words for each in maps],
            **{name: [getattr(each, name) for each in maps] for name in numbers},
            "fallback": [each.fallback or "" for each in maps],
        }
    )


def with_one_slope(maps: Sequence[LeafMap]) -> list[int]:
    """Return the leaves whose slopes are equal to the last bit: no two are, unless they are pooled.

    A scheme keeps no reasons; a single leaf with the pooled slope is not told from others.
    """
    often = Counter(each.slope for each in maps)
    return [each.leaf for each in maps if often[each.slope] > 1]


def fallback_words(maps: Sequence[LeafMap]) -> str:
    """Name the leaves that have the slope of all rows, by the reason; empty if there are none."""
    leaves: dict[str, list[str]] = {}
    for each in maps:
        if each.fallback is not None:
            leaves.setdefault(each.fallback, []).append(str(each.leaf))
    return "; ".join(
        f"{'leaf' if len(ids) == 1 else 'leaves'} {', '.join(ids)} ({reason})"
        for reason, ids in leaves.items()
    )
