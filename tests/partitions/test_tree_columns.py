import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.encoding import encode_columns
from hetcal.partitions.ensemble import TreeColumns
from hetcal.partitions.nodes import Feature

COLUMNS = TreeColumns(
    (Feature("n", "number"), Feature("c", "category", ("p", "q", "r"))), ((), (2, 0, 1))
)


def test_numbers_stay_and_categories_become_ranks():
    X = pd.DataFrame({"c": ["p", "q", None, "new"], "other": 0, "n": [1.5, np.nan, 1e300, -3]})
    matrix = COLUMNS.matrix(X)
    assert matrix[:, 1].tolist() == pytest.approx([2, 0, np.nan, np.nan], nan_ok=True)
    largest = float(np.finfo(np.float32).max)
    assert matrix[:, 0].tolist() == pytest.approx([1.5, np.nan, largest, -3], nan_ok=True)


def test_training_rows_are_what_the_tree_saw():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=400), "c": rng.choice([*"stuv"], 400)})
    matrix, columns = encode_columns(X, rng.integers(0, 2, 400), np.ones(400))
    assert np.array_equal(TreeColumns.of(columns).matrix(X), matrix)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(PartitionError, match="no column 'c'"):
        COLUMNS.matrix(pd.DataFrame({"n": [1.0]}))


@pytest.mark.parametrize("ranks", [(0, 1), (0, 0, 1), (1, 2, 3)])
def test_ranks_that_are_no_order_are_refused(ranks):
    with pytest.raises(PartitionError, match="no order"):
        TreeColumns(COLUMNS.features, ((), ranks))


def test_a_column_named_twice_is_refused():
    with pytest.raises(PartitionError, match="twice"):
        TreeColumns((Feature("n", "number"),) * 2, ((), ()))
