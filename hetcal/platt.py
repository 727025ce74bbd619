"""The maximum likelihood of Platt scaling in many leaves at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from hetcal.arrays import Bools, Floats, Ints
from hetcal.ranking import Labels

MAX_STEPS = 200
MAX_HALVINGS = 60
PRECISION = 1e-9  # largest last step, in standard errors; the error left is its square
ROUNDING = 1e-13  # relative error of a sum of losses
TINY = float(np.finfo(np.float64).tiny)


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
    given = weight is not None
    weight = np.asarray(weight, dtype=np.float64) if given else np.ones(len(scores))
    squares = weight**2 if squares is None else np.asarray(squares, dtype=np.float64)
    group = leaf_positions(np.asarray(leaf), leaves)
    used = (group >= 0) & (weight > 0)
    cells = _Cells(
        np.asarray(scores, dtype=np.float64)[used],
        np.asarray(y)[used] == 1,
        group[used],
        weight[used],
        squares[used] if given else None,
    )
    return _fit_cells(_worth(cells, len(leaves)), len(leaves))


def leaf_positions(leaf: Ints, leaves: Sequence[int]) -> Ints:
    """Return the position of each leaf id in `leaves`; -1 where it is not there."""
    ids = np.asarray(leaves, dtype=np.int64)
    if ids.size == 0:
        return np.full(len(leaf), -1, dtype=np.int64)
    order = np.argsort(ids)
    place = np.searchsorted(ids, leaf, sorter=order).clip(max=len(ids) - 1)
    found = order[place]
    return np.where(ids[found] == leaf, found, -1)


@dataclass(frozen=True)
class _Cells:
    """Rows with weights; a table of counts per score has the same shape.

    `squares` are sums of squared row weights; None means rows that count once each.
    """

    scores: Floats
    positive: Bools
    group: Ints
    weight: Floats
    squares: Floats | None

    def of_groups(self, chosen: Bools) -> "_Cells":
        inside = chosen[self.group]
        group = np.cumsum(chosen) - 1
        return _Cells(
            self.scores[inside],
            self.positive[inside],
            group[self.group[inside]],
            self.weight[inside],
            None if self.squares is None else self.squares[inside],
        )


def _worth(cells: _Cells, count: int) -> _Cells:
    """Scale weights to the rows that each group is worth, `(Σ w)² / Σ w²`.

    Then the size of a Newton step in standard errors does not depend on their unit.
    """
    if cells.squares is None:
        return cells
    total, squared = _sums(cells, cells.weight, count), _sums(cells, cells.squares, count)
    unit = np.divide(total, squared, out=np.ones(count), where=squared > 0)[cells.group]
    return replace(cells, weight=cells.weight * unit, squares=cells.squares * unit**2)


def _fit_cells(cells: _Cells, count: int) -> PlattFit:
    low, high = _extremes(cells, count)
    one_class: Bools = np.isinf(low[0]) | np.isinf(low[1])
    constant = ~one_class & (high.max(axis=0) / 2 - low.min(axis=0) / 2 == 0)
    apart = (high[0] <= low[1]) | (high[1] <= low[0])
    separated = ~one_class & ~constant & apart
    sound = ~one_class & ~constant & ~separated
    parameters = np.full((4, count), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    if sound.any():
        parameters[:, sound], converged[sound] = _maximise(cells.of_groups(sound), int(sound.sum()))
    slope, intercept, slope_se, intercept_se = parameters
    return PlattFit(
        slope, intercept, slope_se, intercept_se, converged, one_class, separated, constant
    )


def _extremes(cells: _Cells, count: int) -> tuple[Floats, Floats]:
    """Return lowest and highest score per class and group; infinite where there is none."""
    low, high = np.full((2, count), np.inf), np.full((2, count), -np.inf)
    where = cells.positive.astype(np.int64), cells.group
    np.minimum.at(low, where, cells.scores)
    np.maximum.at(high, where, cells.scores)
    return low, high


def _maximise(cells: _Cells, count: int) -> tuple[Floats, Bools]:
    """Return slope, intercept and their standard errors, by Newton steps on scaled scores."""
    scaled, centre, scale = _standardise(cells, count)
    place = _start(scaled, count)
    loss = _loss(scaled, place, count)
    converged = np.zeros(count, dtype=np.bool_)
    for _ in range(MAX_STEPS):
        step, size = _newton_step(scaled, place, count)
        step[:, converged] = 0.0
        place, loss = _descend(scaled, (place, loss), step, count)
        converged |= size <= PRECISION
        if converged.all():
            break
    with np.errstate(over="ignore", invalid="ignore"):
        slope = place[0] / scale
        errors = _errors(scaled, place, (centre, scale), count)
        found = np.array([slope, place[1] - slope * centre, *errors])
    return found, converged & np.isfinite(found).all(axis=0)


def _errors(
    cells: _Cells, place: Floats, axis: tuple[Floats, Floats], count: int
) -> tuple[Floats, Floats]:
    """Return the standard errors of slope and intercept at the maximum.

    About the Fisher-weighted mean of the scores slope and height are uncorrelated in the
    inverse information; in the sandwich they are not.
    """
    mass, mean, spread = _information(cells, place, count)
    centre, scale = axis
    slope_se, height_se = 1 / (np.sqrt(spread) * scale), 1 / np.sqrt(mass)
    correlation = np.zeros(count)
    if cells.squares is not None:
        scatter = cells.squares * _residuals(cells, place) ** 2
        away = cells.scores - mean[cells.group]
        wide = np.sqrt(np.maximum(_sums(cells, scatter * away**2, count), TINY))
        high = np.sqrt(np.maximum(_sums(cells, scatter, count), TINY))
        correlation = (_sums(cells, scatter * away, count) / wide / high).clip(-1, 1)
        slope_se, height_se = slope_se * wide / np.sqrt(spread), height_se * high / np.sqrt(mass)
    along = (centre + mean * scale) * slope_se - correlation * height_se
    return slope_se, np.hypot(along, height_se * np.sqrt(1 - correlation**2))


def _standardise(cells: _Cells, count: int) -> tuple[_Cells, Floats, Floats]:
    """Give each group's scores mean 0 and deviation 1; halves keep huge scores finite."""
    low, high = _extremes(cells, count)
    bottom, top = low.min(axis=0), high.max(axis=0)
    half = top / 2 - bottom / 2
    group, total = cells.group, _sums(cells, cells.weight, count)
    unit = (cells.scores / 2 - bottom[group] / 2) / half[group]
    mean = _sums(cells, cells.weight * unit, count) / total
    unit -= mean[group]
    deviation = np.sqrt(_sums(cells, cells.weight * unit**2, count) / total)
    scaled = replace(cells, scores=unit / deviation[group])
    return scaled, bottom * (1 - mean) + top * mean, 2 * deviation * half


