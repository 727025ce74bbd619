"""Terms of one or two columns: steps that add to the logit, as tables one can read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.data.columns import category_names, named_columns
from hetcal.partitions.nodes import Feature, broken, feature_fields, number_words, read_feature
from hetcal.partitions.partition import column_values
from hetcal.strict_json import Fields

MOST_ENTRIES = 100_000  # of one term
MISSING, OTHER = "missing", "other"


@dataclass(frozen=True, eq=False)
class Axis:
    """How the values of one column fall into entries.

    Numbers: up to the first cut, up to the second, …, beyond the last, missing. Categories: one
    entry for each, or for each group of them, then `other` (rare or unseen), then missing.
    """

    feature: Feature
    cuts: Floats  # ascending; empty for categories
    groups: Ints  # entry of each of the feature's categories; empty for numbers

    def __post_init__(self) -> None:
        number = self.feature.kind == "number"
        if self.cuts.size and not (number and (np.diff(self.cuts) > 0).all()):
            raise broken(f"the steps of '{self.feature.name}' are not in order")
        if self.groups.size != len(self.feature.categories):
            raise broken(f"the categories of '{self.feature.name}' have no entries")
        if self.groups.size and {*self.groups.tolist()} != {*range(int(self.groups.max()) + 1)}:
            raise broken(f"an entry of '{self.feature.name}' has no category")

    @property
    def known(self) -> int:
        """Number of entries for known values; those for others and missing ones follow."""
        if self.feature.kind == "number":
            return self.cuts.size + 1
        return int(self.groups.max(initial=-1)) + 1

    @property
    def entries(self) -> int:
        """Number of all entries."""
        return self.known + (1 if self.feature.kind == "number" else 2)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What is in each entry, in words."""
        if self.feature.kind == "category":
            names = np.array(self.feature.categories, dtype=object)
            known = [", ".join(names[self.groups == each]) for each in range(self.known)]
            return (*known, OTHER, MISSING)
        shown = [number_words(each, self.feature) for each in self.cuts.tolist()]
        if not shown:
            return ("any value", MISSING)
        between = [f"{low} to {high}" for low, high in pairwise(shown)]
        return (f"up to {shown[0]}", *between, f"above {shown[-1]}", MISSING)

    def place(self, X: pd.DataFrame) -> Ints:
        """Return the entry of each row."""
        (values,) = column_values(X, [self.feature])
        if self.feature.kind == "number":
            entry = np.searchsorted(self.cuts, values.astype(np.float64), side="left")
            entry[np.isnan(values)] = self.known
            return entry
        entries = np.append(self.groups, self.known)  # the last is that of code -1
        entry = entries[np.asarray(values, dtype=np.int64)]
        codes, _ = category_names(X[self.feature.name])
        entry[codes < 0] = self.known + 1
        return entry


@dataclass(frozen=True, eq=False)
class Curve:
    """What one column adds to the logit."""

    axis: Axis
    values: Floats  # of each entry
    error: Floats  # standard error of each value, between members; 0 where it is unknown
    rows: Ints  # training rows in each entry

    def __post_init__(self) -> None:
        _check(self, (self.axis.entries,))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The column's axis."""
        return (self.axis,)

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.axis.feature.name

    def add(self, X: pd.DataFrame) -> Floats:
        """Return what the term adds to the logit of each row."""
        return self.values[self.axis.place(X)]


