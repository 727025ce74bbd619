"""Ways of fitting a map in every leaf at once, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from hetcal.arrays import Bools, Floats
from hetcal.calibrators.binned import fit_bbq, fit_histogram, fit_isotonic, level
from hetcal.calibrators.families import FAMILIES, FamilyFit, fit_family
from hetcal.calibrators.platt import PlattFit, extremes, fit_platt_cells, group_cells, polish
from hetcal.calibrators.shapes import Affine, Beta, Shape
from hetcal.cells.cells import Cells
from hetcal.choices import CALIBRATORS
from hetcal.errors import CalibrationError

LEVELLED: dict[str, Callable[[Cells, Sequence[int]], Sequence[Shape | None]]] = {
    "isotonic": fit_isotonic,
    "histogram": fit_histogram,
    "bbq": fit_bbq,
}


@dataclass(frozen=True, eq=False)
class LeafFits:
    """What was fitted in each leaf, whether or not it can be trusted.

    Parameters
    ----------
    shapes : sequence of Shape or None
        The maps; None where there is none.
    one_class, constant, separated, converged : array of bool
        As in `hetcal.calibrators.platt.PlattFit`; leaves that are drawn to a pooled map have a map
        whatever their rows are, and methods of levels have one for any scores.
    """

    shapes: Sequence[Shape | None]
    one_class: Bools
    constant: Bools
    separated: Bools
    converged: Bools


def require_method(method: str, strength: float = 0.0) -> None:
    """Raise `CalibrationError` if a method is not known or cannot be drawn so strongly."""
    if method not in CALIBRATORS:
        raise CalibrationError(
            f"There is no calibration method {method!r}.",
            f"The methods are {', '.join(CALIBRATORS)}.",
            "Choose one of them.",
        )
    if strength and method not in FAMILIES:
        raise CalibrationError(
            f"Maps of the method {method!r} cannot be drawn to the pooled map.",
            f"Shrinkage needs maps with parameters, which are {', '.join(FAMILIES)}.",
            "Choose one of these methods, or no shrinkage.",
        )


def fit_leaves(
    method: str, cells: Cells, leaves: Sequence[int], rows: Cells | None = None
) -> LeafFits:
    """Fit the map of every leaf on its own.

    Parameters
    ----------
    method : str
        One of `CALIBRATORS`.
    cells : Cells
        Raw scores.
    leaves : sequence of int
        Ids of the leaves.
    rows : Cells, optional
        The rows that the cells were made of. Platt's maps become those of the rows; other
        methods stay with the cells.
    """
    if method in LEVELLED:
        return levelled(LEVELLED[method](cells, leaves), cells, leaves)
    if method == "platt":
        return _of_platt(_platt(cells, leaves, rows))
    if method == "scaling-binning":
        scaled = _of_platt(_platt(cells, leaves, rows))
        straight = [each if isinstance(each, Affine) else None for each in scaled.shapes]
        shapes = level(straight, cells, leaves)
        flags = scaled.one_class, scaled.constant, scaled.separated, scaled.converged
        return LeafFits(shapes, *flags)
    return _of_family(method, cells, leaves)


def shrink_leaves(
    method: str, cells: Cells, leaves: Sequence[int], pooled: Shape, strength: float
) -> LeafFits:
    """Fit the map of every leaf with a penalty on its difference from the pooled map."""
    fit = fit_family(method, cells, leaves, _parameters_of(method, pooled), strength)
    nowhere = np.zeros(len(leaves), dtype=np.bool_)
    return LeafFits(_shapes_of(method, fit), nowhere, nowhere, nowhere, fit.converged)


def _platt(cells: Cells, leaves: Sequence[int], rows: Cells | None) -> PlattFit:
    fit = fit_platt_cells(cells, leaves)
    if rows is None:
        return fit
    return polish(fit, rows.score, rows.y, rows.leaf, leaves, rows.given_weight)


def _of_platt(fit: PlattFit) -> LeafFits:
    numbers = zip(fit.slope, fit.intercept, fit.slope_se, fit.intercept_se, strict=True)
    shapes = [
        Affine(*map(float, each)) if found else None
        for each, found in zip(numbers, fit.converged, strict=True)
    ]
    return LeafFits(shapes, fit.one_class, fit.constant, fit.separated, fit.converged)


def _of_family(method: str, cells: Cells, leaves: Sequence[int]) -> LeafFits:
    fit, flags = fit_family(method, cells, leaves), _troubles(method, cells, leaves)
    sound = fit.converged & ~np.any(flags, axis=0)
    return LeafFits(_shapes_of(method, replace(fit, converged=sound)), *flags, sound)


def _troubles(method: str, cells: Cells, leaves: Sequence[int]) -> tuple[Bools, Bools, Bools]:
    """Tell where the likelihood has no single maximum: one class, constant, separated."""
    low, high = extremes(group_cells(cells, leaves), len(leaves))
    one_class: Bools = np.isinf(low[0]) | np.isinf(low[1])
    if method == "bias":
        nowhere = np.zeros(len(leaves), dtype=np.bool_)
        return one_class, nowhere, nowhere
    bottom, top = low.min(axis=0), high.max(axis=0)
    if method == "temperature":  # the border between the classes is at 0
        constant = ~one_class & (bottom == 0) & (top == 0)
        apart = ((high[0] <= 0) & (low[1] >= 0)) | ((high[1] <= 0) & (low[0] >= 0))
    else:
        constant = ~one_class & (bottom == top)
        apart = (high[0] <= low[1]) | (high[1] <= low[0])
    return one_class, constant, ~one_class & ~constant & apart


def levelled(shapes: Sequence[Shape | None], cells: Cells, leaves: Sequence[int]) -> LeafFits:
    """Say of maps that there are for any scores where there are not rows of both classes."""
    one_class, _, _ = _troubles("bias", cells, leaves)
    nowhere = np.zeros(len(leaves), dtype=np.bool_)
    return LeafFits(shapes, one_class, nowhere, nowhere, ~nowhere)


def _shapes_of(family: str, fit: FamilyFit) -> list[Shape | None]:
    """Return the map of every leaf; None where no maximum was found."""
    numbers = zip(fit.parameters.tolist(), fit.errors.tolist(), fit.converged, strict=True)
    return [_shape(family, p, se) if found else None for p, se, found in numbers]


def _parameters_of(family: str, shape: Shape) -> Floats:
    """Return the parameters that a map of the family has."""
    if isinstance(shape, Beta):
        return np.array([shape.a, shape.b, shape.c])
    line = cast(Affine, shape)
    chosen = {
        "platt": [line.slope, line.intercept],
        "bias": [line.intercept],
        "temperature": [line.slope],
    }
    return np.array(chosen[family])


def _shape(family: str, p: list[float], se: list[float]) -> Shape:
    if family == "beta":
        return Beta(*p, *se)
    if family == "bias":
        return Affine(1.0, p[0], 0.0, se[0])
    if family == "temperature":
        return Affine(p[0], 0.0, se[0], 0.0)
    return Affine(*p, *se)
