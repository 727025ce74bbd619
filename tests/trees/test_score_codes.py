import numpy as np
import pytest

from hetcal.trees.score_sums import CELLS, FEW, ScoreCodes


@pytest.fixture(params=["0", "1"], ids=["numpy", "compiled"])
def kernels(request, monkeypatch):
    if request.param == "1":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", request.param)


@pytest.mark.parametrize("rows", [300, FEW // 2, FEW + 1])
def test_cells_keep_labels_and_the_order_and_means_of_scores(rows, kernels):
    rng = np.random.default_rng(rows)
    s = rng.normal(3, 2, rows).astype(np.float32).astype(float)
    y = ((rng.random(rows) < 0.3) & (s < s.max())).astype(int)  # the last key may be of label 0
    codes = ScoreCodes.of_rows(s, y)
    cell = codes.code // 2
    assert np.array_equal(codes.label[codes.code], y)
    assert (np.diff(cell[np.argsort(s)].astype(int)) >= 0).all()
    assert 0.7 * min(rows, CELLS) < np.unique(cell).size <= CELLS
    standard = (s - s.mean()) / s.std()
    mean = np.bincount(cell, standard) / np.maximum(np.bincount(cell), 1)
    spread = np.sqrt(np.average(mean**2, weights=np.bincount(cell)))
    assert codes.score[codes.code] == pytest.approx(mean[cell] / spread, rel=1e-9, abs=1e-9)


def test_cells_of_many_rows_hold_about_as_many_rows_each(kernels):
    s = np.random.default_rng(0).standard_cauchy(2 * FEW)
    codes = ScoreCodes.of_rows(s, np.arange(2 * FEW) % 2)
    held = np.bincount(codes.code // 2)
    assert held.size == CELLS
    assert np.median(held) == pytest.approx(2 * FEW / CELLS, rel=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_masses_are_those_of_the_rows(weighted, kernels):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, 5_000) if weighted else None
    codes = ScoreCodes.of_rows(rng.integers(0, 40, 5_000) * 1.0, rng.integers(0, 2, 5_000), weight)
    rows = np.flatnonzero(rng.random(5_000) < 0.4)
    expected = np.zeros((2, codes.score.size))
    worth = np.ones(5_000) if weight is None else weight
    for row in rows:
        expected[:, codes.code[row]] += worth[row], worth[row] ** 2
    for power in (1, 2):
        assert codes.masses(rows, power) == pytest.approx(expected[power - 1], rel=1e-12)