@dataclass(frozen=True, eq=False)
class Pair:
    """What two columns add together, beyond what each adds alone."""

    first: Axis
    second: Axis
    values: Floats  # entries of the first x entries of the second
    error: Floats
    rows: Ints

    def __post_init__(self) -> None:
        _check(self, (self.first.entries, self.second.entries))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of both columns."""
        return self.first, self.second

    @property
    def name(self) -> str:
        """Names of the columns."""
        return f"{self.first.feature.name} × {self.second.feature.name}"

    def add(self, X: pd.DataFrame) -> Floats:
        """Return what the term adds to the logit of each row."""
        return self.values[self.first.place(X), self.second.place(X)]


Term = Curve | Pair


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms that are added up, the most important first."""

    terms: tuple[Term, ...] = ()

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The terms of one column."""
        return tuple(each for each in self.terms if isinstance(each, Curve))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The terms of two columns."""
        return tuple(each for each in self.terms if isinstance(each, Pair))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms."""
        return tuple(each.name for each in self.terms)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that are read, each once."""
        read = {axis.feature.name: axis.feature for each in self.terms for axis in each.axes}
        return tuple(read.values())

    @property
    def numbers(self) -> int:
        """How many numbers the terms have."""
        return sum(each.values.size for each in self.terms)

    @cached_property
    def importance(self) -> Floats:
        """Standard deviation of each term over the training rows, in logits."""
        return np.array([_deviation(each) for each in self.terms])

    @property
    def carrying(self) -> int:
        """How many of the terms make up 95 % of the variance of all."""
        share = np.sort(self.importance**2)[::-1].cumsum()
        return int(np.searchsorted(share, 0.95 * share[-1]) + 1) if share.size else 0

    def values(self, X: pd.DataFrame | Any) -> Floats:
        """Return what each term adds to the logit of each row, rows x terms."""
        frame = named_columns(X)
        added = np.empty((len(frame), len(self.terms)), order="F")
        for i, column in enumerate(self._add(frame)):
            added[:, i] = column
        return added

    def total(self, X: pd.DataFrame | Any) -> Floats:
        """Return the sum of all terms for each row."""
        frame = named_columns(X)
        return sum(self._add(frame), np.zeros(len(frame)))

    def _add(self, frame: pd.DataFrame) -> Iterator[Floats]:
        return (each.add(frame) for each in self.terms)

    def scaled(self, factor: float) -> "Terms":
        """Multiply all terms by a number."""
        return Terms(tuple(_scaled(each, factor) for each in self.terms))


def _deviation(term: Term) -> float:
    rows, values = term.rows.ravel(), term.values.ravel()
    if not rows.sum():
        return 0.0
    mean = np.average(values, weights=rows)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=rows)))


def _scaled(term: Term, factor: float) -> Term:
    values, error = factor * term.values, abs(factor) * term.error
    if isinstance(term, Curve):
        return Curve(term.axis, values, error, term.rows)
    return Pair(term.first, term.second, values, error, term.rows)


def _check(term: Term, shape: tuple[int, ...]) -> None:
    if term.values.size > MOST_ENTRIES:
        raise broken("a term has too many entries")
    if any(each.shape != shape for each in (term.values, term.error, term.rows)):
        raise broken("a term does not have one number for each entry")
    if not (np.isfinite(term.values).all() and np.isfinite(term.error).all()):
        raise broken("a number of a term is not finite")


def terms_fields(terms: Terms) -> dict[str, Any]:
    """Return the fields of terms for JSON; each column is described once per axis."""
    axes = [axis for each in terms.terms for axis in each.axes]
    features = {axis.feature.name: axis.feature for axis in axes}
    known = list(features)
    return {
        "features": [feature_fields(each) for each in features.values()],
        "terms": [
            {
                "axes": [
                    {
                        "feature": known.index(axis.feature.name),
                        "cuts": axis.cuts.tolist(),
                        "groups": axis.groups.tolist(),
                    }
                    for axis in each.axes
                ],
                "values": each.values.ravel().tolist(),
                # A band is drawn, not calculated with: three digits make the file half as large.
                "error": [float(f"{error:.3g}") for error in each.error.ravel()],
                "rows": each.rows.ravel().tolist(),
            }
            for each in terms.terms
        ],
    }


def read_terms(fields: Fields) -> Terms:
    """Read what `terms_fields` gave; what is no term is a `PartitionError` or a `JsonError`."""
    fields.only("features", "terms")
    features = tuple(read_feature(each) for each in fields.objects("features"))
    return Terms(tuple(_read_term(each, features) for each in fields.objects("terms")))


def _read_term(fields: Fields, features: Sequence[Feature]) -> Term:
    fields.only("axes", "values", "error", "rows")
    axes = [_read_axis(each, features) for each in fields.objects("axes")]
    shape = tuple(each.entries for each in axes)
    values, error = (np.array(fields.numbers(key)) for key in ("values", "error"))
    rows = np.array(fields.integers("rows", 0, 2**62), dtype=np.int64)
    if len(axes) not in (1, 2) or any(
        each.size != np.prod(shape) for each in (values, error, rows)
    ):
        raise broken("a term does not have one number for each entry")
    parts = values.reshape(shape), error.reshape(shape), rows.reshape(shape)
    return Curve(axes[0], *parts) if len(axes) == 1 else Pair(axes[0], axes[1], *parts)


def _read_axis(fields: Fields, features: Sequence[Feature]) -> Axis:
    fields.only("feature", "cuts", "groups")
    feature = features[fields.integer("feature", 0, len(features) - 1)]
    groups = np.array(fields.integers("groups", 0, MOST_ENTRIES), dtype=np.int64)
    return Axis(feature, np.array(fields.numbers("cuts")), groups)
