from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hetcal.data.columns import fewest_category_rows
from hetcal.errors import PartitionError
from hetcal.partitions.nodes import short_number
from hetcal.partitions.partition import Partition
from hetcal.partitions.tree import TreePartition, default_min_leaf


@parametrize_with_checks(
    [
        TreePartition(),
        TreePartition(2, min_samples_leaf=1),
    ]
)
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def leaf_numbers(tree, matrix):
    """Leaf ids from scikit-learn's own `apply`, numbered from left to right."""
    nodes = np.flatnonzero(tree.tree_.feature < 0)  # scikit-learn stores left before right
    return 1 + np.searchsorted(nodes, tree.apply(matrix))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_with_gaps_reach_the_leaf_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1_000, 4)) * 10.0 ** rng.integers(-8, 9, size=4)
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(X.shape) < rng.choice([0, 0.2], size=4)] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=3e-9) > 0) ^ (rng.random(len(X)) < 0.3)
    fitted = TreePartition(4, min_samples_leaf=60).fit(X, y)  # smaller leaves tie
    rival = DecisionTreeClassifier(max_depth=4, min_samples_leaf=60, random_state=0).fit(X, y)
    new = rng.permuted(X, axis=0)
    new[rng.random(new.shape) < 0.1] = np.nan
    near = rival.tree_.threshold[rival.tree_.feature >= 0]
    near = near[np.isfinite(near)]
    new[: len(near)] = near[:, None]
    new[len(near) : 2 * len(near)] = np.nextafter(near, np.inf)[:, None]
    for rows in (X, new):
        assert np.array_equal(fitted.apply(rows), leaf_numbers(rival, rows))


def test_values_are_compared_in_single_precision():
    X = np.repeat([1.0, 2.0], 20)[:, None]
    y = np.repeat([0, 1], 20)
    fitted = TreePartition(1, min_samples_leaf=1).fit(X, y)
    rival = DecisionTreeClassifier(max_depth=1).fit(X, y)
    edge = np.array([[1.5 - 1e-9], [1.5], [1.5 + 1e-9], [1.5 + 1e-6]])
    assert leaf_numbers(rival, edge).tolist() == [1, 1, 1, 2]  # 1.5 + 1e-9 rounds to 1.5
    assert fitted.apply(edge).tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_categories_reach_the_leaf_of_scikit_learn(seed):
    """The tree of scikit-learn sees each category as the rank of its rate, by hand here."""
    rng = np.random.default_rng(seed)
    names = np.array([*"abcdefghij", None], dtype=object)
    X = pd.DataFrame({name: rng.choice(names, 1_500) for name in ("p", "q")}, dtype="str")
    X["r"] = np.where(rng.random(1_500) < 0.1, np.nan, rng.normal(size=1_500))
    effect = rng.normal(size=26)
    y = rng.random(1_500) < expit(sum(effect[X[c].fillna("z").map(ord) - 97] for c in "pq"))
    ranked = X.copy()
    for column in "pq":
        rate = pd.Series(y).groupby(X[column]).mean().sort_index().sort_values(kind="stable")
        order = {name: rank for rank, name in enumerate(rate.index)}
        ranked[column] = X[column].map(order).astype(float)
    rival = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0)
    rival.fit(ranked, y)
    fitted = TreePartition(4, min_samples_leaf=20).fit(X, y)
    assert len(fitted.leaves_) > 8
    assert np.array_equal(fitted.apply(X), leaf_numbers(rival, ranked))


