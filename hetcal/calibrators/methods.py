"""The calibration methods by name, each of which fits a map in every leaf at once.

Most are families of maps that are linear in their parameters: a calibrated logit is `offset +
Σ parameter · feature`, where offset and features depend on the score alone. So the log-loss of
every family is convex, and one solver serves all of them. Maps may be shrunk towards the map of
all rows: a leaf with few rows then stays close to it, and a leaf with many has its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import cast

import numpy as np
from scipy.special import logit

from hetcal.arrays import Bools, Floats
from hetcal.calibrators.binned import bin_platt, fit_bbq, fit_histogram, fit_isotonic
from hetcal.calibrators.newton import TINY, PenalisedLosses, minimise
from hetcal.calibrators.platt import extremes, fit_platt_cells, group_cells, polish, unfittable
from hetcal.calibrators.shapes import Affine, Beta, Shape, beta_features, moved
from hetcal.cells.cells import Cells
from hetcal.choices import CALIBRATORS
from hetcal.errors import CalibrationError, did_you_mean

NON_PARAMETRIC: dict[str, Callable[..., Shape]] = {
    "isotonic": fit_isotonic,
    "histogram": fit_histogram,
    "bbq": fit_bbq,
}


LEVEL_STRENGTH = 1.0
"""How strongly the height of a leaf is shrunk towards that of the pooled map.

As much as by four rows at even odds, or as if heights differed between leaves by one logit: it
keeps a leaf of one class finite, and matters in no leaf of a hundred rows.
"""


@dataclass(frozen=True)
class Family:
    """What the maps of a kind have in common."""

    features: Callable[[Floats], Floats]  # from scores to one row per feature
    constant: bool = True  # the last parameter is an intercept
    shifted: bool = False  # the offset is the score itself, and not 0
    rising: bool = False  # the parameters of features must not be below 0


FAMILIES = {
    "platt": Family(lambda scores: scores[None]),
    "bias": Family(lambda scores: np.empty((0, len(scores))), shifted=True),
    "temperature": Family(lambda scores: scores[None], constant=False),
    "beta": Family(beta_features, rising=True),
}


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """Maps of one family, one entry per leaf."""

    parameters: Floats  # by leaf and parameter
    errors: Floats  # standard errors of the same
    converged: Bools  # the maximum was found


@np.errstate(over="ignore", invalid="ignore")  # maps beyond all numbers have not converged
def fit_family(
    name: str,
    cells: Cells,
    leaves: Sequence[int],
    pooled: Floats | None = None,
    strength: float = 0.0,
) -> FamilyFit:
    """Fit the maps of one of `FAMILIES` in all leaves at once.

    They maximise `log-likelihood - strength / 2 · |difference from the pooled map|²`, with
    parameters in units of features that have mean 0 and deviation 1 over all these rows. With a
    penalty a leaf of one class, of one score or without rows has such a map, too; without one
    it may have none, and then its parameters mean nothing. A penalty needs the parameters of the
    pooled map, and its strength counts rows: weights are scaled to their effective number. If the
    pooled map does not fall, no map that is shrunk towards it does.
    """
    family, rows = FAMILIES[name], group_cells(cells, leaves).in_rows(together=strength > 0)
    features = family.features(rows.scores)
    centre, scale, back = _units(family, features, rows.weight)
    standardised = (features - centre[:, None]) / scale[:, None]
    columns = [*standardised, *[np.ones(rows.scores.size)] * family.constant]
    target, rising = np.zeros(len(columns)), family.rising
    if pooled is not None and strength:
        target = np.array(pooled, dtype=np.float64)
        if family.constant:
            target[-1] += target[:-1] @ centre
        target[: scale.size] *= scale
        rising = bool((target[: scale.size] >= 0).all())
    strengths = np.full(target.size, strength)
    bounded = np.array([rising] * scale.size + [False] * family.constant, np.bool_)
    offset = rows.scores if family.shifted else np.zeros(len(rows.scores))
    losses = PenalisedLosses(rows, columns, offset, target, strengths, bounded)
    found = _shrunk(losses, len(leaves)) if strength else _plain(losses, len(leaves), family)
    place, covariance, converged = found
    variances = np.einsum("ij,ljk,ik->li", back, covariance, back)
    errors, parameters = np.sqrt(np.maximum(variances, 0.0)), place @ back.T
    # The squares of scores may be beyond all numbers, and then so is what follows from them.
    finite = np.isfinite(parameters).all(axis=1) & np.isfinite(errors).all(axis=1)
    return FamilyFit(parameters, errors, converged & finite)


def _units(family: Family, features: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean and deviation of the features, and the matrix that takes parameters back.

    Parameters are compared in units of standardised features; a family without a constant keeps
    the zero of its features.
    """
    total = max(float(weight.sum()), TINY)
    mean = features @ weight / total
    deviation = np.sqrt((features - mean[:, None]) ** 2 @ weight / total)
    scale = np.where(np.isfinite(deviation) & (deviation > 0), deviation, 1.0)
    back = np.diag(np.append(1 / scale, [1.0] * family.constant))
    if not family.constant:
        return np.zeros_like(mean), scale, back
    back[-1, :-1] = -mean / scale
    return mean, scale, back


