"""Cross-validation of nested trees: what the leaf rates of each are worth on other rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hetcal.arrays import Floats, Ints, Singles
from hetcal.errors import PartitionError
from hetcal.grown_tree import GrownTree
from hetcal.metrics import auc
from hetcal.pruning import end_nodes, parents
from hetcal.ranking import Labels
from hetcal.stratified import Groups, draw_folds
from hetcal.training_rows import TrainingRows
from hetcal.tree_encoding import EncodedColumn, to_partition

Measure = Literal["log-loss", "auc"]
Grow = Callable[[Singles, TrainingRows, int], GrownTree]
Keys = Callable[[GrownTree, Floats | None], Floats]


@dataclass(frozen=True)
class Family:
    """Nested trees: the largest one, and the limits that cut it (see `hetcal.pruning`).

    Parameters
    ----------
    min_leaf : int
        Fewest rows of a leaf.
    tree : GrownTree
        The largest tree, grown on all rows.
    keys : array of float
        One per node of it.
    limits : array of float
        One per tree.
    """

    min_leaf: int
    tree: GrownTree
    keys: Floats
    limits: Floats


def cross_validate(
    rows: TrainingRows, families: Sequence[Family], grow: Grow, keys: Keys, folds: Ints
) -> list[list["HeldOut"]]:
    """Grow each family on all folds but one, and count the rows of that one in its nodes.

    Everything that reads labels, such as the order of the categories, is learnt anew without
    the held-out rows. Leaves are allowed to be smaller, as there are fewer rows.

    Returns
    -------
    list of lists
        By family and fold.
    """
    found: list[list[HeldOut]] = [[] for _ in families]
    for fold in range(folds.max() + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        growing, held_out = rows.take(inside), rows.take(outside)
        matrix, columns = growing.encode()
        for family, results in zip(families, found, strict=True):
            min_leaf = max(1, family.min_leaf * inside.size // folds.size)
            tree = grow(matrix, growing, min_leaf)
            mass = training_mass(tree, growing, columns)
            ends = end_nodes(tree, keys(tree, mass), family.limits)
            leaf = to_partition(tree, columns).apply(held_out.frame)
            results.append(HeldOut(_rates(tree)[ends], _class_mass(tree, leaf, held_out)))
    return found


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows in the nodes of nested trees.

    Parameters
    ----------
    rates : array of float, trees x nodes
        The predicted rate of the rows of a node.
    mass : array of float, 2 x nodes
        Weight of the held-out rows of each class.
    """

    rates: Floats
    mass: Floats

    def measure(self, measure: Measure) -> Floats:
        """Return what each of the trees is worth."""
        if measure == "log-loss":
            losses = self.mass[1] * np.log(self.rates) + self.mass[0] * np.log1p(-self.rates)
            return -losses.sum(axis=1) / self.mass.sum()
        y = np.repeat([0, 1], self.mass.shape[1])
        weight = self.mass.ravel()
        return np.array([auc(y, np.tile(rates, 2), weight) for rates in self.rates])


def validation_folds(
    positive: Labels, folds: int, seed: int | None, group: Groups | None = None
) -> Ints:
    """Draw the fold of each row, with equal shares of both classes; equal within a group."""
    smaller = int(np.bincount(positive, minlength=2).min())
    if smaller < 2:
        raise PartitionError(
            "The training rows have a single row of one class.",
            "Cross-validation needs at least two rows of each class.",
            "Choose more training rows, or a tree of a given depth.",
        )
    most = folds if group is not None else min(folds, smaller)
    drawn = draw_folds(positive, most, seed, group)
    if drawn is None:
        raise PartitionError(
            "The groups of the training rows cannot be divided in two so that both parts have "
            "rows of both classes.",
            "Cross-validation judges trees on groups that they were not grown on.",
            "Choose training rows of more groups, name no group column, or a tree of a given "
            "depth.",
        )
    return drawn


def training_mass(
    tree: GrownTree, rows: TrainingRows, columns: list[EncodedColumn]
) -> Floats | None:
    """Return the weight of the training rows in every node; None if rows have no weights."""
    if rows.weight is None:
        return None
    leaf = to_partition(tree, columns).apply(rows.frame)
    leaves = np.flatnonzero(tree.feature < 0)
    mass = np.zeros(tree.feature.size)
    mass[leaves] = np.bincount(leaf - 1, rows.weight, leaves.size)
    parent = parents(tree)
    for node in range(mass.size - 1, 0, -1):
        mass[parent[node]] += mass[node]
    return mass


def _rates(tree: GrownTree) -> Floats:
    """Return the rates of nodes, with one more row of the base rate: never 0 or 1."""
    return (tree.rows * tree.rate + tree.rate[0]) / (tree.rows + 1)


def _class_mass(tree: GrownTree, leaf: Ints, rows: TrainingRows) -> Floats:
    node = np.flatnonzero(tree.feature < 0)[leaf - 1]
    weight = np.ones(leaf.size) if rows.weight is None else rows.weight
    return np.stack(
        [
            np.bincount(node[own], weight[own], tree.feature.size)
            for own in (rows.y == 0, rows.y == 1)
        ]
    )
