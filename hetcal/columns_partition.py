"""A partition by the user's own segments: markets, products, age groups."""

from collections.abc import Mapping, Sequence
from math import prod
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length

from hetcal.columns import near_names
from hetcal.errors import PartitionError
from hetcal.feature_values import feature_kind
from hetcal.nodes import MAX_LEAVES
from hetcal.partition_estimator import PartitionEstimator
from hetcal.ranking import Labels
from hetcal.row_weights import row_weights
from hetcal.segment_tree import combine
from hetcal.segments import Bins, Segments, category_segments, number_segments
from hetcal.training_rows import two_classes
from hetcal.tree_encoding import fewest_category_rows


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
            positive = two_classes(y)
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
        listed = list(self.bins) if isinstance(self.bins, Mapping) else []
        for name in listed:
            _refuse(name not in names, f"Bins are given for '{name}', which is not chosen.")
        return names

    def _segments(self, column: pd.Series) -> Segments:
        apart = self.missing == "apart"
        if feature_kind(column) == "number":
            return number_segments(column, self._bins(str(column.name)), apart=apart)
        edges = isinstance(self.bins, Mapping) and column.name in self.bins
        _refuse(edges, f"Bins are given for '{column.name}', which holds categories.")
        fewest = max(1, fewest_category_rows(len(column)))
        if self.min_category_rows is not None:
            fewest = self.min_category_rows
        return category_segments(column, fewest, apart=apart)

    def _bins(self, name: str) -> Bins:
        bins = self.bins.get(name, 4) if isinstance(self.bins, Mapping) else self.bins
        return _at_least_one(bins, f"number of bins of '{name}'") if np.ndim(bins) == 0 else bins

    def _check_parameters(self) -> None:
        if self.missing not in ("apart", "joined"):
            raise PartitionError(
                f"The parameter 'missing' is {self.missing!r}.",
                "It has to be 'apart' or 'joined'.",
                "Choose one of the two.",
            )
        _at_least_one(self.max_leaves, "parameter 'max_leaves'")
        if self.min_category_rows is not None:
            _at_least_one(self.min_category_rows, "parameter 'min_category_rows'")

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


def _at_least_one(value: Any, name: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise PartitionError(
            f"The {name} is {value!r}.",
            "It has to be a whole number of at least 1.",
            "Choose such a number.",
        )
    return int(value)
