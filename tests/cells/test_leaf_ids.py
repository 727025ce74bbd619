import numpy as np
import pytest

from hetcal.cells.cells import leaf_positions, position_table


@pytest.mark.parametrize("offset", [0, 2**40, -5], ids=["small", "large", "negative"])
@pytest.mark.parametrize("ids", [(4, 1, 9, 0), range(13), range(1, 5), range(12, -1, -1)])
def test_positions_are_those_of_a_search(offset, ids):
    leaves = [offset + each for each in ids]
    leaf = offset + np.array([9, 0, 3, 4, 1, 12, 4])
    expected = [leaves.index(each) if each in leaves else -1 for each in leaf]
    assert leaf_positions(leaf, leaves).tolist() == expected


@pytest.mark.parametrize("offset", [0, 2**40, -5], ids=["small", "large", "negative"])
def test_a_table_gives_the_same_positions(offset):
    leaves = [offset + each for each in (4, 1, 9, 0)]
    leaf = offset + np.array([9, 0, 3, 4, 1, 12, 4])
    ids, table = position_table(leaf, leaves)
    found = [table[each] if 0 <= each < table.size else -1 for each in ids]
    assert found == leaf_positions(leaf, leaves).tolist()


def test_without_leaves_there_is_no_position():
    assert leaf_positions(np.array([1, 2]), []).tolist() == [-1, -1]
    assert leaf_positions(np.array([], dtype=np.int64), [1]).tolist() == []
