"""The segments of one column: bins of a number, or categories, and where missing values go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.errors import PartitionError
from hetcal.feature_values import single_values
from hetcal.nodes import Feature
from hetcal.rules import short_number
from hetcal.tree_encoding import encode_names, is_whole

Bins = int | Sequence[float]


@dataclass(frozen=True)
class Segments:
    """The segments of one column, from left to right.

    Parameters
    ----------
    feature : Feature
        The column. Each of its categories is a segment.
    edges : tuple of float
        The highest value of each segment of a number but the last.
    missing : int
        The segment that takes missing values, and categories rare or unseen. If it is the
        last one and `apart`, it takes nothing else.
    apart : bool
        Missing values have a segment of their own.
    """

    feature: Feature
    edges: tuple[float, ...]
    missing: int
    apart: bool

    @property
    def count(self) -> int:
        """How many segments there are."""
        known = len(self.feature.categories) if self.is_category else len(self.edges) + 1
        return known + self.apart

    @property
    def is_category(self) -> bool:
        """Whether segments are categories."""
        return self.feature.kind == "category"


def number_segments(column: pd.Series, bins: Bins, *, apart: bool) -> Segments:
    """Divide a number column at quantiles, or at given edges; an edge belongs to its left.

    A column with no more distinct values than bins is divided between all of them.
    """
    values = single_values(column)
    known = values[~np.isnan(values)].astype(np.float64)
    missing = known.size < values.size
    integers = pd.api.types.is_integer_dtype(column)
    edges = _quantiles(known, bins) if isinstance(bins, int) else _given(str(column.name), bins)
    feature = Feature(
        str(column.name),
        "number",
        whole=is_whole(values, integers=integers, missing=missing),
        digits=max([4, *map(_digits, edges.tolist())]),
        missing=missing,
    )
    rows = np.bincount(np.searchsorted(edges, known), minlength=edges.size + 1)
    return _place_missing(feature, edges, rows, apart=apart and missing)


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
    absent = feature.missing or feature.rare
    return _place_missing(feature, np.empty(0), rows, apart=apart and absent)


def _place_missing(feature: Feature, edges: Floats, rows: Ints, *, apart: bool) -> Segments:
    """Give missing values a segment of their own, or the one with the most rows."""
    place = rows.size if apart else int(np.argmax(rows))
    return Segments(feature, tuple(edges.tolist()), place, apart)


def _quantiles(known: Floats, bins: int) -> Floats:
    distinct = np.unique(known)
    if distinct.size > bins:
        shares = np.arange(1, bins) / bins
        distinct = np.unique(
            np.append(np.quantile(known, shares, method="inverted_cdf"), distinct[-1])
        )
    return distinct[:-1][np.isfinite(distinct[:-1])]


def _given(name: str, bins: Sequence[float]) -> Floats:
    with np.errstate(over="ignore"):
        edges = pd.to_numeric(pd.Series(list(bins), dtype=object), errors="coerce").to_numpy(
            dtype=np.float32
        )
    if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise PartitionError(
            f"The edges of the bins of the column '{name}' are {list(bins)}.",
            "Edges are finite numbers, each above the one before.",
            "Correct the edges, or give a number of bins.",
        )
    return edges.astype(np.float64)


def _digits(edge: float) -> int:
    """Return how many digits, at least 4, tell an edge from other single-precision numbers."""
    for digits in range(4, 9):
        if np.float32(float(short_number(edge, digits))) == np.float32(edge):
            return digits
    return 9