def _start(cells: _Cells, count: int) -> Floats:
    """Return slope 0 and the logit of the rate: Newton's steps from there stay small.

    From slope 1 they run away where scores are wide and the best slope is small.
    """
    total = _sums(cells, cells.weight, count)
    rate = _sums(cells, cells.weight * cells.positive, count) / total
    return np.array([np.zeros(count), logit(rate)])


def _sums(cells: _Cells, values: Floats, count: int) -> Floats:
    return np.bincount(cells.group, values, count).astype(np.float64)


def _logits(cells: _Cells, place: Floats) -> Floats:
    slope, height = place
    return slope[cells.group] * cells.scores + height[cells.group]


def _residuals(cells: _Cells, place: Floats) -> Floats:
    return cells.positive - expit(_logits(cells, place))


def _loss(cells: _Cells, place: Floats, count: int) -> Floats:
    eta = _logits(cells, place)
    margin = np.where(cells.positive, -eta, eta)
    softplus = np.maximum(margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))
    return _sums(cells, cells.weight * softplus, count)


def _information(cells: _Cells, place: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Return the Fisher weights' sum, and mean and scatter of the scores under them."""
    eta = _logits(cells, place)
    weight = cells.weight * expit(eta) * expit(-eta)
    mass = np.maximum(_sums(cells, weight, count), TINY)
    mean = _sums(cells, weight * cells.scores, count) / mass
    spread = _sums(cells, weight * (cells.scores - mean[cells.group]) ** 2, count)
    return mass, mean, np.maximum(spread, TINY)


def _newton_step(cells: _Cells, place: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the Newton step and its size in standard errors.

    About the weighted mean of the scores the two equations come apart.
    """
    mass, mean, spread = _information(cells, place, count)
    residual = cells.weight * _residuals(cells, place)
    slope = _sums(cells, residual * (cells.scores - mean[cells.group]), count) / spread
    centre = _sums(cells, residual, count) / mass
    size = np.hypot(slope * np.sqrt(spread), centre * np.sqrt(mass))
    return np.array([slope, centre - slope * mean]), size


def _descend(
    cells: _Cells, start: tuple[Floats, Floats], step: Floats, count: int
) -> tuple[Floats, Floats]:
    """Take the longest of the steps 1, 1/2, 1/4, … that does not raise the loss, or none."""
    place, loss = start
    length = np.ones(count)
    for _ in range(MAX_HALVINGS):
        reached = _loss(cells, place + length * step, count)
        worse = reached > loss * (1 + ROUNDING)
        if not worse.any():
            return place + length * step, reached
        length[worse] /= 2
    length[worse] = 0.0
    return place + length * step, np.where(worse, loss, reached)
