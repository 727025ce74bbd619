import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hetcal.trees.cuts import Gini, Runs


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


def sums(zeros, ones):
    return np.array([[zeros, ones]], dtype=float)


@pytest.mark.parametrize("seed", range(10))
def test_the_score_is_minus_the_impurity_of_scikit_learns_children(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 1)), rng.integers(0, 2, 200)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    left = y[X[:, 0] <= tree.threshold[0]]
    score = Gini().score(sums([(left == 0).sum()], [left.sum()]), sums((y == 0).sum(), y.sum()))
    assert score == pytest.approx(-(tree.impurity * tree.n_node_samples)[1:].sum())


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("seed", range(30))
def test_no_order_of_the_rows_in_a_bin_exceeds_the_bound(seed, classes):
    rng = np.random.default_rng(seed)
    before, inside, after = rng.integers(0, rng.integers(2, 30), size=(3, classes)).astype(float)
    total = (before + inside + after)[None]
    bound = Gini().bound(before[None, :, None], (before + inside)[None, :, None], total)[0]
    label = np.repeat(np.arange(classes), inside.astype(int))
    for _ in range(20):
        taken = np.cumsum(np.eye(classes)[rng.permutation(label)], axis=0)
        left = (before + taken).T[None]
        if left.size:
            assert Gini().score(left, total).max() <= bound + 1e-9


def test_an_empty_side_has_no_impurity():
    assert Gini().score(sums([0], [0]), sums(3, 1)) == pytest.approx([-1.5])  # 4 * (1 - 10 / 16)


def test_rows_of_one_class_need_no_cut():
    assert Gini().finished(sums(0, 5))
    assert not Gini().finished(sums(1, 100_000))
    assert Gini().finished(np.array([[0, 3], [1e-17, 2.5]]))


def test_weights_are_the_last_channel():
    rows, weight = np.array([[5.0, 5]]), np.array([[1.0, 3]])
    assert Gini().score(
        np.concatenate([rows, weight])[..., None], np.array([[10.0, 10], [2, 6]])
    ) == pytest.approx([2 * -4 * (1 - 10 / 16)])
