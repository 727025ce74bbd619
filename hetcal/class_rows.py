"""Rows of more than two classes with their leaves, and the maps that are fitted on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from hetcal.arrays import Bools, Floats, Ints
from hetcal.class_map import ClassMap, ClassMethod, fit_class_map
from hetcal.errors import CalibrationError
from hetcal.leaf_ids import leaf_positions
from hetcal.stratified import Groups


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows with finite logits.

    Parameters
    ----------
    logits : array, rows x classes
        The model's logits or log-probabilities.
    y : array of int
        Class numbers, from 0.
    leaf : array of int
        Leaf ids.
    weight : array or None
        Row weights.
    group : array or None
        Group of each row.
    """

    logits: Floats
    y: Ints
    leaf: Ints
    weight: Floats | None
    group: Groups | None = None

    def of(self, chosen: Bools | Ints) -> "ClassRows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        group = None if self.group is None else self.group[chosen]
        return ClassRows(self.logits[chosen], self.y[chosen], self.leaf[chosen], weight, group)

    def in_rows(self) -> "ClassRows":
        """Scale the weights to the number of rows that all of them are worth.

        So a penalty counts rows, whatever the unit of the weights.
        """
        if self.weight is None or not self.weight.any():
            return self
        unit = self.weight.sum() / (self.weight**2).sum()
        return replace(self, weight=self.weight * unit)


def class_matrix(logits: ArrayLike, classes: int | None = None) -> Floats:
    """Return the logits as rows by classes."""
    found = np.asarray(logits, dtype=np.float64)
    if found.ndim != 2 or classes not in (None, found.shape[1]):
        raise CalibrationError(
            f"The logits are an array of shape {found.shape}.",
            f"They have a row for each row, and a column for each of "
            f"{'the' if classes is None else classes} classes.",
            "Give such an array.",
        )
    return found


def class_numbers(y: ArrayLike, classes: int) -> Ints:
    """Return the class numbers, or say that they are none."""
    found = np.asarray(y)
    whole = found.dtype.kind in "iuf" and bool((found % 1 == 0).all())
    if not whole or found.min(initial=0) < 0 or found.max(initial=0) >= classes:
        raise CalibrationError(
            f"The labels are not all whole numbers from 0 to {classes - 1}.",
            "Calibration needs the number of each row's class, in the order of the logits.",
            "Number the classes from 0 on.",
        )
    return found.astype(np.int64)


def fit_pooled_class_map(method: ClassMethod, rows: ClassRows) -> ClassMap:
    """Fit one map for all rows.

    A class without rows would get a bias of minus infinity: one row's worth of the identity
    keeps every class possible.
    """
    rows = rows.in_rows()
    return fit_class_map(method, rows.logits, rows.y, rows.weight, strength=1.0)


def fit_leaf_class_maps(
    method: ClassMethod, rows: ClassRows, leaves: Sequence[int], pooled: ClassMap, strength: float
) -> dict[int, ClassMap]:
    """Fit a map in each leaf, shrunk towards the pooled one, which leaves without rows have."""
    maps, rows = {}, rows.in_rows()
    for each in leaves:
        inside = rows.of(rows.leaf == each)
        maps[each] = pooled
        if inside.y.size:
            parts = inside.logits, inside.y, inside.weight
            maps[each] = fit_class_map(method, *parts, towards=pooled, strength=strength)
    return maps


def mapped_logits(
    pooled: ClassMap, maps: Mapping[int, ClassMap], logits: Floats, leaf: Ints
) -> Floats:
    """Return the log-probabilities that the map of each row's leaf gives; NaN without logits.

    A leaf without a map of its own has the pooled one.
    """
    ids = list(maps)
    position = leaf_positions(np.asarray(leaf), ids)
    out = np.full(logits.shape, np.nan)
    usable = np.isfinite(logits).all(axis=1)
    for place in np.unique(position):
        inside = usable & (position == place)
        own = pooled if place < 0 else maps[ids[place]]
        out[inside] = own.logits(logits[inside])
    return out
