import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions import ensemble
from hetcal.partitions.encoding import encode_columns
from hetcal.partitions.ensemble import (
    FlatTree,
    TreeColumns,
    TreeEnsemble,
    ensemble_fields,
    read_ensemble,
)
from hetcal.partitions.forest import ForestPartition
from hetcal.partitions.nodes import Feature
from hetcal.strict_json import Fields, JsonError
from hetcal.trees.label_tree import RankSets


def rows(seed, size=1_500):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=size), "b": rng.integers(0, 9, size)})
    X["c"] = pd.Series(rng.choice([*"pqrst", None], size), dtype="str")
    X.loc[rng.random(size) < 0.1, "a"] = np.nan
    y = (X["a"].fillna(0) + X["b"] / 4 + (X["c"] == "p") + rng.normal(size=size) > 1.2).to_numpy()
    return X, y.astype(np.int64)


@pytest.fixture(scope="module")
def grown():
    X, y = rows(0)
    return ForestPartition(5, max_depth=4, min_samples_leaf=10).fit(X, y).ensemble_


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_rows_reach_the_leaf_of_the_partition_of_each_tree(grown, compiled, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    X, _ = rows(1)
    leaf = grown.apply(X)
    for tree in range(grown.trees):
        ids = grown.partition(tree).apply(X)
        assert np.array_equal(leaf[:, tree] - grown.leaf_starts[tree] + 1, ids)


def test_partition_counts_the_rows_and_labels_that_it_is_given(grown):
    X, y = rows(2)
    partition = grown.partition(3).counting(X, y)
    ids = partition.apply(X)
    for leaf in partition.leaves:
        assert leaf.rows == (ids == leaf.id).sum()
        if leaf.rows:
            assert leaf.positive_rate == pytest.approx(y[ids == leaf.id].mean())
    assert partition.nodes[0].rows == len(X)
    assert partition.base_rate == pytest.approx(y.mean())


def test_rules_have_the_digits_that_the_training_rows_need():
    low, high = 1 + 2.0**-16, 1 + 2.0**-15  # exact in single precision
    X = pd.DataFrame({"a": np.repeat([low, high], 500)})
    grown = ForestPartition(1, max_depth=1).fit(X, np.repeat([0, 1], 500)).ensemble_
    for leaf in grown.partition(0).leaves:
        shown = leaf.rule.split()[-1]
        assert low <= float(shown) < high
        assert len(shown) < 9


def test_partition_counts_weights(grown):
    X, y = rows(2)
    weight = np.linspace(0.5, 2.0, len(X))
    partition = grown.partition(0).counting(X, y, weight)
    assert partition.base_rate == pytest.approx(np.average(y, weights=weight))


def test_fields_give_back_every_number(grown):
    again = read_ensemble(Fields(ensemble_fields(grown), "the trees"))
    assert again.columns == grown.columns
    for name in ("sizes", "feature", "threshold", "missing_left", "right"):
        assert np.array_equal(getattr(again, name), getattr(grown, name))


def test_a_missing_column_is_named(grown):
    X, _ = rows(1)
    with pytest.raises(PartitionError, match="no column 'b'"):
        grown.apply(X.drop(columns="b"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("feature", 7), ("right", 1), ("right", 10**6), ("threshold", np.nan), ("sizes", 1)],
)
def test_nodes_that_form_no_trees_are_refused(grown, field, value):
    broken = getattr(grown, field).copy()
    broken[0] = value
    with pytest.raises(PartitionError, match="cannot be used"):
        replace(grown, **{field: broken})


def test_lists_that_are_too_short_are_refused(grown):
    fields = ensemble_fields(grown)
    fields["right"] = fields["right"][:-1]
    with pytest.raises(PartitionError, match="one entry for each node"):
        read_ensemble(Fields(fields, "the trees"))


def test_text_among_the_numbers_is_refused(grown):
    fields = ensemble_fields(grown)
    fields["threshold"][0] = "0"
    with pytest.raises(JsonError, match="list of numbers"):
        read_ensemble(Fields(fields, "the trees"))


COLUMNS = TreeColumns(
    (Feature("n", "number"), Feature("c", "category", ("p", "q", "r"))), ((), (2, 0, 1))
)


def test_numbers_stay_and_categories_become_ranks():
    X = pd.DataFrame({"c": ["p", "q", None, "new"], "other": 0, "n": [1.5, np.nan, 1e300, -3]})
    matrix = COLUMNS.matrix(X)
    assert matrix[:, 1].tolist() == pytest.approx([2, 0, np.nan, np.nan], nan_ok=True)
    largest = float(np.finfo(np.float32).max)
    assert matrix[:, 0].tolist() == pytest.approx([1.5, np.nan, largest, -3], nan_ok=True)


def test_training_rows_are_what_the_tree_saw():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=400), "c": rng.choice([*"stuv"], 400)})
    matrix, columns = encode_columns(X, rng.integers(0, 2, 400), np.ones(400))
    assert np.array_equal(TreeColumns.of(columns).matrix(X), matrix)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(PartitionError, match="no column 'c'"):
        COLUMNS.matrix(pd.DataFrame({"n": [1.0]}))