Found = tuple[Floats, Floats, Bools]
"""Parameters, their covariance, and whether they are the best, by leaf."""


def _plain(losses: PenalisedLosses, count: int, family: Family) -> Found:
    """Minimise from a constant map, which keeps Newton's steps small; NaN without rows."""
    rows, size = losses.rows, losses.target.size
    place, covariance = np.full((count, size), np.nan), np.full((count, size, size), np.nan)
    converged = np.zeros(count, dtype=np.bool_)
    if rows.starts.size:
        start, there = np.zeros((size, rows.starts.size)), rows.group[rows.starts]
        if family.constant:
            total = rows.sums(rows.weight)
            rate = (rows.sums(rows.weight * rows.positive) + 0.5) / (total + 1)
            start[-1] = logit(rate) - rows.sums(rows.weight * losses.offset) / total
        point, converged[there] = minimise(losses, losses.at(start))
        place[there], covariance[there] = point.place.T, losses.covariance(point)[0]
    return place, covariance, converged


def _shrunk(losses: PenalisedLosses, count: int) -> Found:
    """Minimise from the target, whose own uncertainty is a part of that of the maps."""
    rows, target, strength = losses.rows, losses.target, losses.strength[0]
    prior = np.eye(target.size) / strength
    place, covariance = np.tile(target, (count, 1)), np.tile(prior, (count, 1, 1))
    pull = np.tile(np.eye(target.size), (count, 1, 1))
    converged = np.ones(count, dtype=np.bool_)
    if np.isfinite(strength) and rows.starts.size:
        there = rows.group[rows.starts]
        start = losses.at(np.tile(target[:, None], there.size))
        point, converged[there] = minimise(losses, start)
        place[there] = point.place.T
        covariance[there], pull[there] = losses.covariance(point)
    uncertain = _pooled_covariance(losses)
    return place, covariance + pull @ uncertain @ pull.transpose(0, 2, 1), converged


def _pooled_covariance(losses: PenalisedLosses) -> Floats:
    """Return the covariance of the target as the map of all rows together, without a penalty."""
    rows = replace(losses.rows, group=np.zeros_like(losses.rows.group))
    free = np.zeros_like(losses.bounded)
    together = replace(losses, rows=rows, strength=np.zeros(free.size), bounded=free)
    return together.covariance(together.at(losses.target[:, None]))[0][0]


@dataclass(frozen=True, eq=False)
class LeafFits:
    """What was fitted in each leaf, whether or not it can be trusted.

    The flags are those of `hetcal.calibrators.platt.PlattFit`. With shrinkage a leaf has a map
    whatever its rows are, and methods without parameters fit a map to any scores.
    """

    shapes: Sequence[Shape | None]
    one_class: Bools
    constant: Bools
    separated: Bools
    converged: Bools

    def first_map(self) -> Shape:
        """Return the map of the first leaf; it is a `CalibrationError` if it does not exist."""
        problems = [
            (self.one_class, "no rows, or rows of one class only", "rows of both classes"),
            (self.constant, "the same score for every row", "scores that differ"),
            (
                self.separated,
                "scores that separate the two classes completely, so that no best slope exists",
                "classes whose scores overlap",
            ),
            (~self.converged, "scores whose best map was not found", "scores of moderate size"),
        ]
        for found, wrong, needed in problems:
            if found[0]:
                raise CalibrationError(
                    f"The calibration rows have {wrong}.",
                    f"A calibration map needs {needed}.",
                    "Choose other calibration rows, or other scores.",
                )
        return cast(Shape, self.shapes[0])  # what has none of these problems has a map


def given_strength(shrinkage: object) -> float | None:
    """Return the strength of the shrinkage; None if cross-validation is to choose it."""
    if isinstance(shrinkage, Real) and float(shrinkage) >= 0:
        return float(shrinkage)
    if shrinkage != "cv":
        raise CalibrationError(
            f"The shrinkage is {shrinkage!r}.",
            "The strength of the shrinkage towards the pooled map is a number from 0 up, or 'cv'.",
            "Choose 0 for maps of their own, or a larger number.",
        )
    return None


def require_method(method: str, strength: float = 0.0) -> None:
    """Raise `CalibrationError` if a method is not known or its maps cannot be shrunk."""
    if method not in CALIBRATORS:
        raise CalibrationError(
            f"There is no calibration method {method!r}.",
            f"The methods are {', '.join(CALIBRATORS)}.",
            did_you_mean(method, CALIBRATORS, "Choose one of them."),
        )
    if strength and method not in FAMILIES:
        raise CalibrationError(
            f"Maps of the method {method!r} cannot be shrunk towards the pooled map.",
            f"Shrinkage needs maps with parameters, which are {', '.join(FAMILIES)}.",
            "Choose one of these methods, or no shrinkage.",
        )


