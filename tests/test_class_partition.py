import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.class_partition import ClassPartition, class_direction, with_rates
from hetcal.errors import PartitionError
from hetcal.partition import Partition
from hetcal.tree_partition import TreePartition


@parametrize_with_checks([ClassPartition(2)])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=3000).astype(np.float32),
            "z": rng.normal(size=3000).astype(np.float32),
            "kind": rng.choice(["a", "b", "c", "d"], 3000),
        }
    )
    y = np.where(X["x"] > 0.5, 2, np.where(X["kind"].isin(["b", "d"]), 1, 0))
    y = np.where(rng.random(3000) < 0.2, rng.integers(0, 3, 3000), y)
    return X, y


def test_numbers_give_scikit_learns_tree(drawn):
    X, y = drawn
    numbers = X[["x", "z"]]
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=100, random_state=0)
    tree.fit(numbers.to_numpy(), y)
    found = ClassPartition(3, min_samples_leaf=100).fit(numbers, y)
    other = tree.apply(numbers.to_numpy())
    pairs = {(a, b) for a, b in zip(found.apply(numbers), other, strict=True)}
    assert len(pairs) == len(found.leaves_) == tree.get_n_leaves()


def test_categories_that_share_a_class_go_the_same_way(drawn):
    X, y = drawn
    found = ClassPartition(2, min_samples_leaf=100).fit(X, y)
    splits = [set(node.categories) for node in found.partition_.nodes if node.feature == "kind"]
    assert {"b", "d"} in splits or {"a", "c"} in splits


def test_two_classes_give_the_tree_for_two_classes(drawn):
    X, y = drawn
    both = (y == 1).astype(int)
    found = ClassPartition(3, min_samples_leaf=100).fit(X, both)
    other = TreePartition(3, min_samples_leaf=100, grower="scikit-learn").fit(X, both)
    assert np.array_equal(found.apply(X), other.apply(X))


def test_the_direction_sets_the_two_most_common_classes_apart():
    codes = np.repeat([0, 1, 2], [500, 400, 10])
    values = class_direction(codes, np.ones(910))
    a, b, c = values[0], values[500], values[900]
    assert min(a, b) < c < max(a, b)


def test_rates_are_those_of_the_given_rows(drawn):
    X, y = drawn
    found = ClassPartition(2, min_samples_leaf=100).fit(X, y).partition_
    weight = np.random.default_rng(1).random(3000)
    rated = with_rates(found, X, (y == 2).astype(int), weight)
    leaf = found.apply(X)
    for each in rated.leaves:
        inside = leaf == each.id
        assert each.rows == inside.sum()
        assert each.positive_rate == pytest.approx(
            np.average(y[inside] == 2, weights=weight[inside])
        )
    assert rated.nodes[0].rows == 3000
    assert rated.nodes[0].positive_rate == pytest.approx(np.average(y == 2, weights=weight))
    assert np.array_equal(rated.apply(X), leaf)


def test_the_partition_is_the_same_after_json(drawn):
    X, y = drawn
    found = ClassPartition(3, min_samples_leaf=100).fit(X, y)
    again = Partition.from_json(found.partition_.to_json())
    assert np.array_equal(again.apply(X), found.apply(X))


def test_one_class_is_refused(drawn):
    with pytest.raises(PartitionError, match="all of one class"):
        ClassPartition().fit(drawn[0], np.zeros(3000))


def test_rows_of_weight_zero_are_as_if_they_were_not_there(drawn):
    X, y = drawn
    odd = X.assign(kind=X["kind"].where(np.arange(3000) >= 200, "only here"))
    weight = np.where(np.arange(3000) < 200, 0.0, 1.0)
    found = ClassPartition(3, min_samples_leaf=100).fit(odd, y, weight)
    assert (
        found.partition_ == ClassPartition(3, min_samples_leaf=100).fit(X[200:], y[200:]).partition_
    )
    assert sum(leaf.rows for leaf in found.leaves_) == 2800
