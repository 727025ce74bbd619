"""A partition of rows without readable columns: a tree on a layer of the network."""

from typing import Any, Self

import pandas as pd
from sklearn.base import clone

from hetcal.data.scores import Activations, unit_name
from hetcal.partitions.tree import PartitionEstimator, TreePartition


class LayerPartition(PartitionEstimator):
    """Partition images, texts and the like by what an internal layer gives for them.

    Rows are given as the `Activations` of the layer, or as an array of its units. The
    columns that the partition splits are named after them: `hidden[3]` is a unit of the
    layer `hidden`.

    Parameters
    ----------
    layer : str
        Name of the layer.
    tree : estimator or None, default=None
        What grows the tree, such as `SelectedTreePartition()`; None means
        `TreePartition()`.

    Attributes
    ----------
    partition_ : Partition
        The tree as plain data.
    tree_ : estimator
        The fitted tree.
    """

    def __init__(self, layer: str = "layer", *, tree: TreePartition | None = None) -> None:
        self.layer = layer
        self.tree = tree

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Self:
        """Grow the tree on training rows with labels of two or more classes; it receives `more`."""
        template = TreePartition() if self.tree is None else self.tree
        self.tree_ = clone(template).fit(self._frame(X, reset=True), y, sample_weight, **more)
        self.partition_ = self.tree_.partition_
        return self

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        frame = super()._frame(X.values if isinstance(X, Activations) else X, reset=reset)
        return frame.set_axis([unit_name(self.layer, i) for i in range(frame.shape[1])], axis=1)
