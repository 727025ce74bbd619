"""A partition for labels of any number of classes, and a partition's rates anew."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import ClassifierTags, Tags, column_or_1d
from sklearn.utils.validation import check_consistent_length

from hetcal.arrays import Floats, Ints
from hetcal.columns import counted
from hetcal.errors import PartitionError
from hetcal.grown_tree import GrownTree
from hetcal.partition import Partition
from hetcal.partition_estimator import PartitionEstimator
from hetcal.ranking import Labels
from hetcal.row_weights import row_weights
from hetcal.tree_encoding import encode_columns, to_partition
from hetcal.tree_partition import default_min_leaf


class ClassPartition(PartitionEstimator):
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training rows; rows of weight 0 are left out."""
        self._require_counts("tree", "max_depth", "min_samples_leaf")
        frame = self._frame(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(frame, y)
        weight = row_weights(sample_weight, frame)
        used = weight > 0
        if not used.all():  # millions of rows are not copied for nothing
            frame, y, weight = frame[used], y[used], weight[used]
        codes = _several_classes(y)
        matrix, columns = encode_columns(frame, class_direction(codes, weight), weight)
        rows = len(frame)
        fewest = default_min_leaf(rows) if self.min_samples_leaf is None else self.min_samples_leaf
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=min(fewest, rows),
            random_state=self.random_state,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values
            tree.fit(matrix, codes, sample_weight=None if sample_weight is None else weight)
        grown = to_partition(GrownTree.from_scikit_learn(tree.tree_, matrix), columns)
        common = int(np.bincount(codes, weight).argmax())
        self.partition_ = with_rates(grown, frame, (codes == common).astype(int), weight)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()
        return tags


def _several_classes(y: Any) -> Ints:
    """Give each label the number of its class, or say what is wrong with them."""
    missing = int(pd.isna(y).sum())
    codes: Ints = np.unique(y, return_inverse=True)[1] if not missing else np.zeros(1, np.int64)
    if codes.max(initial=0) < 1:
        found = f"have {counted(missing, 'gap')}" if missing else "are all of one class"
        raise PartitionError(
            f"The labels of the training rows {found}.",
            "A tree is trained on labels of at least two classes.",
            "Choose training rows of several classes, each with its label.",
        )
    return codes


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
