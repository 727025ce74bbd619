"""Between the parameters of a family and the shapes of its maps."""

from typing import cast

import numpy as np

from hetcal.arrays import Floats
from hetcal.map_shapes import Affine, Beta, Shape
from hetcal.shrunken import FamilyFit


def shapes_of(family: str, fit: FamilyFit) -> list[Shape | None]:
    """Return the map of every leaf; None where no maximum was found."""
    numbers = zip(fit.parameters.tolist(), fit.errors.tolist(), fit.converged, strict=True)
    return [_shape(family, p, se) if found else None for p, se, found in numbers]


def parameters_of(family: str, shape: Shape) -> Floats:
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
