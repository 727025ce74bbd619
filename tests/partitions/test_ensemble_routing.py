import numpy as np
import pytest

from hetcal.partitions.ensemble import FlatTree

COLUMNS = 3


def grown(leaves, rng):
    """Draw a tree of so many leaves, cut anywhere, with missing values on either side."""
    feature, right = [], []

    def grow(many):
        position = len(feature)
        feature.append(-1 if many == 1 else int(rng.integers(COLUMNS)))
        right.append(0)
        if many > 1:
            left = int(rng.integers(1, many))
            grow(left)
            right[position] = len(feature)
            grow(many - left)

    grow(leaves)
    limit = rng.integers(-3, 4, len(feature)).astype(np.float32)
    missing_left = rng.random(len(feature)) < 0.5
    limit[~missing_left & (rng.random(len(feature)) < 0.1)] = np.inf
    return FlatTree(np.array(feature), limit, missing_left, np.array(right))


def walked(tree, row):
    """Follow one row from node to node, and count the leaves before its own."""
    position = 0
    while (column := tree.feature[position]) >= 0:
        missing = np.isnan(row[column])
        left = tree.missing_left[position] if missing else row[column] <= tree.limit[position]
        position = position + 1 if left else tree.right[position]
    return (tree.feature[:position] < 0).sum()


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("leaves", [1, 2, 24, 32, 33, 64, 65, 300])
def test_rows_reach_the_leaf_that_a_walk_from_node_to_node_reaches(leaves, compiled, monkeypatch):
    monkeypatch.setenv("HETCAL_COMPILED", compiled)
    rng = np.random.default_rng(leaves)
    columns = rng.integers(-4, 5, (COLUMNS, 1_500)).astype(np.float32)  # many are at a limit
    columns[rng.random(columns.shape) < 0.2] = np.nan
    for _ in range(3):
        tree = grown(leaves, rng)
        expected = [walked(tree, row) for row in columns.T]
        assert np.array_equal(tree.leaves(columns, 0, 1_500), expected)
        assert np.array_equal(tree.leaves(columns, 200, 203), expected[200:203])
        assert tree.leaves(columns, 7, 7).size == 0
