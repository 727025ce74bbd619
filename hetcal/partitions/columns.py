"""A partition by the user's own segments: markets, products, age groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Floats, Ints, Labels
from hetcal.cells.cells import MAX_LEAVES
from hetcal.data.columns import (
    feature_kind,
    fewest_category_rows,
    row_weights,
    single_values,
)
from hetcal.errors import PartitionError, near_names
from hetcal.partitions.encoding import class_numbers, encode_names, is_whole
from hetcal.partitions.nodes import Feature, Node, short_number
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import PartitionEstimator, require_count

Bins = int | Sequence[float]


@dataclass(frozen=True)
class Segments:
    """The segments of one column, from left to right."""

    feature: Feature  # the column; each of its categories is a segment
    edges: tuple[float, ...]  # the highest value of each segment of a number but the last
    rows: Ints  # of each segment
    apart: bool  # missing values, and categories rare or unseen, have a segment of their own

    @property
    def count(self) -> int:
        """How many segments there are."""
        return self.rows.size + self.apart

    @property
    def missing(self) -> int:
        """The segment of missing values: their own, or the one with the most rows."""
        return self.rows.size if self.apart else int(self.rows.argmax())


def number_segments(column: pd.Series, bins: Bins, *, apart: bool) -> Segments:
    """Divide a number column at quantiles, or at given edges; an edge belongs to its left.

    A column with no more distinct values than bins is divided between all of them.
    """
    values = single_values(column)
    known = values[~np.isnan(values)].astype(np.float64)
    missing = known.size < values.size
    integers = pd.api.types.is_integer_dtype(column)
    edges = _quantiles(known, bins) if isinstance(bins, int) else _given(str(column.name), bins)
    whole = is_whole(values, integers=integers, missing=missing)
    digits = max([4, *map(_digits, edges.tolist())])
    feature = Feature(str(column.name), "number", (), whole, digits, missing)
    rows = np.bincount(np.searchsorted(edges, known), minlength=edges.size + 1)
    return Segments(feature, tuple(edges.tolist()), rows, apart and missing)


def category_segments(column: pd.Series, fewest: int, *, apart: bool) -> Segments:
    """Make every category with enough rows a segment; the others follow the missing values."""
    codes, feature = encode_names(column, fewest)
    if not feature.categories:
        raise PartitionError(
            f"The column '{column.name}' has no category with at least {fewest:,} rows.",
            "A segment is a category that many rows share.",
            "Choose another column, or lower the fewest rows of a category.",
        )
    rows = np.bincount(codes[codes >= 0], minlength=len(feature.categories))
    return Segments(feature, (), rows, apart and (feature.missing or feature.rare))


def _quantiles(known: Floats, bins: int) -> Floats:
    distinct = np.unique(known)
    if distinct.size > bins:
        inner = np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf")
        distinct = np.unique(np.append(inner, distinct[-1]))
    return distinct[:-1][np.isfinite(distinct[:-1])]


def _given(name: str, bins: Sequence[float]) -> Floats:
    with np.errstate(over="ignore"):
        numbers = pd.to_numeric(pd.Series(list(bins), dtype=object), errors="coerce")
        edges = numbers.to_numpy(dtype=np.float32)
    if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise PartitionError(
            f"The edges of the bins of the column '{name}' are {list(bins)}.",
            "Edges are finite numbers, each above the one before.",
            "Correct the edges, or give a number of bins.",
        )
    return edges.astype(np.float64)


def _digits(edge: float) -> int:
    """Return how many digits, at least 4, distinguish an edge in single precision."""
    for digits in range(4, 9):
        if np.float32(float(short_number(edge, digits))) == np.float32(edge):
            return digits
    return 9


def combine(columns: Sequence[Segments]) -> Partition:
    """Divide all rows by the first column, each part by the second, and so on.

    Segments are halved until each is alone, which keeps paths short. Leaves are in the order of
    the segments. Rows are not yet counted.
    """
    nodes: list[Node] = []
    _grow(nodes, tuple(columns), 0, columns[0].count)
    features = tuple(each.feature for each in columns if each.count > 1)
    return Partition(features, tuple(nodes))


def _grow(nodes: list[Node], columns: tuple[Segments, ...], low: int, high: int) -> int:
    """Add the tree over segments `low` to `high` of the first column; return its place."""
    if high - low == 1 and len(columns) > 1:
        return _grow(nodes, columns[1:], 0, columns[1].count)
    place = len(nodes)
    nodes.append(Node(0, 0.0))
    if high - low > 1:
        middle = (low + high) // 2
        left = _grow(nodes, columns, low, middle)
        right = _grow(nodes, columns, middle, high)
        nodes[place] = replace(_split(columns[0], low, middle), left=left, right=right)
    return place


def _split(column: Segments, low: int, middle: int) -> Node:
    # Categories have no edges; beyond the last edge there are only missing values on the right.
    threshold = column.edges[middle - 1] if middle <= len(column.edges) else None
    categories = column.feature.categories[low:middle]
    missing_left = low <= column.missing < middle
    return Node(0, 0.0, column.feature.name, threshold, categories, missing_left)


class ColumnsPartition(PartitionEstimator):
    """Partition the rows by columns of choice: every combination of their segments is a leaf.

    A number is divided into bins, at quantiles or at given edges; an edge belongs to the bin
    below it. Each category is a segment. Categories with few rows follow the missing values,
    and so do those that are unseen.

    Parameters
    ----------
    columns : str or sequence of str
        The columns, the first one outermost.
    bins : int or mapping, default=4
        Number of bins of numbers, holding equally many rows; or, by column, a number of bins
        or the edges between them. Columns that a mapping leaves out have 4 bins.
    missing : {"apart", "joined"}, default="apart"
        Missing values are a segment of their own, or join the one with the most rows. They
        join it, too, if there are none in `fit`.
    min_category_rows : int or None, default=None
        Fewest rows of a category; None means 50, or one in twenty of a small table.
    max_leaves : int, default=256
        Most leaves; more are refused.

    Attributes
    ----------
    partition_ : Partition
        The segments as plain data. Its rates are 0 if `fit` is given no labels.
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        bins: int | Mapping[str, Bins] = 4,
        missing: Literal["apart", "joined"] = "apart",
        min_category_rows: int | None = None,
        max_leaves: int = 256,
    ) -> None:
        self.columns = columns
        self.bins = bins
        self.missing = missing
        self.min_category_rows = min_category_rows
        self.max_leaves = max_leaves

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the segments of the columns; labels only give the leaves their rates."""
        self._check_parameters()
        frame = self._frame(X, reset=True)
        weight = row_weights(sample_weight, frame)
        positive: Labels = np.zeros(len(frame), dtype=np.int8)
        if y is not None:
            y = column_or_1d(y, warn=True)
            check_consistent_length(frame, y)
            positive = class_numbers(y, 2)
        used = weight > 0
        if not used.all():
            frame, positive, weight = frame[used], positive[used], weight[used]
        names = self._names([str(name) for name in frame.columns])
        segments = [self._segments(frame[name]) for name in names]
        self._check_leaves(segments)
        self.partition_ = combine(segments).counting(frame, positive, weight)
        return self

    def _names(self, known: list[str]) -> list[str]:
        names = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        _refuse(not names, "No column is chosen.")
        _refuse(len(set(names)) < len(names), "A column is chosen twice.")
        for name in names:
            near = [f" (is '{each}' meant?)" for each in near_names(name, known)[:1]]
            wrong = f"The table has no column '{name}', or has it twice{''.join(near)}."
            _refuse(known.count(name) != 1, wrong)
        for name in self.bins if isinstance(self.bins, Mapping) else ():
            _refuse(name not in names, f"Bins are given for '{name}', which is not chosen.")
        return names

    def _segments(self, column: pd.Series) -> Segments:
        apart = self.missing == "apart"
        if feature_kind(column) == "number":
            return number_segments(column, self._bins(str(column.name)), apart=apart)
        edges = isinstance(self.bins, Mapping) and column.name in self.bins
        _refuse(edges, f"Bins are given for '{column.name}', which holds categories.")
        fewest = self.min_category_rows or max(1, fewest_category_rows(len(column)))
        return category_segments(column, fewest, apart=apart)

    def _bins(self, name: str) -> Bins:
        bins = self.bins.get(name, 4) if isinstance(self.bins, Mapping) else self.bins
        return require_count(bins, f"number of bins of '{name}'") if np.ndim(bins) == 0 else bins

    def _check_parameters(self) -> None:
        if self.missing not in ("apart", "joined"):
            raise PartitionError(
                f"The parameter 'missing' is {self.missing!r}.",
                "It has to be 'apart' or 'joined'.",
                "Choose one of the two.",
            )
        require_count(self.max_leaves, "parameter 'max_leaves'")
        if self.min_category_rows is not None:
            require_count(self.min_category_rows, "parameter 'min_category_rows'")

    def _check_leaves(self, segments: list[Segments]) -> None:
        leaves, most = prod(each.count for each in segments), min(self.max_leaves, MAX_LEAVES)
        if leaves > most:
            named = [f"'{each.feature.name}' ({each.count:,} segments)" for each in segments]
            raise PartitionError(
                f"The columns {' and '.join(named)} make {leaves:,} leaves."
                if len(named) > 1
                else f"The column {named[0]} makes {leaves:,} leaves.",
                f"At most {most:,} are possible, and each should hold many rows.",
                "Choose fewer columns or bins, or let more categories count as rare.",
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def _refuse(wrong: bool, what: str) -> None:
    if wrong:
        raise PartitionError(
            what,
            "Segments are made of one or more columns of the table, each chosen once.",
            "Choose the columns again.",
        )
