import numpy as np
import pandas as pd
import pytest

from hetcal.partitions.encoding import encode_columns, pick_columns
from hetcal.partitions.tree import TreePartition
from hetcal.trees.bins import bounded

ROWS = 4_000


@pytest.fixture
def frame():
    """Columns of every kind: single and double precision, gaps, infinite values, names."""
    rng = np.random.default_rng(4)
    single = rng.normal(size=(ROWS, 3)).astype(np.float32)
    single[::7, 1] = np.nan
    single[::11, 2] = np.inf
    return pd.DataFrame(
        {
            **{f"single_{i}": single[:, i] for i in range(3)},
            "double": rng.normal(size=ROWS),
            "whole": rng.integers(0, 90, ROWS),
            "name": rng.choice(["a", "b", "c"], ROWS),
        }
    )


@pytest.fixture
def y(frame):
    rng = np.random.default_rng(5)
    shown = frame["single_0"] + frame["double"] + (frame["name"] == "a")
    return (rng.normal(size=ROWS) < shown).to_numpy().astype(np.int8)


@pytest.fixture
def rows():
    return np.sort(np.random.default_rng(6).choice(ROWS, 2_500, replace=False))


def test_picked_columns_are_those_of_the_encoded_rows(frame, y, rows):
    picked, columns = pick_columns(frame, rows, y[rows].astype(np.int64), None)
    given = frame.iloc[rows], y[rows].astype(np.int64), np.ones(2_500)
    matrix, expected = encode_columns(*given)
    assert picked.shape == matrix.shape
    assert len(picked) == len(matrix)
    np.testing.assert_array_equal(bounded(np.stack(list(picked.T))), matrix.T)
    names = [(each.feature.name, each.feature.categories) for each in columns]
    assert names == [(each.feature.name, each.feature.categories) for each in expected]
    rng = np.random.default_rng(7)
    at, column = rng.integers(0, 2_500, 300), rng.integers(0, 6, 300)
    np.testing.assert_array_equal(bounded(picked[at, column]), matrix[at, column])


def test_single_precision_stays_where_it_is(frame, y, rows):
    picked, _ = pick_columns(frame, rows, y[rows].astype(np.int64), None)
    assert list(picked.whole) == [True, True, True, False, False, False]
    assert np.shares_memory(picked.columns[0], frame["single_0"].to_numpy())


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tree_on_some_rows_is_the_tree_of_a_copy_of_them(frame, y, rows, weighted):
    weight = np.random.default_rng(8).integers(0, 3, rows.size).astype(float) if weighted else None
    tree = TreePartition(3, min_samples_leaf=40)
    expected = tree.fit(frame.iloc[rows], y[rows], weight).partition_
    found = tree.fit_rows(frame, rows, y[rows], weight).partition_
    assert found == expected
    assert len(found.leaves) > 4
