import numpy as np

from hetcal.trees.cuts import Runs


def test_runs_are_the_bins_with_rows_in_order_of_their_columns():
    rows = np.array([[2, 0, 3, 1], [0, 4, 0, 0], [0, 1, 1, 5]])  # the last bin is for gaps
    rng = np.random.default_rng(0)
    ones = rng.integers(0, rows + 1)
    values = rng.normal(size=(2, 3, 4)) * (rows > 0)
    sums = np.array([[rows - ones, ones], values])
    runs = Runs.of_bins(sums, np.arange(12, dtype=np.float32).reshape(3, 4))
    assert runs.feature.tolist() == [0, 0, 1, 2, 2]
    assert runs.place.tolist() == [0, 2, 5, 9, 10]
    assert runs.value.tolist() == [0, 2, 5, 9, 10]
    assert runs.joined.tolist() == [True, False, False, True, False]
    assert runs.rows.tolist() == [2, 3, 4, 1, 1]
    for place, (column, first) in enumerate([(0, 0), (0, 2), (1, 1), (2, 1), (2, 2)]):
        assert np.array_equal(runs.sums[..., place], sums[:, :, column, first])
        before = sums[:, :, column, :first].sum(axis=-1)
        assert np.allclose(runs.start[..., place], before, rtol=0, atol=1e-15)


def test_runs_that_are_kept_are_joined_if_nothing_was_between_them():
    sums = np.ones((1, 2, 1, 5))
    runs = Runs.of_bins(sums, np.zeros((1, 5), dtype=np.float32))
    kept = runs.select(np.array([True, True, False, True]))
    assert kept.place.tolist() == [0, 1, 3]
    assert kept.joined.tolist() == [True, False, False]
    assert kept.end[0, 0].tolist() == [1, 2, 4]
