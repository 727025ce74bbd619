import numpy as np
import pytest

from hetcal.trees import kernels as tree_kernels
from hetcal.trees import passes as row_passes
from hetcal.trees.bins import choose_bins, order_codes
from hetcal.trees.passes import REFERENCE, bin_rows, neighbours
from tests.trees.growing import random_table

ROWS = np.concatenate([np.arange(0, 300, 2), [7], np.arange(1, 300, 4), np.arange(5, 9)])
NODES = [slice(0, 150), slice(151, 226), slice(226, 230)]


@pytest.fixture(params=range(4))
def table(request):
    labels = 2 + request.param // 2
    X, y = random_table(request.param, 300, 5 - request.param % 2, classes=labels)
    X, y = np.asfortranarray(X), y.astype(np.uint8)
    columns = [choose_bins(column, labels=labels) for column in X.T]
    return X, y, columns, bin_rows(X, y, columns, REFERENCE, labels)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(row_passes, "compiled", lambda kernel: kernel)
    return row_passes.compiled_passes()


def test_bins_are_the_same(table, plain):
    X, y, columns, expected = table
    found = bin_rows(X, y, columns, plain, expected.labels)
    assert np.array_equal(found.keys, expected.keys)
    assert np.array_equal(found.only, expected.only, equal_nan=True)


@pytest.mark.parametrize("counted", [50, 1 << 16])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_sums_are_the_same(monkeypatch, table, plain, channels, counted):
    monkeypatch.setattr(row_passes, "COUNTED", counted)
    binned = table[-1]
    values = np.random.default_rng(0).uniform(size=(channels, 300))
    found = plain.add_up(binned, ROWS, NODES, values)
    reference = row_passes.add_up(binned, ROWS, NODES, values)
    for each, node, expected in zip(found, NODES, reference, strict=True):
        assert each[0, :, binned.columns[0]].sum() == node.stop - node.start
        assert np.array_equal(each, expected)


@pytest.mark.parametrize("counted", [50, 1 << 16])
def test_rows_in_wanted_bins_are_the_same(monkeypatch, table, plain, counted):
    monkeypatch.setattr(row_passes, "COUNTED", counted)
    binned = table[-1]
    numbers = np.full((len(NODES), binned.only.size), -1, dtype=np.int32)
    for step, number in enumerate(numbers, start=2):
        number[::step] = np.arange(number[::step].size)
    numbers[:, binned.ends[1] : binned.ends[2]] = -1  # nothing is wanted of the second column
    wanted = [
        number[binned.ends[:-1] + (binned.keys[ROWS[node]] >> binned.label_bits)] >= 0
        for node, number in zip(NODES, numbers, strict=True)
    ]
    sizes = np.array([each.sum(axis=0) for each in wanted])
    found = plain.collect(binned, ROWS, NODES, numbers, sizes)
    expected = row_passes.collect(binned, ROWS, NODES, numbers, sizes)
    for here, its, node in zip(found, expected, wanted, strict=True):
        assert len(here[0]) == node.sum() > 0
        assert all(map(np.array_equal, here, its))


@pytest.mark.parametrize("missing_left", [False, True])
def test_sides_are_the_same(missing_left):
    column = np.array([1, np.nan, 3, 2, 5], dtype=np.float32)
    rows = np.array([0, 1, 3, 4])
    spare = np.empty_like(rows)
    left, right = tree_kernels.divide(column, rows.copy(), 2.0, missing_left, spare)
    assert left.tolist() == ([0, 1, 3] if missing_left else [0, 3])
    assert right.tolist() == ([4] if missing_left else [1, 4])
    for found, expected in zip(
        (left, right),
        row_passes.divide(column, rows.copy(), 2.0, missing_left, np.empty_like(rows)),
        strict=True,
    ):
        assert np.array_equal(found, expected)


def test_neighbours_of_limits_are_the_same():
    values = np.random.default_rng(3).normal(size=3000).astype(np.float32)
    limits = np.float32([-1.0, -0.25, 0.0, 0.3])
    values[:6] = np.nan, 0, *limits
    below, above = tree_kernels.around(values.view(np.int32), order_codes(limits))
    codes = order_codes(values[1:])
    for code, low, high in zip(order_codes(limits), below, above, strict=True):
        assert low == codes[codes <= code].max()
        assert high == codes[codes > code].min()


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("rows", [10, 20_000])
def test_neighbours_of_a_threshold_are_those_of_the_sorted_column(monkeypatch, compiled, rows):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    rng = np.random.default_rng(rows)
    values = np.round(rng.normal(size=rows), 3).astype(np.float32)
    values[rng.random(rows) < 0.2] = np.nan
    known = np.sort(values[~np.isnan(values)])
    thresholds = (known[:-1].astype(float) + 1e-12)[:: max(1, rows // 20)]
    expected = [[known[known <= each][-1], known[known > each][0]] for each in thresholds]
    assert neighbours(values, thresholds).tolist() == expected


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_a_neighbour_that_is_not_there_is_infinite(monkeypatch, compiled):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    values = np.array([2, np.nan, 1, -np.nan], dtype=np.float32)
    found = neighbours(values, np.array([0.5, 1.5, 2.0]))
    assert found.tolist() == [[-np.inf, 1.0], [1.0, 2.0], [2.0, np.inf]]
