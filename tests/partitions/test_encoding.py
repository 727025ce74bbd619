import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.encoding import (
    class_direction,
    class_numbers,
    complete_columns,
    encode_column,
    encode_columns,
)
from hetcal.trees.label_tree import GrownTree


def encode(frame):
    return encode_columns(frame, np.zeros(len(frame), np.uint8), np.ones(len(frame)))


def test_single_precision_columns_that_lie_together_are_not_copied():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 3)), dtype=np.float32)
    frame = pd.DataFrame(X, columns=list("abc"), copy=False)
    matrix, columns = encode(frame)
    assert np.shares_memory(matrix, X)
    assert all(np.shares_memory(each.values, X) for each in columns)


def test_infinite_values_become_the_largest_and_the_table_stays_as_it_is():
    X = np.asfortranarray(np.ones((5, 2)), dtype=np.float32)
    X[1, 1], X[2, 1], X[3, 1] = np.inf, -np.inf, np.nan
    frame = pd.DataFrame(X, columns=list("ab"), copy=False)
    matrix, columns = encode(frame)
    largest = np.finfo(np.float32).max
    assert matrix[:3, 1].tolist() == [1, largest, -largest]
    assert np.isnan(matrix[3, 1])
    assert [each.feature.missing for each in columns] == [False, True]
    assert np.isinf(frame["b"][1])


def test_columns_are_looked_at_only_once_a_tree_splits_them():
    X = np.asfortranarray(np.tile([1.0, 2.0, np.nan, np.inf], (3, 1)).T, dtype=np.float32)
    frame = pd.DataFrame(X, columns=list("abc"), copy=False)
    y, weight = np.zeros(4, np.int8), np.ones(4)
    columns = [encode_column(frame[name], y, weight, complete=False) for name in frame]
    assert np.shares_memory(columns[0].values, X)
    nothing = np.zeros(2, np.int64)
    tree = GrownTree(
        np.array([1, -1]), np.zeros(2), nothing > 0, nothing, nothing, nothing, nothing
    )
    found = complete_columns(columns, tree, X)
    assert [each.feature.missing for each in found] == [False, True, False]
    assert np.isinf(found[0].values[3])
    assert found[1].values[3] == np.finfo(np.float32).max
    assert found[1].feature == encode(frame)[1][1].feature


def test_columns_of_several_kinds_stand_side_by_side():
    frame = pd.DataFrame({"a": np.arange(100), "b": np.float32(0.5), "c": ["x", "y"] * 50})
    matrix, columns = encode(frame)
    assert matrix[:, 0].tolist() == list(range(100))
    assert set(matrix[:, 1].tolist()) == {0.5}
    assert [each.feature.kind for each in columns] == ["number", "number", "category"]
    assert [each.feature.whole for each in columns] == [True, False, False]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.float64, np.bool_, object])
def test_the_larger_class_is_1(kind):
    y = np.array([0, 1, 1, 0]).astype(kind)
    assert class_numbers(y, 2).tolist() == [0, 1, 1, 0]


def test_classes_may_be_any_numbers():
    assert class_numbers(np.array([7, -3, 7]), 2).tolist() == [1, 0, 1]


@pytest.mark.parametrize(("y", "words"), [([0, 1, 2], "3 classes"), ([4, 4], "one class")])
def test_other_numbers_of_classes_are_refused(y, words):
    with pytest.raises(PartitionError, match=words):
        class_numbers(np.array(y), 2)


@pytest.mark.parametrize("kind", [np.int64, np.float64, str, object])
def test_classes_are_numbered_in_their_order(kind):
    y = np.array([5, 3, 7, 5]).astype(kind)
    assert class_numbers(y, 3).tolist() == [1, 0, 2, 1]


def test_the_direction_sets_the_two_most_common_classes_apart():
    codes = np.repeat([0, 1, 2], [500, 400, 10])
    a, b, c = class_direction(codes)[[0, 500, 900]]
    assert min(a, b) < c < max(a, b)
