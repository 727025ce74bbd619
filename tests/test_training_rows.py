import numpy as np
import pytest

from hetcal.errors import PartitionError
from hetcal.training_rows import two_classes


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.float64, np.bool_, object])
def test_the_larger_class_is_1(kind):
    y = np.array([0, 1, 1, 0]).astype(kind)
    assert two_classes(y).tolist() == [0, 1, 1, 0]


def test_classes_may_be_any_numbers():
    assert two_classes(np.array([7, -3, 7])).tolist() == [1, 0, 1]


@pytest.mark.parametrize(("y", "words"), [([0, 1, 2], "3 classes"), ([4, 4], "one class")])
def test_other_numbers_of_classes_are_refused(y, words):
    with pytest.raises(PartitionError, match=words):
        two_classes(np.array(y))
