import numpy as np
import pytest

from hetcal.trees.bins import BINS, choose_bins
from hetcal.trees.passes import REFERENCE, coarse_rows, compiled_passes


@pytest.mark.parametrize("compiled", [False, True])
def test_bins_keep_the_order_of_values_and_gaps_come_last(compiled):
    if compiled:
        pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.lognormal(0, 3, (20_000, 3)), dtype=np.float32)
    X[:, 1] = rng.integers(0, 3, 20_000)
    X[::7, 2] = np.nan
    bins = [choose_bins(column) for column in X.T]
    table = coarse_rows(X, bins, compiled_passes() if compiled else REFERENCE)
    for j in range(3):
        order = np.argsort(X[:, j])  # gaps come last
        assert (np.diff(table.bins[order, j].astype(int)) >= 0).all()
    assert ((table.bins == BINS - 1) == np.isnan(X)).all()
    assert np.unique(table.bins[:, 0]).size > 200
    known = table.only[1][table.bins[:, 1]]
    assert np.array_equal(known, X[:, 1])
