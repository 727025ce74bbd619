"""The way of rows through a tree as a loop for a compiler; see `kernels`."""

import numpy as np

from hetcal.arrays import Bools, Ints, Singles


def route(matrix: Singles, feature: Ints, limit: Singles, missing_left: Bools, right: Ints) -> Ints:
    """Return the node in which each row ends; the left child follows its parent."""
    node = np.zeros(len(matrix), dtype=np.int64)
    for i in range(len(matrix)):
        position = 0
        while feature[position] >= 0:
            value = matrix[i, feature[position]]
            if value <= limit[position] or (missing_left[position] and np.isnan(value)):
                position += 1
            else:
                position = right[position]
        node[i] = position
    return node
