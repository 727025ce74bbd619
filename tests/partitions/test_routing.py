import numpy as np
import pytest

from hetcal.partitions import partition as routing
from hetcal.partitions.nodes import Feature, Node
from hetcal.partitions.partition import Partition


def walk(partition, row):
    """Follow one row by hand."""
    position = 0
    while partition.nodes[position].feature is not None:
        node = partition.nodes[position]
        value = row[int(node.feature[1:])]
        left = node.missing_left if np.isnan(value) else float(value) <= node.threshold
        position = node.left if left else node.right
    return position


@pytest.mark.parametrize("leaves", [2, 3, 40, 300])
@pytest.mark.parametrize("block", [7, 64, 1 << 15])
def test_every_row_takes_the_way_of_a_walk_by_hand(monkeypatch, leaves, block):
    monkeypatch.setattr(routing, "BLOCK", block)
    nodes = [Node(9, 0.5)]
    for i in range(leaves - 1):  # the last leaf becomes a split with two leaves
        at = len(nodes) - 1
        nodes[at] = Node(
            9, 0.5, f"x{i % 2}", i / leaves, missing_left=i % 3 == 0, left=at + 1, right=at + 2
        )
        nodes += [Node(9, 0.5), Node(9, 0.5)]
    partition = Partition((Feature("x0", "number"), Feature("x1", "number")), tuple(nodes))
    X = np.random.default_rng(leaves).uniform(size=(500, 2)).astype(np.float32)
    X[::9, 0], X[::11, 1] = np.nan, np.nan
    node_of = {leaf.node: leaf.id for leaf in partition.leaves}
    expected = [node_of[walk(partition, row)] for row in X]
    assert partition.apply(X).tolist() == expected


def test_no_rows_have_no_leaves():
    partition = Partition((), (Node(9, 0.5),))
    assert partition.apply(np.empty((0, 1))).tolist() == []
    assert partition.apply(np.empty((3, 1))).tolist() == [1, 1, 1]
