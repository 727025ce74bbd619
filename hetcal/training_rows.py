"""The rows that a tree is grown on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints, Singles
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
    positive : array of int
        Labels 0 and 1.
    weight : array of float or None
        Row weights, all above 0.
    """

    frame: pd.DataFrame
    positive: Labels
    weight: Floats | None

    def encode(self, *, complete: bool = True) -> tuple[Singles, list[EncodedColumn]]:
        """Return the columns as the numbers that a tree splits, as `encode_columns` does."""
        weight = np.broadcast_to(1.0, len(self.frame)) if self.weight is None else self.weight
        return encode_columns(self.frame, self.positive, weight, complete=complete)

    def take(self, rows: Ints) -> "TrainingRows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingRows(self.frame.iloc[rows], self.positive[rows], weight)

    def with_codes(self) -> "TrainingRows":
        """Give text columns the codes of their categories, once for all that encode them."""
        texts = [name for name, column in self.frame.items() if feature_kind(column) == "category"]
        return replace(self, frame=self.frame.astype(dict.fromkeys(texts, "category")))


def two_classes(y: Any) -> Labels:
    """Return labels of two classes as 0 and 1, or say what is wrong with them."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "iu" and y.size:
        low, high = y.min(), y.max()
        upper = np.asarray(y == high)
        others = y.size - np.count_nonzero(upper)
        if low < high and others == np.count_nonzero(y == low):  # nothing has to be sorted
            return upper.view(np.int8)
    missing = int(pd.isna(y).sum())
    classes = np.array([]) if missing else np.unique(y)
    if classes.size != 2:
        found = "one class" if classes.size == 1 else f"{classes.size:,} classes"
        found = counted(missing, "gap") if missing else found
        raise PartitionError(
            f"The labels of the training rows have {found}.",
            "A tree is trained on labels of exactly two classes.",
            "Choose training rows of both classes, and another label column if it has more.",
        )
    return np.asarray(y == classes[1]).astype(np.int8)
