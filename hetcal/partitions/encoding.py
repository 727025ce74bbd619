"""Columns as the numbers that a decision tree splits, and its splits back as plain data."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Labels, Singles
from hetcal.data.columns import (
    category_names,
    counted,
    feature_kind,
    fewest_category_rows,
    one_hot_groups,
    single_values,
)
from hetcal.errors import PartitionError
from hetcal.partitions.nodes import Feature, Node, needed_digits
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.trees.bins import Matrix, PickedColumns, bounded
from hetcal.trees.label_tree import GrownTree
from hetcal.trees.passes import neighbours

EXACT = 2.0**24  # whole numbers up to here are exact in single precision


@dataclass(frozen=True)
class EncodedColumn:
    """A training column as numbers."""

    feature: Feature  # what the partition has to know about the column
    values: NDArray[np.float32]  # what the tree sees; NaN where the value is missing
    ranks: Ints  # for each category, its number in `values`; empty for a number column


def encode_column(
    column: pd.Series, positive: Labels | Floats, weight: Floats, *, complete: bool = True
) -> EncodedColumn:
    """Encode a column: numbers as they are, categories by the rank of their positive rate.

    Categories with fewer than `fewest_category_rows` are encoded as missing values. Numbers
    need not be looked at before it is known that they matter: see `completed`.
    """
    if feature_kind(column) == "category":
        return _encode_category(column, positive, weight)
    feature = Feature(str(column.name), "number", whole=pd.api.types.is_integer_dtype(column))
    encoded = EncodedColumn(feature, single_values(column), np.empty(0, dtype=np.int64))
    return completed(encoded) if complete else encoded


def completed(column: EncodedColumn) -> EncodedColumn:
    """Look at the numbers of a column: whether any are missing, and whether all are whole.

    Infinite values become the largest ones, which are on the same side of every threshold.
    """
    values, missing = column.values, False
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values.sum())  # adding up is the fastest look at all values
    if not finite:
        values = bounded(values)
        missing = bool(np.isnan(values).any())
    whole = is_whole(values, integers=column.feature.whole, missing=missing)
    feature = replace(column.feature, whole=whole, missing=missing)
    return replace(column, feature=feature, values=values)


def is_whole(values: NDArray[np.float32], *, integers: bool, missing: bool) -> bool:
    """Return whether a column, of integers or not, certainly holds whole numbers.

    pandas turns whole numbers with gaps into floats, so those count as whole; floats
    without gaps may hold fractions in other rows.
    """
    if not integers and not missing:
        return False
    known = values[~np.isnan(values)]
    return bool((np.abs(known) <= EXACT).all() and (known == np.floor(known)).all())


def _encode_category(column: pd.Series, positive: Labels | Floats, weight: Floats) -> EncodedColumn:
    codes, feature = encode_names(column, fewest_category_rows(len(column)))
    known, many = codes >= 0, len(feature.categories)
    total = np.bincount(codes[known], weight[known], many)
    hits = np.bincount(codes[known], (weight * positive)[known], many)
    ranks = np.empty(many, dtype=np.int64)
    ranks[np.argsort(hits / total, kind="stable")] = np.arange(many)
    values = np.append(ranks, np.nan).astype(np.float32)[codes]
    return EncodedColumn(feature, values, ranks)


def encode_names(column: pd.Series, fewest: int) -> tuple[Ints, Feature]:
    """Return each row's position among the categories, sorted by name, and the feature.

    Missing values have the code -1, and so have categories with fewer rows than `fewest`.
    """
    codes, raw = category_names(column)
    inside = np.flatnonzero(np.bincount(codes + 1, minlength=1)[1:])
    missing = bool((codes < 0).any())
    names, merged = np.unique(np.array(raw, dtype=object)[inside], return_inverse=True)
    codes = _looked_up(inside, merged, len(raw), codes)
    rows = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = np.flatnonzero(rows >= fewest)
    codes = _looked_up(kept, np.arange(kept.size), len(names), codes)
    categories, rare = tuple(names[kept].tolist()), kept.size < len(names)
    return codes, Feature(str(column.name), "category", categories, missing=missing, rare=rare)


def _looked_up(known: Ints, places: Ints, many: int, codes: Ints) -> Ints:
    """Replace known codes by their places and all others, of which -1 is one, by -1."""
    table = np.full(many + 1, -1)  # the last entry is that of code -1
    table[known] = places
    return table[codes]


def encode_columns(
    frame: pd.DataFrame, positive: Labels | Floats, weight: Floats
) -> tuple[NDArray[np.float32], list[EncodedColumn]]:
    """Encode all columns, and put them next to each other for a tree.

    Categories are ordered by the mean of `positive`, which need not be a label. Columns in single
    precision that lie side by side are not copied.
    """
    single = all(dtype == np.float32 for dtype in frame.dtypes)
    matrix = frame.to_numpy() if single else np.empty(frame.shape, dtype=np.float32, order="F")
    own, columns, groups = not single, [], one_hot_groups(frame)
    for i, (name, column) in enumerate(frame.items()):
        encoded = _grouped(encode_column(column, positive, weight), groups.get(str(name)))
        if not np.may_share_memory(encoded.values, matrix):
            if not own:  # what is in the frame stays as it is
                matrix, own = matrix.copy(order="F"), True
            matrix[:, i] = encoded.values
        columns.append(encoded)
    return matrix, [replace(each, values=matrix[:, i]) for i, each in enumerate(columns)]


def _grouped(column: EncodedColumn, group: str | None) -> EncodedColumn:
    """Say which group a one-hot column is of."""
    return (
        column if group is None else replace(column, feature=replace(column.feature, group=group))
    )


def complete_columns(
    columns: list[EncodedColumn], tree: GrownTree, X: Matrix
) -> list[EncodedColumn]:
    """Look at the numbers, which are in `X`, of the columns that a tree splits.

    Fractions without gaps are not read: infinite values may stay infinite.
    """
    gaps = np.ones(len(columns), dtype=np.bool_) if tree.gaps is None else tree.gaps
    chosen = {
        i
        for i in tree.feature[tree.feature >= 0].tolist()
        if columns[i].feature.kind == "number" and (gaps[i] or columns[i].feature.whole)
    }
    return [
        completed(replace(each, values=X[:, i])) if i in chosen else each
        for i, each in enumerate(columns)
    ]


def to_partition(tree: GrownTree, columns: list[EncodedColumn]) -> Partition:
    """Write a tree as a partition with the same nodes in the same order."""
    features = []
    for i in sorted(set(tree.feature[tree.feature >= 0].tolist())):
        here = tree.feature == i
        beside = None if tree.beside is None else tree.beside[here]
        feature = with_digits(columns[i], tree.threshold[here], beside)
        if feature not in features:  # a category column may have been split in several orders
            features.append(feature)
    sets = tree.sets.by_node()
    nodes = (_node(tree, i, columns, sets.get(i)) for i in range(tree.feature.size))
    return Partition(tuple(features), tuple(nodes))


def with_digits(column: EncodedColumn, thresholds: Floats, beside: Floats | None = None) -> Feature:
    """Show thresholds with enough digits to separate the values next to them, if there are any.

    `beside` are these values; otherwise they are looked for in the column.
    """
    if column.feature.kind == "category" or (beside is None and not column.values.size):
        return column.feature
    if beside is None:
        thresholds = np.unique(thresholds)  # several nodes may cut alike
        beside = neighbours(column.values, thresholds)
    cuts = zip(thresholds.tolist(), beside.tolist(), strict=True)
    digits = (needed_digits(cut, *values) for cut, values in cuts if np.isfinite(cut))
    return replace(column.feature, digits=max(digits, default=4))


def _node(
    tree: GrownTree, position: int, columns: list[EncodedColumn], ranks_left: list[int] | None
) -> Node:
    rows, rate = int(tree.rows[position]), float(tree.rate[position])
    if tree.feature[position] < 0:
        return Node(rows, rate)
    column = columns[tree.feature[position]]
    # An infinite threshold separates the missing values from the rest.
    threshold = float(tree.threshold[position])
    number = column.feature.kind == "number" and np.isfinite(threshold)
    ranks = column.ranks.tolist()
    left = {rank for rank in ranks if rank <= threshold} if ranks_left is None else set(ranks_left)
    names = zip(column.feature.categories, ranks, strict=True)
    return Node(
        rows,
        rate,
        column.feature.name,
        threshold if number else None,
        tuple(name for name, rank in names if rank in left),
        bool(tree.missing_left[position]),
        int(tree.left[position]),
        int(tree.right[position]),
    )


def pick_columns(
    frame: pd.DataFrame,
    rows: Ints | None,
    ordering: Labels | Floats,
    weight: Floats | None,
    progress: Progress = silent,
) -> tuple[PickedColumns, list[EncodedColumn]]:
    """Encode the training rows of a table, by default all; single precision is not copied.

    Categories are ordered by the mean of `ordering`, which has one entry per training row, as
    has `weight`. The encoded columns have no values, see `complete_columns`.
    """
    weight = np.broadcast_to(1.0, len(ordering)) if weight is None else weight
    stored, whole, columns, groups = [], [], [], one_hot_groups(frame, rows)
    for i, (name, column) in enumerate(frame.items()):
        progress(i / frame.shape[1], f"Growing the tree: column {i + 1} of {frame.shape[1]}")
        chosen = column if rows is None else column.iloc[rows]
        encoded = encode_column(chosen, ordering, weight, complete=False)
        encoded = _grouped(encoded, groups.get(str(name)))
        whole.append(column.dtype == np.float32)
        stored.append(np.ascontiguousarray(column) if whole[-1] else encoded.values)
        columns.append(replace(encoded, values=np.empty(0, np.float32)))
    return PickedColumns(stored, rows, whole, len(ordering)), columns


@dataclass(frozen=True)
class TrainingRows:
    """Columns, labels and weights of training rows."""

    frame: pd.DataFrame  # their columns
    y: Labels  # class numbers 0, 1, …
    weight: Floats | None  # row weights, all above 0
    used: Bools = field(default_factory=lambda: np.ones(0, dtype=np.bool_))  # of the given rows

    @cached_property
    def ordering(self) -> Labels | Floats:
        """A number per row by whose mean categories are ordered: the label of two classes."""
        return self.y if self.y.max() < 2 else class_direction(self.y, self.weight)

    def encode(self) -> tuple[Singles, list[EncodedColumn]]:
        """Return the columns as the numbers that a tree splits, as `encode_columns` does."""
        weight = np.broadcast_to(1.0, len(self.frame)) if self.weight is None else self.weight
        return encode_columns(self.frame, self.ordering, weight)

    def take(self, rows: Ints) -> "TrainingRows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingRows(self.frame.iloc[rows], self.y[rows], weight)

    def with_codes(self) -> "TrainingRows":
        """Turn text columns into categorical ones, so that their names are looked up only once."""
        texts = [name for name, column in self.frame.items() if feature_kind(column) == "category"]
        return replace(self, frame=self.frame.astype(dict.fromkeys(texts, "category")))


def class_numbers(y: Any, most: int) -> Labels:
    """Return the number of the class of each label, or say what is wrong with the labels."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "iu" and y.size:
        low, high = y.min(), y.max()
        upper = np.asarray(y == high)
        others = y.size - np.count_nonzero(upper)
        if low < high and others == np.count_nonzero(y == low):  # nothing has to be sorted
            return upper.view(np.int8)
    codes, classes = pd.factorize(np.asarray(y), sort=True)
    missing = int(np.count_nonzero(codes < 0))
    if missing or not 2 <= len(classes) <= most:
        found = "one class" if len(classes) == 1 else f"{len(classes):,} classes"
        found = counted(missing, "gap") if missing else found
        raise PartitionError(
            f"The labels of the training rows have {found}.",
            f"A tree is trained on labels of {'exactly two' if most == 2 else f'2 to {most}'} "
            "classes.",
            "Choose training rows of several classes, each with its label, and another label "
            "column if it has too many.",
        )
    return codes.astype(np.int8)


def class_direction(codes: Labels, weight: Floats | None = None) -> Floats:
    """Give each row a number by its class, for ordering categories by its mean.

    It is the direction in which the shares of the classes differ most between rows: the first
    principal axis of the classes. The two that are most common lie furthest apart.
    """
    share = np.bincount(codes, weight) / (codes.size if weight is None else weight.sum())
    axis = np.linalg.eigh(np.diag(share) - np.outer(share, share))[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return np.asarray(axis[codes], dtype=np.float64)
