"""The maximum likelihood of Platt scaling in many leaves at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.cells import Cells
from hetcal.leaf_ids import leaf_positions
from hetcal.platt_newton import GroupedRows, maximise
from hetcal.ranking import Labels


@dataclass(frozen=True)
class PlattFit:
    """Maps sigmoid(slope * score + intercept), one entry per leaf.

    Where the likelihood has no single maximum (one class, separated or constant
    scores) slope, intercept and their errors are NaN.

    Parameters
    ----------
    slope, intercept : array of float
        The maps.
    slope_se, intercept_se : array of float
        Standard errors: from the inverse Fisher information, or with weights from the
        sandwich that does not depend on the unit of the weights.
    converged : array of bool
        The maximum was found.
    one_class : array of bool
        There are no rows, or rows of one class only.
    separated : array of bool
        A threshold parts the classes, so that the best slope is infinite.
    constant : array of bool
        All scores are equal, so that slope and intercept cannot be told apart.
    """

    slope: Floats
    intercept: Floats
    slope_se: Floats
    intercept_se: Floats
    converged: Bools
    one_class: Bools
    separated: Bools
    constant: Bools

    def with_maps(self, chosen: Bools, own: "PlattFit") -> "PlattFit":
        """Put other maps in the place of some."""
        merged = {}
        for each in fields(self):
            merged[each.name] = getattr(self, each.name).copy()
            merged[each.name][chosen] = getattr(own, each.name)
        return PlattFit(**merged)


def fit_platt(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
    squares: Floats | None = None,
) -> PlattFit:
    """Fit the maps of all leaves at once.

    Without weights the standard errors are those of the inverse Fisher information `H⁻¹`.
    With weights they are those of the sandwich `H⁻¹ (Σ w² g g') H⁻¹`, where `g` is a row's
    gradient and `H = Σ w p (1 - p) x x'`: it holds for weights of any unit, also for those
    that depend on the label.

    Parameters
    ----------
    scores : array of float
        Finite logits.
    y : array of int
        Labels 0 and 1.
    leaf : array of int
        Leaf id of each row; rows of leaves that are not asked for are left out.
    leaves : sequence of int
        Ids of the leaves to fit, distinct.
    weight : array of float, optional
        Importance weights.
    squares : array of float, optional
        Where an entry stands for several rows of equal score and label, `weight` is the sum
        of their weights and `squares` that of the squares; by default `weight ** 2`.
    """
    if weight is None:
        return _fit(scores, y, leaf, leaves, np.ones(len(scores)), None)
    weight = np.asarray(weight, dtype=np.float64)
    squares = weight**2 if squares is None else np.asarray(squares, dtype=np.float64)
    return _fit(scores, y, leaf, leaves, weight, squares)


def fit_platt_cells(cells: Cells, leaves: Sequence[int]) -> PlattFit:
    """Fit the maps of all leaves on cells, which stand for rows at their mean score.

    The standard errors are those of weighted rows only if some row does not count once.
    """
    squares = None if cells.counted else cells.squares
    return _fit(cells.score, cells.y, cells.leaf, leaves, cells.weight, squares)


def _fit(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats,
    squares: Floats | None,
) -> PlattFit:
    """Fit on counted rows, or with `squares` on weighted ones."""
    return _fit_groups(group_rows(scores, y, leaf, leaves, weight, squares), len(leaves))


def group_rows(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats,
    squares: Floats | None,
) -> GroupedRows:
    """Put rows in the order of their leaves, the group being the position in `leaves`.

    Sums over rows that stand together are several times faster than sums by group number.
    """
    group = leaf_positions(np.asarray(leaf), leaves)
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(y) == 1
    rows = GroupedRows(scores, positive, group, weight, squares)
    used = (group >= 0) & (weight > 0)
    if not used.all() or np.any(group[1:] < group[:-1]):
        rows = rows.chosen(np.flatnonzero(used)[_stable_order(group[used], len(leaves))])
    return rows


def _stable_order(group: Ints, count: int) -> Ints:
    """Order rows by group; numbers of 16 bits are sorted digit by digit, which is fast."""
    return np.argsort(group.astype(np.uint16) if count < 2**16 else group, kind="stable")


def _fit_groups(cells: GroupedRows, count: int) -> PlattFit:
    low, high = extremes(cells, count)
    one_class: Bools = np.isinf(low[0]) | np.isinf(low[1])
    constant = ~one_class & (high.max(axis=0) / 2 - low.min(axis=0) / 2 == 0)
    apart = (high[0] <= low[1]) | (high[1] <= low[0])
    separated = ~one_class & ~constant & apart
    sound = ~one_class & ~constant & ~separated
    parameters = np.full((4, count), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    if sound.any():
        inside = cells if sound.all() else cells.of_groups(sound)
        parameters[:, sound], converged[sound] = maximise(inside)
    slope, intercept, slope_se, intercept_se = parameters
    return PlattFit(
        slope, intercept, slope_se, intercept_se, converged, one_class, separated, constant
    )


def extremes(cells: GroupedRows, count: int) -> tuple[Floats, Floats]:
    """Return lowest and highest score per class and group; infinite where there is none."""
    low, high = np.full((2, count), np.inf), np.full((2, count), -np.inf)
    if cells.starts.size:
        there = cells.group[cells.starts]
        for label, side in enumerate((~cells.positive, cells.positive)):
            low[label, there] = cells.lowest(np.where(side, cells.scores, np.inf))
            high[label, there] = -cells.lowest(np.where(side, -cells.scores, np.inf))
    return low, high
