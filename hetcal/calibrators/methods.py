"""The calibration methods by name, each of which fits a map in every leaf at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import cast

import numpy as np

from hetcal.arrays import Bools, Floats
from hetcal.calibrators.binned import bin_platt, fit_bbq, fit_histogram, fit_isotonic
from hetcal.calibrators.families import FAMILIES, FamilyFit, fit_family
from hetcal.calibrators.platt import extremes, fit_platt_cells, group_cells, polish, unfittable
from hetcal.calibrators.shapes import Affine, Beta, Shape, moved
from hetcal.cells.cells import Cells
from hetcal.choices import CALIBRATORS
from hetcal.errors import CalibrationError

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
            "Choose one of them.",
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
