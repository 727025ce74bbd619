import numpy as np
import pandas as pd
import pytest

from hetcal.partitions.encoding import encode_columns, pick_columns
from hetcal.partitions.tree import TreePartition
from hetcal.trees import bins as binning
from hetcal.trees.bins import bounded, choose_bins, order_codes
from hetcal.trees.passes import REFERENCE, bin_rows
from tests.trees.growing import KINDS


def singles(*values):
    return np.array(values, dtype=np.float32)


def binned(values):
    """Return the rows in their parts, and the part of each."""
    table = bin_rows(
        values[:, None], np.zeros(len(values), np.uint8), [choose_bins(values)], REFERENCE
    )
    return table, table.keys[:, 0] >> 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [20, 30_000])
def test_bins_and_groups_keep_the_order_of_the_values(kind, rows):
    rng = np.random.default_rng(0)
    values = np.sort(kind(rng, rows).astype(np.float32))
    column = choose_bins(values[rng.permutation(rows)])
    parts = column.find(values).astype(int)
    assert (np.diff(parts) >= 0).all()
    assert parts.max() < column.only.size - 1 < binning.PARTS
    assert (np.diff(column.bin[parts]) >= 0).all()
    assert column.bin[parts].max() < column.bin[-1] == binning.BINS - 1


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]])
def test_no_bin_of_a_smooth_column_is_large(kind):
    values = kind(np.random.default_rng(1), 200_000).astype(np.float32)
    column = choose_bins(values)
    parts = column.find(values)
    assert np.bincount(parts).max() < 0.003 * values.size
    assert np.bincount(column.bin[parts]).max() < 0.012 * values.size


def test_up_to_126_values_get_a_bin_and_a_group_each():
    values = np.arange(126, dtype=np.float32).repeat(10)
    table, parts = binned(values)
    assert np.array_equal(table.only[parts], values)
    assert np.array_equal(table.bin_only.flat[table.place[parts]], values)


def test_up_to_a_thousand_values_get_a_bin_each():
    values = np.tile(np.arange(1, 1001, dtype=np.float32) / 7, 20)
    table, parts = binned(values)
    assert np.array_equal(table.only[parts], values)
    assert np.unique(table.place[parts]).size > 100


def test_a_common_value_among_others_is_alone_in_its_bin():
    rng = np.random.default_rng(2)
    values = np.where(rng.random(100_000) < 0.5, 0, rng.normal(size=100_000)).astype(np.float32)
    table, parts = binned(values)
    zero = parts[values == 0][0]
    assert table.only[zero] == 0
    assert (values[parts == zero] == 0).all()
    assert table.bin_only.flat[table.place[zero]] == 0


def test_a_bin_whose_second_value_was_not_in_the_sample_is_known_to_have_two():
    values = np.zeros(100_000, dtype=np.float32)
    values[::2] = 1
    values[3] = 1e-45
    table, parts = binned(values)
    assert parts[3] == parts[1]
    assert np.isnan(table.only[parts[1]])
    assert table.only[parts[0]] == 1


def test_a_narrow_cluster_far_from_zero_is_searched_where_cells_are_too_coarse():
    rng = np.random.default_rng(3)
    values = np.where(rng.random(50_000) < 0.2, -1, 1e6 + rng.random(50_000) * 8)
    values = values.astype(np.float32)
    column = choose_bins(values)
    assert column.table.size == 0
    table, parts = binned(values)
    assert np.unique(parts).size > 60
    assert table.only[parts[values == -1][0]] == -1


def test_missing_values_of_either_sign_have_their_own_bin():
    nan = np.float32(np.nan)
    table, parts = binned(singles(nan, -nan, 1, 2, 3))
    assert parts[:2].tolist() == [table.only.size - 1] * 2
    assert parts[2:].tolist() == sorted(set(parts[2:].tolist()))
    assert parts[4] < parts[0]


def test_values_beyond_those_of_the_sample_are_in_the_outer_bins():
    column = choose_bins(np.linspace(5, 6, 100, dtype=np.float32))
    inside = column.find(singles(5, 6))
    assert np.array_equal(column.find(singles(-3e38, 3e38)), inside)


def test_sums_of_bins_add_up_to_those_of_their_groups():
    values = np.random.default_rng(5).normal(size=5_000).astype(np.float32)
    table, parts = binned(values)
    (sums,) = REFERENCE.add_up(table, np.arange(5_000), [slice(0, 5_000)], np.empty((0, 5_000)))
    bins = table.bin_sums(sums)[0, 0, 0]
    assert np.array_equal(bins, np.bincount(table.place[parts], minlength=binning.BINS))
    first, sizes = table.parts_of(table.place[parts[:50]])
    for start, size, place in zip(first, sizes, table.place[parts[:50]], strict=True):
        assert np.array_equal(np.flatnonzero(table.place == place), np.arange(start, start + size))


def test_codes_order_like_values():
    values = np.sort(np.random.default_rng(4).normal(size=1_000)).astype(np.float32)
    values = np.concatenate([singles(-np.inf, -3e38), values, singles(3e38, np.inf)])
    assert (np.diff(order_codes(values).astype(np.int64)) >= 0).all()


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
