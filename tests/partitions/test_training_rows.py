import numpy as np
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.encoding import class_direction, class_numbers


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