@pytest.mark.parametrize("ranks", [(0, 1), (0, 0, 1), (1, 2, 3)])
def test_ranks_that_are_no_order_are_refused(ranks):
    with pytest.raises(PartitionError, match="no order"):
        TreeColumns(COLUMNS.features, ((), ranks))


def test_a_column_named_twice_is_refused():
    with pytest.raises(PartitionError, match="twice"):
        TreeColumns((Feature("n", "number"),) * 2, ((), ()))


def with_sets():
    """Two trees: the categories of ranks 0 and 2 against the rest, then rank 1 against the rest."""
    sets = RankSets(np.array([0, 3]), np.array([2, 1]), np.array([0, 2, 1]))
    feature, right = np.array([1, -1, -1] * 2), np.array([2, 0, 0] * 2)
    nowhere = np.zeros(6, dtype=np.bool_)
    return TreeEnsemble(COLUMNS, np.array([3, 3]), feature, np.zeros(6), nowhere, right, sets)


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_categories_of_a_set_go_left_and_all_else_goes_right(compiled, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    X = pd.DataFrame({"n": 0.0, "c": ["p", "q", "r", None, "new"]})  # ranks 2, 0, 1
    assert with_sets().apply(X).T.tolist() == [[0, 0, 1, 1, 1], [3, 3, 2, 3, 3]]


def test_rules_name_the_categories_of_a_set():
    trees = with_sets()
    rules = [[leaf.rule for leaf in trees.partition(tree).leaves] for tree in (0, 1)]
    assert rules == [["c is p or q", "c is r"], ["c is r", "c is p or q"]]


def test_files_without_sets_are_as_before(grown):
    assert "sets" not in ensemble_fields(grown)


def test_fields_give_back_every_set():
    again = read_ensemble(Fields(json.loads(json.dumps(ensemble_fields(with_sets()))), "it"))
    for name in ("node", "size", "rank"):
        assert np.array_equal(getattr(again.sets, name), getattr(with_sets().sets, name))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"node": [0, 6]}, "not those of nodes"),
        ({"node": [3, 0]}, "not those of nodes"),
        ({"node": [0, 0]}, "not those of nodes"),
        ({"node": [0, 4]}, "a leaf has a set"),
        ({"size": [3, 0]}, "one entry for each node"),
        ({"size": [2, 2]}, "one entry for each node"),
        ({"size": [2]}, "one entry for each node"),
        ({"rank": [0, 3, 1]}, "not listed"),
        ({"rank": [2, 0, 1]}, "not sorted"),
        ({"rank": [0, 0, 1]}, "twice"),
    ],
)
def test_sets_that_are_none_are_refused(change, problem):
    fields = ensemble_fields(with_sets())
    fields["sets"].update(change)
    with pytest.raises(PartitionError, match=problem):
        read_ensemble(Fields(fields, "the trees"))


