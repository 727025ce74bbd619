import numpy as np
import pytest
from scipy.special import expit

from hetcal.partitions.auc_gain import score_moments
from hetcal.partitions.scored import NodeMap
from hetcal.trees.score_sums import CELLS, FEW, MOST_TICKS, ScoreCodes, Ticks


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


def drawn(rows):
    rng = np.random.default_rng(rows)
    s = 2 * rng.normal(size=rows)
    return ScoreCodes.of_rows(s, (rng.random(rows) < expit(s)).astype(int))


def gradients(codes):
    return NodeMap.of_rows(codes, np.arange(len(codes.code))).tables()


KINDS = pytest.mark.parametrize("values", [score_moments, gradients])


@KINDS
def test_values_are_off_by_half_a_tick_at_most(values):
    found = values(drawn(3_000))
    table = found.tables[0]
    ticks = Ticks.of_table(table, found.like)
    error = np.abs(ticks.values(ticks.number) - table).max(axis=0)
    assert (error <= 0.5001 * np.abs(table).max(axis=0) / MOST_TICKS).all()
    assert (error[[0, 4]] == 0).all()


@KINDS
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_compiled_sums_are_the_exact_ones(values, columns):
    pytest.importorskip("numba")
    codes = drawn(40_000)  # more than words can hold without being parted
    found = values(codes)
    ticks = Ticks.of_table(found.tables[0], found.like)
    rng = np.random.default_rng(0)
    widths = np.array([256, 3, 1, 100, 2])[:columns]
    bins = np.asfortranarray(rng.integers(0, widths, (40_000, columns)).astype(np.uint8))
    rows = np.flatnonzero(rng.random(40_000) < 0.9).astype(np.uint32)
    expected = np.zeros((columns, 256, 7), dtype=np.int64)
    for j in range(columns):
        np.add.at(expected[j], bins[rows, j], ticks.number[codes.code[rows]])
    for use_compiled in (False, True):
        assert np.array_equal(ticks.per_bin(bins, rows, codes.code, use_compiled), expected)


@pytest.mark.parametrize("sign", [-1, 1])
def test_words_hold_the_largest_values_of_either_sign(sign):
    pytest.importorskip("numba")
    codes = ScoreCodes(np.ones(50_000, dtype=np.uint16), np.zeros(2))
    table = np.array([[1, 0, 0, 0, 0, 0, 0, 0], [0, 5, -5, 5, 1, -5, 5, 0]]) * 1.0
    table[:, [1, 2, 3, 5, 6]] *= sign
    ticks = Ticks.of_table(table, (0, 1, 2, 3, 4, 5, 6, 0))
    bins = np.zeros((50_000, 1), dtype=np.uint8)
    sums = ticks.per_bin(bins, np.arange(50_000, dtype=np.uint32), codes.code, True)
    expected = 50_000 * np.array([0, 5, -5, 5, 1, -5, 5, 0])
    expected[[1, 2, 3, 5, 6]] *= sign
    assert ticks.values(sums[0, 0]) == pytest.approx(expected, rel=1e-12)
