import numpy as np
import pytest

from hetcal.trees.passes import neighbours


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