@pytest.mark.parametrize("change", [{"node": [-1, 3]}, {"rank": [0, 2, "1"]}, {"more": []}])
def test_sets_of_other_fields_or_numbers_are_refused(change):
    fields = ensemble_fields(with_sets())
    fields["sets"].update(change)
    with pytest.raises(JsonError):
        read_ensemble(Fields(fields, "the trees"))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("feature", 0, "not listed"),  # a column of numbers has no categories
        ("threshold", 1.5, "beside another rule"),
        ("missing_left", True, "beside another rule"),
    ],
)
def test_a_set_stands_for_a_category_column_and_alone(field, value, problem):
    changed = getattr(with_sets(), field).copy()
    changed[3] = value
    with pytest.raises(PartitionError, match=problem):
        replace(with_sets(), **{field: changed})


def test_sets_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(ensemble, "MAX_WORDS", 1)
    with pytest.raises(PartitionError, match="too many categories"):
        with_sets()


WIDTH = 3
CATEGORIES = 64, 63, 200  # as many as fill a word but for the missing ones, or more


def random_tree(leaves, rng):
    """Draw a tree of so many leaves, cut anywhere, with missing values on either side.

    Some nodes send a set of ranks left, which begins at any word.
    """
    feature, right = [], []

    def grow(many):
        position = len(feature)
        feature.append(-1 if many == 1 else int(rng.integers(WIDTH)))
        right.append(0)
        if many > 1:
            left = int(rng.integers(1, many))
            grow(left)
            right[position] = len(feature)
            grow(many - left)

    grow(leaves)
    limit = rng.integers(-1, 10, len(feature)).astype(np.float32)
    missing_left = rng.random(len(feature)) < 0.5
    limit[~missing_left & (rng.random(len(feature)) < 0.1)] = np.inf
    nodes = np.array(feature)
    width = np.where(rng.random(nodes.size) < 0.4, np.array(CATEGORIES)[nodes] // 64 + 1, 0)
    words = rng.integers(0, 2**64, width.sum(), dtype=np.uint64)
    place = np.cumsum(width) - width
    last = (place + width)[width > 0] - 1
    words[last] &= np.uint64(2**63 - 1)
    return FlatTree(nodes, limit, missing_left, np.array(right), place, width, words)


def walked(tree, row):
    """Follow one row from node to node, and count the leaves before its own."""
    position = 0
    while (column := tree.feature[position]) >= 0:
        missing = np.isnan(row[column])
        if tree.width[position]:
            words = tree.words[tree.place[position] :][: tree.width[position]]
            bits = sum(int(word) << 64 * i for i, word in enumerate(words))
            left = not missing and bits >> int(row[column]) & 1
        else:
            left = tree.missing_left[position] if missing else row[column] <= tree.limit[position]
        position = position + 1 if left else tree.right[position]
    return (tree.feature[:position] < 0).sum()


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("leaves", [1, 2, 24, 32, 33, 64, 65, 300])
def test_rows_reach_the_leaf_that_a_walk_from_node_to_node_reaches(leaves, compiled, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    rng = np.random.default_rng(leaves)
    columns = rng.integers(0, np.array(CATEGORIES)[:, None], (WIDTH, 1_500)).astype(np.float32)
    columns[:, ::2] = rng.integers(0, 9, (WIDTH, 750))  # many are at a limit
    columns[rng.random(columns.shape) < 0.2] = np.nan
    for _ in range(3):
        tree = random_tree(leaves, rng)
        expected = [walked(tree, row) for row in columns.T]
        assert np.array_equal(tree.leaves(columns, 0, 1_500), expected)
        assert np.array_equal(tree.leaves(columns, 200, 203), expected[200:203])
        assert tree.leaves(columns, 7, 7).size == 0
