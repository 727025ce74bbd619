"""The leaf table: how many rows of each role lie in every leaf, and how many are positive."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Ints
from hetcal.partition import Partition
from hetcal.splits import ROLES, Split


def leaf_table(
    partition: Partition, leaf: Ints, y: NDArray[np.integer], split: Split
) -> pd.DataFrame:
    """Count rows and positive rows per leaf and role.

    Returns
    -------
    DataFrame
        One row per leaf: `leaf`, `rule`, then `rows_<role>` and `rate_<role>` (share
        of positive rows, NaN without rows) for each role, and `distance`, the training
        rate of the leaf minus the training rate of all leaves.
    """
    ids = np.array([each.id for each in partition.leaves])
    columns: dict[str, object] = {"leaf": ids, "rule": [each.rule for each in partition.leaves]}
    for role in ROLES:
        rows = split.of(role)
        total = np.bincount(leaf[rows], minlength=ids.max() + 1)[ids]
        positive = np.bincount(leaf[rows], y[rows], minlength=ids.max() + 1)[ids]
        rate = np.full(ids.size, np.nan)
        columns[f"rows_{role}"] = total
        columns[f"rate_{role}"] = np.divide(positive, total, out=rate, where=total > 0)
    table = pd.DataFrame(columns)
    table["distance"] = table["rate_train"] - np.mean(y[split.train])
    return table
