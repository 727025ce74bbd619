import numpy as np
import pytest
from scipy.special import expit

from hetcal.cells.cells import Cells
from hetcal.data.splits import Split
from hetcal.results.histograms import score_histograms


def counted(scores, y, leaf, split, leaves, weight=None, **options):
    """Count the rows as cells."""
    sides = (
        Cells.of_rows(scores[i], y[i], leaf[i], None if weight is None else weight[i])
        for i in (split.train, split.test)
    )
    return score_histograms(*sides, leaves, **options)


@pytest.fixture
def rows():
    """Scores, labels and leaves 1 to 3 of 4,000 rows; leaf 4 has none."""
    rng = np.random.default_rng(0)
    scores = rng.standard_t(2, size=4_000)
    y = rng.binomial(1, expit(scores)).astype(np.int8)
    leaf = rng.integers(1, 4, 4_000)
    split = Split(*np.split(np.arange(4_000), [2_000, 2_200, 2_500]))
    return scores, y, leaf, split


@pytest.mark.parametrize("axis", ["logit", "probability"])
def test_counts_are_those_of_numpy_with_the_ends_folded_in(rows, axis):
    scores, y, leaf, split = rows
    found = counted(*rows, [1, 2, 3, 4], axis=axis, bins=25)
    values = scores if axis == "logit" else expit(scores)
    folded = np.clip(values, found.edges[0], found.edges[-1])
    assert (found.leaves, found.axis, found.counts.shape) == ((0, 1, 2, 3, 4), axis, (5, 2, 2, 25))
    for i in range(5):
        for r, members in enumerate((split.train, split.test)):
            for label in (0, 1):
                inside = members[(y[members] == label) & ((leaf[members] == i) | (i == 0))]
                expected = np.histogram(folded[inside], found.edges)[0]
                assert found.counts[i, r, label].tolist() == expected.tolist()


def test_no_train_or_test_row_is_lost(rows):
    found = counted(*rows, [1, 2, 3])
    assert found.counts[0].sum(axis=(1, 2)).tolist() == [2_000, 1_500]
    assert np.array_equal(found.counts[1:].sum(axis=0), found.counts[0])


def test_edges_are_outer_quantiles_of_train_and_test_rows(rows):
    scores, _, _, split = rows
    pooled = np.concatenate([scores[split.train], scores[split.test]])
    found = counted(*rows, [1, 2, 3])
    assert found.edges[[0, -1]] == pytest.approx(np.quantile(pooled, [0.005, 0.995]))
    assert np.diff(found.edges) == pytest.approx(np.diff(found.edges)[0])
    assert found.edges.size == 41


def test_weights_add_up(rows):
    _, y, leaf, split = rows
    weight = np.random.default_rng(1).exponential(size=y.size)
    found = counted(*rows, [1, 2, 3], weight=weight)
    test = split.test
    inside = test[(leaf[test] == 2) & (y[test] == 1)]
    assert found.counts[2, 1, 1].sum() == pytest.approx(weight[inside].sum())
    assert found.rows[2, 1, 1].sum() == inside.size
    assert found.weighted


def test_without_weights_the_counts_are_those_of_rows(rows):
    found = counted(*rows, [1, 2, 3])
    assert np.array_equal(found.rows, found.counts)
    assert not found.weighted


def test_densities_have_area_one_where_there_are_rows(rows):
    found = counted(*rows, [1, 2, 3, 4])
    area = (found.densities * np.diff(found.edges)).sum(axis=-1)
    assert area[:4] == pytest.approx(np.ones((4, 2, 2)))
    assert not area[4].any()


def test_rows_without_a_score_are_left_out(rows):
    scores, y, leaf, split = rows
    holes = scores.copy()
    holes[:100] = np.nan
    found = counted(holes, y, leaf, split, [1, 2, 3])
    assert found.counts[0].sum(axis=(1, 2)).tolist() == [1_900, 1_500]


@pytest.mark.parametrize(("axis", "ends"), [("logit", [1.5, 2.5]), ("probability", [0, 1])])
def test_constant_scores_have_bins_about_them(axis, ends):
    y, leaf = np.array([0, 1, 1, 0]), np.ones(4, dtype=np.int64)
    split = Split(np.array([0, 1]), np.array([], int), np.array([], int), np.array([2, 3]))
    found = counted(np.full(4, 2.0), y, leaf, split, [1], axis=axis)
    assert found.edges[[0, -1]].tolist() == ends
    assert found.counts[1].sum(axis=-1).tolist() == [[1, 1], [1, 1]]


def test_no_rows_give_empty_histograms():
    none = np.array([], dtype=np.int64)
    found = counted(np.array([]), none, none, Split(none, none, none, none), [1])
    assert found.counts.sum() == 0
    assert found.densities.sum() == 0
