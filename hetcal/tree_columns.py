"""The columns that many trees share, as the numbers that their thresholds compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from hetcal.arrays import Singles
from hetcal.binning import bounded
from hetcal.errors import PartitionError
from hetcal.feature_values import category_codes, named_columns, single_values
from hetcal.grown_tree import GrownTree
from hetcal.nodes import Feature, broken
from hetcal.rules import shown
from hetcal.tree_encoding import EncodedColumn, with_digits


@dataclass(frozen=True)
class TreeColumns:
    """Columns of a table as a matrix of numbers.

    A number is itself in single precision; a category is the rank of its positive rate in
    training, so that hundreds of trees need not repeat the names. Missing values, and
    categories rare or unseen in training, are NaN.

    Parameters
    ----------
    features : tuple of Feature
        The columns.
    ranks : tuple of tuple of int
        For each category of a column, its number; empty for a column of numbers.
    """

    features: tuple[Feature, ...]
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
        frame = named_columns(X)
        names = list(frame.columns)
        absent = [each.name for each in self.features if names.count(each.name) != 1]
        if absent:
            listed = "', '".join(map(shown, absent[:5]))
            raise PartitionError(
                f"The table has no column '{listed}', or has it twice.",
                "The trees split on it, so every row needs it once.",
                "Add the column, or give it the name that it had in training.",
            )
        matrix = np.empty((len(frame), len(self.features)), dtype=np.float32, order="F")
        for i, feature in enumerate(self.features):
            matrix[:, i] = self._numbers(i, frame.iloc[:, names.index(feature.name)])
        return matrix

    def _numbers(self, position: int, column: pd.Series) -> Singles:
        feature = self.features[position]
        if feature.kind == "number":
            return bounded(single_values(column))
        # The last entry is that of code -1: missing, rare or unseen.
        numbers = np.array([*self.ranks[position], np.nan], dtype=np.float32)
        return numbers[category_codes(column, feature.categories)]
