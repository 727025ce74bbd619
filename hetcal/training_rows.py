"""The rows that a tree is grown on."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Ints, Singles
from hetcal.columns import counted
from hetcal.errors import PartitionError
from hetcal.feature_values import feature_kind
from hetcal.ranking import Labels
from hetcal.tree_encoding import EncodedColumn, encode_columns


@dataclass(frozen=True)
class TrainingRows:
    """Columns, labels and weights of training rows.

    Parameters
    ----------
    frame : DataFrame
        Their columns.
    y : array of int
        Class numbers 0, 1, ….
    weight : array of float or None
        Row weights, all above 0.
    used : array of bool, optional
        Which of the rows that an estimator was given these are.
    """

    frame: pd.DataFrame
    y: Labels
    weight: Floats | None
    used: Bools = field(default_factory=lambda: np.ones(0, dtype=np.bool_))

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
        """Give text columns the codes of their categories, once for all that encode them."""
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


def two_classes(y: Any) -> Labels:
    """Return labels of two classes as 0 and 1, or say what is wrong with them."""
    return class_numbers(y, 2)


def class_direction(codes: Labels, weight: Floats | None = None) -> Floats:
    """Give each row a number by its class, for ordering categories by its mean.

    It is the direction in which the shares of the classes differ most between rows: the first
    principal axis of the classes. The two that are most common lie furthest apart.
    """
    share = np.bincount(codes, weight) / (codes.size if weight is None else weight.sum())
    axis = np.linalg.eigh(np.diag(share) - np.outer(share, share))[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return np.asarray(axis[codes], dtype=np.float64)
