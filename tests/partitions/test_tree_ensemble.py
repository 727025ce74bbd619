from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.ensemble import ensemble_fields, read_ensemble
from hetcal.partitions.forest import ForestPartition
from hetcal.strict_json import Fields, JsonError


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
