import numpy as np
import pandas as pd
import pytest

from hetcal.data.splits import Split, split_by_column
from hetcal.partitions.partition import leaf_table
from hetcal.partitions.tree import TreePartition


@pytest.fixture
def halves():
    """Two leaves, eight rows."""
    X = pd.DataFrame({"x": [0.0, 0, 0, 0, 1, 1, 1, 1]})
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    partition = TreePartition(max_depth=1, min_samples_leaf=1).fit(X, y).partition_
    return partition, partition.apply(X), y


def test_rows_and_rates_are_counted_per_leaf_and_role(halves):
    roles = ["train", "train", "calibration", "test", "train", "train", "calibration", "test"]
    table = leaf_table(*halves, split_by_column(pd.Series(roles)))
    assert table["leaf"].tolist() == [1, 2]
    assert table["rows_train"].tolist() == [2, 2]
    assert table["rate_train"].tolist() == [0, 1]
    assert table["rate_test"].tolist() == [1, 0]
    assert table["rows_validation"].tolist() == [0, 0]
    assert table["rate_validation"].isna().all()
    assert table["distance"].tolist() == pytest.approx([-0.5, 0.5])


def test_weights_change_rates_but_not_numbers_of_rows(halves):
    every, none = np.arange(8), np.array([], dtype=np.int64)
    weight = np.array([1.0, 2, 3, 4, 0, 0, 0, 0])
    table = leaf_table(*halves, Split(every, none, none, none), weight)
    assert table["rows_train"].tolist() == [4, 4]
    assert table["rate_train"][0] == 4 / 10
    assert np.isnan(table["rate_train"][1])
    assert table["distance"][0] == 0


def test_weights_of_one_are_no_weights(halves):
    roles = ["train", "train", "calibration", "test", "train", "train", "calibration", "test"]
    split = split_by_column(pd.Series(roles))
    plain, weighted = leaf_table(*halves, split), leaf_table(*halves, split, np.ones(8))
    pd.testing.assert_frame_equal(plain, weighted)


def test_without_training_rows_there_is_no_distance(halves):
    every, none = np.arange(8), np.array([], dtype=np.int64)
    table = leaf_table(*halves, Split(none, none, every, every))
    assert table["rows_train"].tolist() == [0, 0]
    assert table["distance"].isna().all()
    assert table["rate_test"].tolist() == [0.25, 0.75]
