import numpy as np
import pytest
from scipy.special import expit

from hetcal.partitions.auc_gain import score_moments
from hetcal.partitions.scored import NodeMap
from hetcal.trees.score_sums import MOST_TICKS, ScoreCodes, Ticks


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
