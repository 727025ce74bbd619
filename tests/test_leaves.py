import numpy as np
import pandas as pd
import pytest

from hetcal.leaves import leaf_table
from hetcal.splits import split_by_column
from hetcal.tree_partition import TreePartition


def test_rows_and_rates_are_counted_per_leaf_and_role():
    X = pd.DataFrame({"x": [0.0, 0, 0, 0, 1, 1, 1, 1]})
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    roles = ["train", "train", "calibration", "test", "train", "train", "calibration", "test"]
    partition = TreePartition(max_depth=1, min_samples_leaf=1).fit(X[:], y).partition_
    table = leaf_table(partition, partition.apply(X), y, split_by_column(pd.Series(roles)))
    assert table["leaf"].tolist() == [1, 2]
    assert table["rows_train"].tolist() == [2, 2]
    assert table["rate_train"].tolist() == [0, 1]
    assert table["rate_test"].tolist() == [1, 0]
    assert table["rows_validation"].tolist() == [0, 0]
    assert table["rate_validation"].isna().all()
    assert table["distance"].tolist() == pytest.approx([-0.5, 0.5])