def fit_leaves(
    method: str,
    cells: Cells,
    leaves: Sequence[int],
    rows: Cells | None = None,
    bins: int | None = None,
) -> LeafFits:
    """Fit the map of every leaf on its own.

    Where the `rows` that the cells were made of are given, Platt's maps are those of the rows;
    other methods stay with the cells. `bins` replaces the number of bins of a method with bins.
    """
    chosen = {} if bins is None else {"bins": bins}
    if method in NON_PARAMETRIC:
        fit_one = NON_PARAMETRIC[method]
        inside = map(cells.inside, leaves)
        shapes = [fit_one(each, **chosen) if each.score.size else None for each in inside]
        nowhere = np.zeros(len(leaves), dtype=np.bool_)
        return LeafFits(shapes, _flags("bias", cells, leaves)[0], nowhere, nowhere, ~nowhere)
    if method not in ("platt", "scaling-binning"):
        family, flags = fit_family(method, cells, leaves), _flags(method, cells, leaves)
        sound = family.converged & ~np.any(flags, axis=0)
        return LeafFits(_shapes_of(method, replace(family, converged=sound)), *flags, sound)
    fit = fit_platt_cells(cells, leaves)
    if rows is not None:
        fit = polish(fit, rows.score, rows.y, rows.leaf, leaves, rows.given_weight)
    numbers = np.array([fit.slope, fit.intercept, fit.slope_se, fit.intercept_se]).T.tolist()
    maps: list[Shape | None] = [None] * len(numbers)
    for i in np.flatnonzero(fit.converged).tolist():
        maps[i] = own = Affine(*numbers[i])
        if method == "scaling-binning":
            maps[i] = bin_platt(own, cells.inside(leaves[i]), **chosen)
    return LeafFits(maps, fit.one_class, fit.constant, fit.separated, fit.converged)


def shrink_leaves(
    method: str, cells: Cells, leaves: Sequence[int], pooled: Shape, strength: float
) -> LeafFits:
    """Fit the map of every leaf with a penalty on its difference from the pooled map."""
    fit = fit_family(method, cells, leaves, _parameters_of(method, pooled), strength)
    nowhere = np.zeros(len(leaves), dtype=np.bool_)
    return LeafFits(_shapes_of(method, fit), nowhere, nowhere, nowhere, fit.converged)


def level_leaves(
    cells: Cells, leaves: Sequence[int], pooled: Shape, strength: float = LEVEL_STRENGTH
) -> list[Shape]:
    """Give every leaf the pooled map at a height of its own; without rows, the pooled map."""
    offset = replace(cells, score=pooled.logit(cells.score))
    fit = fit_family("bias", offset, leaves, np.zeros(1), strength)
    numbers = zip(fit.parameters[:, 0].tolist(), fit.errors[:, 0].tolist(), strict=True)
    there = np.isin(leaves, cells.leaf) & fit.converged
    return [
        moved(pooled, *each) if found else pooled
        for each, found in zip(numbers, there, strict=True)
    ]


def fit_level(cells: Cells) -> Affine:
    """Return the map of slope 0 at the rate of all rows, for scores that are all equal."""
    fit = fit_family("bias", replace(cells, score=np.zeros(cells.score.size)), [0])
    return Affine(0.0, float(fit.parameters[0, 0]), 0.0, float(fit.errors[0, 0]))


def _flags(method: str, cells: Cells, leaves: Sequence[int]) -> tuple[Bools, Bools, Bools]:
    """Return where the likelihood has no single maximum: one class, constant, separated."""
    low, high = extremes(group_cells(cells, leaves), len(leaves))
    one_class, constant, separated = unfittable(low, high)
    if method == "bias":
        nowhere = np.zeros(len(leaves), dtype=np.bool_)
        return one_class, nowhere, nowhere
    if method == "temperature":  # the border between the classes is at 0
        constant = ~one_class & (low.min(axis=0) == 0) & (high.max(axis=0) == 0)
        apart = ((high[0] <= 0) & (low[1] >= 0)) | ((high[1] <= 0) & (low[0] >= 0))
        separated = ~one_class & ~constant & apart
    return one_class, constant, separated


def _shapes_of(family: str, fit: FamilyFit) -> list[Shape | None]:
    """Return the map of every leaf; None where no maximum was found."""
    numbers = zip(fit.parameters.tolist(), fit.errors.tolist(), fit.converged, strict=True)
    return [_shape(family, p, se) if found else None for p, se, found in numbers]


def _parameters_of(family: str, shape: Shape) -> Floats:
    """Return the parameters that a map of the family has."""
    if isinstance(shape, Beta):
        return np.array([shape.a, shape.b, shape.c])
    line = cast(Affine, shape)
    return np.array(
        [line.slope] * (family != "bias") + [line.intercept] * (family != "temperature")
    )


def _shape(family: str, p: list[float], se: list[float]) -> Shape:
    if family == "beta":
        return Beta(*p, *se)
    if family == "bias":
        return Affine(1.0, p[0], 0.0, se[0])
    if family == "temperature":
        return Affine(p[0], 0.0, se[0], 0.0)
    return Affine(*p, *se)
