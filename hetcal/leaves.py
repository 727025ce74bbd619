"""The leaf table: how many rows of each role lie in every leaf, and how many are positive."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.labels import positive_rate
from hetcal.partition import Partition
from hetcal.splits import ROLES, Split


def leaf_table(
    partition: Partition,
    leaf: Ints,
    y: NDArray[np.integer],
    split: Split,
    weight: Floats | None = None,
) -> pd.DataFrame:
    """Count rows and positive rows per leaf and role.

    Returns
    -------
    DataFrame
        One row per leaf: `leaf`, `rule`, then `rows_<role>` (a count of rows) and
        `rate_<role>` (share of positive rows, by weight if they have one; NaN without
        rows or weight) for each role, and `distance`, the training rate of the leaf
        minus the training rate of all leaves.
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
