import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from hetcal.metrics.ranking import count_below, rank_statistics


@pytest.fixture(params=["numpy", "compiled"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv("HETCAL_COMPILED", "0" if request.param == "numpy" else "1")


def sample(rows=2_000, decimals=8, rate=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.binomial(1, rate, rows).astype(np.int8)
    return y, np.round(rng.normal(size=rows) + y, decimals), rng.exponential(size=rows)


def brute_force_variance(y, scores, weight):
    """DeLong's definition over all pairs, for weighted rows."""
    one, zero = y == 1, y == 0
    u, v = weight[one], weight[zero]
    gap = scores[one][:, None] - scores[zero][None, :]
    kernel = (gap > 0) + 0.5 * (gap == 0)
    area = u @ kernel @ v / u.sum() / v.sum()
    sides = (u, kernel @ v / v.sum()), (v, u @ kernel / u.sum())
    return sum(
        w.size / (w.size - 1) * np.sum(w**2 * (d - area) ** 2) / w.sum() ** 2 for w, d in sides
    )


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("decimals", [0, 1, 3, 12])
@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_rows_agree_with_scikit_learn_and_with_all_pairs(decimals, rate, precision):
    y, scores, _ = sample(decimals=decimals, rate=rate)
    scores = scores.astype(precision).astype(np.float64)
    found = rank_statistics(y, scores)
    assert found.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    assert found.average_precision == pytest.approx(average_precision_score(y, scores), abs=1e-12)
    expected = brute_force_variance(y, scores, np.ones(y.size))
    assert found.variance == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_weighted_rows_agree_with_scikit_learn_and_with_all_pairs(decimals):
    y, scores, weight = sample(decimals=decimals)
    weight[::7] = 0
    found = rank_statistics(y, scores, weight)
    assert found.auc == pytest.approx(roc_auc_score(y, scores, sample_weight=weight), abs=1e-12)
    assert found.average_precision == pytest.approx(
        average_precision_score(y, scores, sample_weight=weight), abs=1e-12
    )
    used = weight > 0
    expected = brute_force_variance(y[used], scores[used], weight[used])
    assert found.variance == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_equal_scores_say_what_their_rows_say(weighted):
    y, scores, weight = sample(decimals=1)
    weight = weight if weighted else np.ones(y.size)
    keys, cell = np.unique(np.column_stack([y, scores]), axis=0, return_inverse=True)
    sums = [np.bincount(cell, each) for each in (weight, weight**2)]
    found = rank_statistics(keys[:, 0], keys[:, 1], *sums, np.bincount(cell))
    expected = rank_statistics(y, scores, weight)
    assert astuple(found) == pytest.approx(astuple(expected), rel=1e-12)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("scores", [[1.0, 2.0, 3.0, 4.0], [5.0] * 4, [4.0, 3.0, 2.0, 1.0]])
def test_an_area_without_doubt_has_no_variance(scores):
    y = np.repeat([0, 1], [200, 100])
    found = rank_statistics(y, np.repeat(scores, [100, 100, 50, 50]))
    assert found.auc == {1.0: 1, 5.0: 0.5, 4.0: 0}[scores[0]]
    assert found.variance == 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("y", [[], [1], [0, 0], [1, 1]])
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_defined_with_one_class(y, weighted):
    scores = np.arange(float(len(y)))
    found = rank_statistics(np.array(y, int), scores, np.ones(len(y)) if weighted else None)
    assert all(math.isnan(each) for each in vars(found).values())


@pytest.mark.usefixtures("engine")
def test_a_single_positive_row_leaves_the_variance_open():
    found = rank_statistics(np.array([0, 1, 0]), np.array([0.0, 1.0, 2.0]))
    assert found.auc == 0.5
    assert found.average_precision == 0.5
    assert math.isnan(found.variance)


@pytest.mark.usefixtures("engine")
def test_huge_and_infinite_scores_are_ranked():
    y = np.array([1, 0, 1, 0, 1, 0])
    scores = np.array([np.inf, 1e300, 1e300, -np.inf, -1e300, -1e300])
    # Pairs by hand: inf beats 3; 1e300 beats 2 and ties 1; -1e300 beats 1 and ties 1.
    assert rank_statistics(y, scores).auc == (3 + 2.5 + 1.5) / 9


@pytest.mark.parametrize("decimals", [0, 2, 12])
def test_compiled_numbers_are_those_of_numpy(monkeypatch, decimals):
    pytest.importorskip("numba")
    y, scores, _ = sample(20_000, decimals)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("HETCAL_COMPILED", switch)
        found.append(astuple(rank_statistics(y, scores)))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=30),
)
def test_counts_are_those_of_all_comparisons(rows):
    scores = np.array([float(s) for _, s in rows])
    y = np.array([label for label, _ in rows])
    one, zero = np.sort(scores[y]), np.sort(scores[~y])
    below, not_above = count_below(one, zero)
    assert below.tolist() == [int((zero < s).sum()) for s in one]
    assert not_above.tolist() == [int((zero <= s).sum()) for s in one]