def test_a_numeric_frame_gives_the_tree_of_scikit_learn():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=["a", "b", "c"])
    y = (frame["a"] * frame["b"] > 0).astype(int)
    rival = DecisionTreeClassifier(max_depth=3, min_samples_leaf=125, random_state=0)
    rival.fit(frame.to_numpy(), y)
    nodes = TreePartition(3).fit(frame, y).partition_.nodes
    splits = rival.tree_.feature >= 0
    assert [each.threshold for each in nodes if each.feature] == rival.tree_.threshold[
        splits
    ].tolist()
    assert ["abc".index(each.feature) for each in nodes if each.feature] == rival.tree_.feature[
        splits
    ].tolist()
    assert [node.rows for node in nodes] == rival.tree_.n_node_samples.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_as_they_are_shown_send_training_rows_the_same_way(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(7, 1e-4, size=(3_000, 2)), columns=["a", "b"])
    X["b"] = X["b"].where(X["a"] > 7, 7 + 10 * (X["b"] - 7))
    y = rng.random(3_000) < expit(2e4 * (X["a"] - 7) + 5e3 * (X["b"] - 7))
    partition = TreePartition(5, min_samples_leaf=20).fit(X, y).partition_
    digits = {feature.name: feature.digits for feature in partition.features}
    assert max(digits.values()) > 5
    shown = tuple(
        node
        if node.feature is None
        else replace(node, threshold=float(short_number(node.threshold, digits[node.feature])))
        for node in partition.nodes
    )
    assert shown != partition.nodes
    single = X.astype(np.float32)
    assert np.array_equal(replace(partition, nodes=shown).apply(single), partition.apply(single))


def test_each_leaf_knows_its_training_rows_and_rate():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(800, 2)), rng.integers(0, 2, 800)
    fitted = TreePartition(2, min_samples_leaf=50).fit(X, y)
    leaf = fitted.apply(X)
    for each in fitted.leaves_:
        assert each.rows == (leaf == each.id).sum()
        assert each.positive_rate == pytest.approx(y[leaf == each.id].mean())


def test_infinite_values_take_the_outer_sides():
    X = np.array([[-np.inf], [0.0], [1e300], [np.inf]]).repeat(10, axis=0)
    y = np.repeat([0, 0, 1, 1], 10)
    fitted = TreePartition(1, min_samples_leaf=1).fit(X, y)
    assert fitted.apply([[-np.inf], [-1e300], [1e300], [np.inf]]).tolist() == [1, 1, 2, 2]


def jobs():
    """Positive rates: a 0.9, b 0.1, c 0.9, d 0.1, missing 0.9."""
    names = np.repeat(np.array(["a", "b", "c", "d", None], dtype=object), 100)
    y = np.tile(np.arange(100) < 10, 5)
    y[np.isin(names, ["a", "c"]) | pd.isna(names)] ^= True
    return pd.DataFrame({"job": pd.Series(names, dtype="str")}), y.astype(int)


def test_a_split_of_categories_is_a_set_of_names():
    X, y = jobs()
    fitted = TreePartition(1, min_samples_leaf=10).fit(X, y)
    assert [leaf.rule for leaf in fitted.leaves_] == ["job is b or d", "job is a, c or missing"]
    assert fitted.partition_.nodes[0].categories == ("b", "d")


def test_missing_values_take_the_side_that_fits_their_rate():
    X, y = jobs()
    right = TreePartition(1, min_samples_leaf=10).fit(X, y)
    assert right.apply(pd.DataFrame({"job": [None]}, dtype="str")).tolist() == [2]
    y[400:] = 1 - y[400:]
    left = TreePartition(1, min_samples_leaf=10).fit(X, y)
    assert left.apply(pd.DataFrame({"job": [None]}, dtype="str")).tolist() == [1]
    assert left.leaves_[0].rule == "job is b, d or missing"


def test_an_unseen_category_follows_the_missing_values():
    X, y = jobs()
    for flip, expected in ((False, 2), (True, 1)):
        y[400:] = 1 - y[400:] if flip else y[400:]
        fitted = TreePartition(1, min_samples_leaf=10).fit(X, y)
        assert fitted.apply(pd.DataFrame({"job": ["never seen"]})).tolist() == [expected]


