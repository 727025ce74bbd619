"""A partition for labels of any number of classes, and a partition's rates anew."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hetcal.arrays import Floats, Ints
from hetcal.errors import PartitionError
from hetcal.grown_tree import GrownTree
from hetcal.partition import Leaf, Partition
from hetcal.ranking import Labels
from hetcal.tree_encoding import encode_columns, to_partition
from hetcal.tree_partition import default_min_leaf


class ClassPartition(BaseEstimator):
    """Partition the feature space by a decision tree on more than two classes.

    Categories are ordered by the direction in which the shares of the classes differ most
    between rows of different labels: the first principal axis of the classes, weighted by
    how common they are.

    Parameters
    ----------
    max_depth : int, default=3
        Most splits on a path.
    min_samples_leaf : int or None, default=None
        Fewest training rows of a leaf; None means `hetcal.tree_partition.default_min_leaf`.
    random_state : int, default=0
        Decides between splits that are equally good.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data; the rates are those of the class with the most rows.
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        min_samples_leaf: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: Any, sample_weight: Floats | None = None) -> Self:
        """Grow the tree on training rows."""
        check_consistent_length(X, y, sample_weight)
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        if codes.max(initial=0) < 1:
            raise PartitionError(
                "The training rows have labels of fewer than two classes.",
                "A tree is trained on labels of at least two.",
                "Choose training rows of several classes.",
            )
        weight = np.ones(codes.size) if sample_weight is None else sample_weight
        matrix, columns = encode_columns(X, class_direction(codes, weight), weight)
        rows = default_min_leaf(len(X)) if self.min_samples_leaf is None else self.min_samples_leaf
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=min(rows, len(X)),
            random_state=self.random_state,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values
            tree.fit(matrix, codes, sample_weight=sample_weight)
        grown = to_partition(GrownTree.from_scikit_learn(tree.tree_, matrix), columns)
        common = int(np.bincount(codes, weight).argmax())
        self.partition_: Partition = with_rates(grown, X, (codes == common).astype(int), weight)
        return self

    def apply(self, X: pd.DataFrame) -> Ints:
        """Return the leaf id of each row, from 1."""
        check_is_fitted(self)
        return self.partition_.apply(X)

    @property
    def leaves_(self) -> tuple[Leaf, ...]:
        """The leaves from left to right."""
        return self.partition_.leaves


def class_direction(codes: Ints, weight: Floats) -> Floats:
    """Give each row a number by its class, for ordering categories by its mean.

    Two classes that are the most common lie furthest apart. With two classes in all, the
    order is that by the rate of the second.
    """
    share = np.bincount(codes, weight) / weight.sum()
    spread = np.diag(share) - np.outer(share, share)
    axis = np.linalg.eigh(spread)[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    if share.size == 2 and axis[1] < axis[0]:
        axis = -axis
    return np.asarray(axis[codes], dtype=np.float64)


def with_rates(
    partition: Partition, X: pd.DataFrame, y: Labels, weight: Floats | None = None
) -> Partition:
    """Count rows and positive rate of every node anew, for other rows or other labels."""
    w = np.ones(len(X)) if weight is None else weight
    leaf = partition.apply(X)
    size = len(partition.leaves) + 1
    counts = np.stack(
        [np.bincount(leaf, each, size) for each in (np.ones(len(X)), w, w * np.asarray(y))]
    )
    at_node = np.zeros((3, len(partition.nodes)))
    at_node[:, [each.node for each in partition.leaves]] = counts[:, 1:]
    for place in reversed(range(len(partition.nodes))):  # children stand after their parent
        node = partition.nodes[place]
        if node.feature is not None:
            at_node[:, place] = at_node[:, node.left] + at_node[:, node.right]
    overall = at_node[2, 0] / at_node[1, 0]
    rate = np.divide(
        at_node[2], at_node[1], out=np.full(at_node.shape[1], overall), where=at_node[1] > 0
    )
    nodes = (
        replace(node, rows=int(rows), positive_rate=float(share))
        for node, rows, share in zip(partition.nodes, at_node[0], rate, strict=True)
    )
    return Partition(partition.features, tuple(nodes))
