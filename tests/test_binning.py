import numpy as np
import pytest

from hetcal.binning import choose_bins, order_codes
from hetcal.row_passes import bin_rows
from tests.growing import KINDS


def singles(*values):
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_bins_keep_the_order_of_the_values(kind):
    rng = np.random.default_rng(0)
    values = np.sort(kind(rng, 30_000).astype(np.float32))
    column = choose_bins(values[rng.permutation(30_000)])
    bins = column.find(values)
    assert (np.diff(bins.astype(int)) >= 0).all()
    assert bins.max() < 255
    assert column.cuts.size <= 254


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]])
def test_no_bin_of_a_smooth_column_is_large(kind):
    values = kind(np.random.default_rng(1), 200_000).astype(np.float32)
    share = np.bincount(choose_bins(values).find(values)) / values.size
    assert share.max() < 0.02


def test_up_to_127_values_get_a_bin_each():
    values = np.arange(127, dtype=np.float32).repeat(10)
    column = choose_bins(values)
    table = bin_rows(values[:, None], [column])
    assert np.unique(table.bins).size == 127
    assert np.array_equal(table.only[0].take(table.bins[:, 0]), values)


def test_a_common_value_among_others_is_alone_in_its_bin():
    rng = np.random.default_rng(2)
    values = np.where(rng.random(100_000) < 0.5, 0, rng.normal(size=100_000)).astype(np.float32)
    column = choose_bins(values)
    table = bin_rows(values[:, None], [column])
    zero = column.find(singles(0))[0]
    assert table.only[0, zero] == 0
    assert (values[table.bins[:, 0] == zero] == 0).all()


def test_a_bin_whose_second_value_was_not_in_the_sample_is_known_to_have_two():
    values = np.zeros(100_000, dtype=np.float32)
    values[::2] = 1
    values[3] = 1e-3
    column = choose_bins(values)
    rare = column.find(singles(1e-3))[0]
    table = bin_rows(values[:, None], [column])
    assert np.isnan(table.only[0, rare])


def test_a_narrow_cluster_far_from_zero_is_searched_where_cells_are_too_coarse():
    rng = np.random.default_rng(3)
    values = np.where(rng.random(50_000) < 0.2, -1, 1e6 + rng.random(50_000) * 8)
    column = choose_bins(values.astype(np.float32))
    assert column.table.size == 0
    bins = column.find(values.astype(np.float32))
    assert np.unique(bins).size > 60


def test_missing_values_of_either_sign_have_their_own_bin():
    nan = np.float32(np.nan)
    values = singles(nan, -nan, 1, 2, 3)
    for many in (256, 1024):
        bins = choose_bins(values, many).find(values)
        assert bins[:2].tolist() == [many - 1, many - 1]
        assert bins[2:].tolist() == sorted(set(bins[2:].tolist()))


def test_codes_order_like_values():
    values = np.sort(np.random.default_rng(4).normal(size=1_000)).astype(np.float32)
    values = np.concatenate([singles(-np.inf, -3e38), values, singles(3e38, np.inf)])
    assert (np.diff(order_codes(values).astype(np.int64)) >= 0).all()