@pytest.mark.parametrize("levels", [2_000, 500, 300])
def test_a_category_of_pure_noise_does_not_take_over(levels):
    rng = np.random.default_rng(5)
    x = rng.normal(size=10_000)
    y = rng.random(10_000) < expit(0.3 * x)
    noise = pd.Series(rng.integers(0, levels, 10_000).astype(str), dtype="str")
    fitted = TreePartition().fit(pd.DataFrame({"noise": noise, "x": x}), y)
    assert {node.feature for node in fitted.partition_.nodes} == {"x", None}


def test_a_rare_category_follows_the_missing_values():
    X, y = jobs()
    X = pd.concat([X, pd.DataFrame({"job": ["e"] * 24 + ["f"] * 26}, dtype="str")])
    y = np.append(y, [0] * 24 + [1] * 26)  # 550 rows: 27 are too few
    fitted = TreePartition(1, min_samples_leaf=10).fit(X, y)
    assert [leaf.rule for leaf in fitted.leaves_] == [
        "job is b or d",
        "job is a, c, missing or rare",
    ]
    new = pd.DataFrame({"job": ["e", "f", "b", None]}, dtype="str")
    assert fitted.apply(new).tolist() == [2, 2, 1, 2]
    assert fitted.leaves_[1].rows == 350


def test_a_column_of_rare_categories_alone_splits_nothing():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"name": rng.permutation(1_000).astype(str)}, dtype="str")
    fitted = TreePartition().fit(X, rng.integers(0, 2, 1_000))
    assert [leaf.rule for leaf in fitted.leaves_] == ["all rows"]


@pytest.mark.parametrize(("rows", "fewest"), [(1_000_000, 50), (1_000, 50), (999, 49), (19, 0)])
def test_the_smallest_category_grows_with_the_rows(rows, fewest):
    assert fewest_category_rows(rows) == fewest


def test_missing_values_can_be_alone():
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, np.nan] * 50})
    y = np.isnan(X["age"]).astype(int)
    fitted = TreePartition(1, min_samples_leaf=1).fit(X, y)
    assert [leaf.rule for leaf in fitted.leaves_] == ["age is not missing", "age is missing"]
    assert fitted.partition_.nodes[0].threshold is None
    assert fitted.apply(pd.DataFrame({"age": [1e30, np.nan]})).tolist() == [1, 2]


def test_categories_of_every_type_get_the_names_a_person_would_write():
    X, y = jobs()
    code = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.5}
    X = pd.DataFrame({"number": X["job"].map(code).astype("category")})
    fitted = TreePartition(1, min_samples_leaf=10).fit(X, y)
    assert [leaf.rule for leaf in fitted.leaves_] == [
        "number is 2 or 4.5",
        "number is 1, 3 or missing",
    ]
    flags = pd.DataFrame({"vip": np.arange(200) < 100})
    by_flag = TreePartition(1, min_samples_leaf=10).fit(flags, flags["vip"])
    assert [leaf.rule for leaf in by_flag.leaves_] == ["vip is False", "vip is True"]


def test_equal_rates_are_ordered_by_name():
    X = pd.DataFrame({"job": ["b", "a", "d", "c"] * 100, "z": np.arange(400)})
    y = np.arange(400) >= 200
    first = TreePartition(2, min_samples_leaf=10).fit(X, y)
    second = TreePartition(2, min_samples_leaf=10).fit(X.iloc[::-1], y[::-1])
    assert first.partition_ == second.partition_


def test_rows_of_weight_zero_do_not_count():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    weight = rng.integers(0, 2, 400).astype(float)
    kept = weight > 0
    weighted = TreePartition(2, min_samples_leaf=20).fit(X, y, sample_weight=weight)
    without = TreePartition(2, min_samples_leaf=20).fit(X[kept], y[kept])
    assert weighted.partition_ == without.partition_


