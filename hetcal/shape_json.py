"""Shapes of maps as parts of JSON text."""

import math
from collections.abc import Callable
from dataclasses import asdict, fields
from itertools import pairwise

from hetcal.map_shapes import Affine, Beta, Knots, Shape, Steps, Tamed
from hetcal.strict_json import Fields, JsonError

KINDS: dict[str, type[Shape]] = {
    "affine": Affine,
    "tamed": Tamed,
    "beta": Beta,
    "steps": Steps,
    "knots": Knots,
}
MOST_POINTS = 2**20


def shape_document(shape: Shape) -> dict[str, object]:
    """Return what is written of a shape; every number can be read back bit for bit.

    A standard error that is not known is null.
    """
    kind = next(name for name, each in KINDS.items() if isinstance(shape, each))
    numbers = asdict(shape).items()
    return {"kind": kind} | {name: _written(each) for name, each in numbers}


def _written(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def read_shape(document: Fields) -> Shape:
    """Read a shape back; anything else is a `JsonError`."""
    readers: dict[str, Callable[[Fields], Shape]] = {
        "affine": read_affine,
        "tamed": _read_tamed,
        "beta": _read_beta,
        "steps": _read_steps,
        "knots": _read_knots,
    }
    kind = document.text("kind")
    if kind not in readers:
        raise JsonError("a kind of map is not known")
    document.only("kind", *(each.name for each in fields(KINDS[kind])))
    return readers[kind](document)


def read_affine(document: Fields) -> Affine:
    """Read the fields of a straight map."""
    return Affine(
        slope=document.number("slope"),
        intercept=document.number("intercept"),
        slope_se=_read_error(document, "slope_se"),
        intercept_se=_read_error(document, "intercept_se"),
    )


def _read_error(document: Fields, name: str) -> float:
    return math.nan if document.is_null(name) else document.number(name, 0.0, math.inf)


def _read_tamed(document: Fields) -> Tamed:
    low = document.number("low")
    high = document.number("high", low, math.inf)
    return Tamed(document.number("slope"), document.number("intercept"), low, high)


def _read_beta(document: Fields) -> Beta:
    errors = {name: document.number(name, 0.0, math.inf) for name in ("a_se", "b_se", "c_se")}
    a, b = (document.number(name, 0.0, math.inf) for name in ("a", "b"))
    return Beta(a, b, document.number("c"), **errors)


def _read_steps(document: Fields) -> Steps:
    edges, logits = document.numbers("edges"), document.numbers("logits")
    if len(logits) != len(edges) + 1 or len(logits) > MOST_POINTS or not _rise(edges):
        raise JsonError("the steps of a map are not in order")
    return Steps(edges, logits)


def _read_knots(document: Fields) -> Knots:
    scores, levels = document.numbers("scores"), document.numbers("probabilities")
    if not 0 < len(scores) == len(levels) <= MOST_POINTS or not _rise(scores):
        raise JsonError("the points of a map are not in order")
    if not 0 < levels[0] <= levels[-1] < 1 or any(one > other for one, other in pairwise(levels)):
        raise JsonError("the points of a map do not rise from above 0 to below 1")
    return Knots(scores, levels)


def _rise(values: tuple[float, ...]) -> bool:
    return all(one < other for one, other in pairwise(values))
