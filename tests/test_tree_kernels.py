"""The loops as plain Python against numpy, so that they are tested without a compiler, too."""

import numpy as np
import pytest

from hetcal import row_passes, tree_kernels
from hetcal.binning import choose_bins
from tests.growing import random_table


@pytest.fixture(params=range(4))
def table(request):
    X, y = random_table(request.param, 300, columns=4)
    columns = [choose_bins(X[:, j]) for j in range(4)]
    return X, y.astype(np.uint8), columns, row_passes.bin_rows(X, columns)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(row_passes, "compiled", lambda kernel: kernel)
    return row_passes.compiled_passes()


def test_bins_are_the_same(table, plain):
    X, _, columns, expected = table
    found = plain.bin_rows(X, columns)
    assert np.array_equal(found.bins, expected.bins)
    assert np.array_equal(found.only, expected.only, equal_nan=True)


def test_sums_are_the_same(table, plain):
    _, y, _, binned = table
    weight = np.random.default_rng(0).uniform(size=(1, 300))
    rows = np.arange(0, 300, 2)
    for values in (weight, weight[:0]):
        expected = row_passes.add_up(binned, rows, y, values)
        assert np.array_equal(plain.add_up(binned, rows, y, values), expected)


def test_rows_in_wanted_bins_are_the_same(table, plain):
    _, y, _, binned = table
    number = np.full((4, 256), -1, dtype=np.int32)
    number[[0, 2], ::3] = np.arange(2 * len(number[0, ::3])).reshape(2, -1)
    rows = np.arange(0, 300, 2)
    sizes = np.array([(number[j][binned.bins[rows, j]] >= 0).sum() for j in range(4)])
    found = plain.collect(binned, rows, y, number, sizes)
    for part, expected in zip(
        found, row_passes.collect(binned, rows, y, number, sizes), strict=True
    ):
        assert np.array_equal(part, expected)


@pytest.mark.parametrize("missing_left", [False, True])
def test_sides_are_the_same(missing_left):
    column = np.array([1, np.nan, 3, 2, 5], dtype=np.float32)
    rows = np.array([0, 1, 3, 4])
    left, right = tree_kernels.divide(column, rows, 2.0, missing_left)
    assert left.tolist() == ([0, 1, 3] if missing_left else [0, 3])
    assert right.tolist() == ([4] if missing_left else [1, 4])
    for found, expected in zip(
        (left, right), row_passes.divide(column, rows, 2.0, missing_left), strict=True
    ):
        assert np.array_equal(found, expected)