@pytest.mark.parametrize(
    ("rows", "fewest"), [(16_000, 1000), (15_999, 999), (400, 25), (1, 25), (1_000_000, 1000)]
)
def test_the_smallest_leaf_grows_with_the_rows(rows, fewest):
    assert default_min_leaf(rows) == fewest


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"] * 30), "'when' holds values of type datetime"),
        (pd.Series([[1], [2]] * 30), "'when' holds lists"),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories_are_named(column, message):
    with pytest.raises(PartitionError, match=message):
        TreePartition().fit(pd.DataFrame({"when": column}), [0, 1] * 30)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0] * 60, "one class"),
        (np.arange(200), "200 classes"),
        ([0.0, np.nan] * 30, "30 gaps"),
    ],
)
def test_labels_need_several_classes(y, message):
    with pytest.raises(PartitionError, match=message):
        TreePartition().fit(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("parameters", [{"max_depth": 0}, {"min_samples_leaf": 0.5}])
def test_parameters_are_checked_in_fit(parameters):
    with pytest.raises(PartitionError, match=next(iter(parameters))):
        TreePartition(**parameters).fit(np.zeros((60, 1)), [0, 1] * 30)


def test_too_deep_a_tree_is_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(PartitionError, match="leaves, and 1 to 1,024 are possible"):
        TreePartition(30, min_samples_leaf=1).fit(
            rng.normal(size=(8_000, 5)), rng.integers(0, 2, 8_000)
        )


@pytest.mark.parametrize("seed", range(5))
def test_rates_of_weighted_leaves_of_one_class_are_rates(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(600, 2)), rng.random(600)
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    partition = TreePartition(6, min_samples_leaf=1).fit(X, y, weight).partition_
    leaf = partition.apply(X)
    for each in partition.leaves:
        inside = leaf == each.id
        expected = np.average(y[inside], weights=weight[inside])
        assert 0 <= each.positive_rate <= 1
        assert each.positive_rate == pytest.approx(expected, abs=1e-9)
    assert Partition.from_json(partition.to_json()) == partition


def test_leaves_whose_weight_is_lost_beside_the_others_have_a_rate():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    weight = np.where(np.arange(40) < 20, 1.0, 1e-30)
    partition = TreePartition(6, min_samples_leaf=1).fit(X, y, weight).partition_
    assert all(0 <= node.positive_rate <= 1 for node in partition.nodes)
    assert Partition.from_json(partition.to_json()) == partition


@pytest.fixture(scope="module")
def three_classes():
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


def test_three_classes_give_the_tree_of_scikit_learn(three_classes):
    X, y = three_classes
    numbers = X[["x", "z"]]
    rival = DecisionTreeClassifier(max_depth=3, min_samples_leaf=100, random_state=0)
    rival.fit(numbers.to_numpy(), y)
    found = TreePartition(3, min_samples_leaf=100).fit(numbers, np.array(["u", "v", "w"])[y])
    assert np.array_equal(found.apply(numbers), leaf_numbers(rival, numbers.to_numpy()))


def test_categories_that_share_a_class_go_the_same_way(three_classes):
    X, y = three_classes
    found = TreePartition(2, min_samples_leaf=100).fit(X, y)
    splits = [set(node.categories) for node in found.partition_.nodes if node.feature == "kind"]
    assert {"b", "d"} in splits or {"a", "c"} in splits


def test_the_rates_of_three_classes_are_those_of_the_most_common_one(three_classes):
    X, y = three_classes
    found = TreePartition(2, min_samples_leaf=100).fit(X, y)
    common, leaf = np.bincount(y).argmax(), found.apply(X)
    for each in found.leaves_:
        assert each.positive_rate == (y[leaf == each.id] == common).mean()


def test_rows_of_weight_zero_do_not_count_with_three_classes(three_classes):
    X, y = three_classes
    odd = X.assign(kind=X["kind"].where(np.arange(3000) >= 200, "only here"))
    weight = np.where(np.arange(3000) < 200, 0.0, 1.0)
    tree = TreePartition(3, min_samples_leaf=100)
    found = tree.fit(odd, y, weight).partition_
    assert found == tree.fit(X[200:], y[200:]).partition_
    assert found == tree.fit_rows(odd, np.arange(3000), y, weight).partition_
