"""The map of one leaf, and maps as JSON text."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.errors import CalibrationError
from hetcal.kernels import use_compiled
from hetcal.leaf_ids import leaf_positions
from hetcal.leaf_methods import METHODS
from hetcal.map_shapes import Affine, Line, Shape, read_affine, read_shape, shape_document
from hetcal.nodes import MAX_LEAVES
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal calibrators"
FORMAT = 2  # format 1 knew straight maps only
BLOCK = 1 << 14  # rows at a time, so that they stay in the cache
FALLBACKS = (
    "few rows",
    "one class",
    "constant scores",
    "separated",
    "not converged",
    "slope not positive",
)
Shrinkage = float | Literal["cv"]


@dataclass(frozen=True)
class LeafMap:
    """The map of one leaf.

    Parameters
    ----------
    leaf : int
        Id of the leaf; 0 for all rows together.
    shape : Shape
        From logit to calibrated logit; that of all rows together if there is a fallback.
    rows, positives : int
        Calibration rows of the leaf, and how many of them have label 1.
    fallback : str or None
        Why the leaf has the map of all rows, one of `FALLBACKS`.
    """

    leaf: int
    shape: Shape
    rows: int
    positives: int
    fallback: str | None = None

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits; NaN where a score is not finite."""
        scores = np.asarray(scores, dtype=np.float64)
        finite = np.isfinite(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(finite, self.shape.logit(np.where(finite, scores, 0.0)), np.nan)

    @property
    def slope(self) -> float:
        """Slope of a straight map, or of the straight part of a tamed one; NaN for another."""
        return self.shape.slope if isinstance(self.shape, Line) else math.nan

    @property
    def intercept(self) -> float:
        """Intercept of the same; NaN for another map."""
        return self.shape.intercept if isinstance(self.shape, Line) else math.nan

    @property
    def slope_se(self) -> float:
        """Standard error of the slope; NaN if there is none."""
        return self.shape.slope_se if isinstance(self.shape, Affine) else math.nan

    @property
    def intercept_se(self) -> float:
        """Standard error of the intercept; NaN if there is none."""
        return self.shape.intercept_se if isinstance(self.shape, Affine) else math.nan


@dataclass(frozen=True)
class MapSettings:
    """How maps were fitted.

    Parameters
    ----------
    method : str
        One of `hetcal.leaf_methods.METHODS`.
    shrinkage : float or "cv"
        The strength that was asked for.
    strength : float
        The strength that was used.
    min_rows : int
        Fewest rows of a leaf with a map of its own.
    """

    method: str
    shrinkage: Shrinkage
    strength: float
    min_rows: int


def map_logits(scores: Floats, slope: Floats | float, intercept: Floats | float) -> Floats:
    """Return slope * score + intercept; NaN where a score is not finite."""
    scores = np.asarray(scores, dtype=np.float64)
    finite = np.isfinite(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = slope * scores + intercept
    return mapped if finite.all() else np.where(finite, mapped, np.nan)


def map_leaves(scores: Floats, position: Ints, slope: Floats, intercept: Floats) -> Floats:
    """Map each score by the slope and the intercept at its position, as `map_logits` does."""
    scores, logits = np.asarray(scores), np.empty(len(scores))
    if use_compiled():
        from hetcal.cell_kernels import map_rows

        map_rows(scores, position, slope, intercept, logits)
        return logits
    for start in range(0, len(scores), BLOCK):
        block = slice(start, start + BLOCK)
        at = position[block]
        logits[block] = map_logits(scores[block], slope.take(at), intercept.take(at))
    return logits


def are_straight(maps: Sequence[LeafMap]) -> bool:
    """Tell whether every map is a straight line of the logit."""
    return all(isinstance(each.shape, Affine) for each in maps)


def map_scores(maps: Sequence[LeafMap], pooled: LeafMap, scores: Floats, leaf: Ints) -> Floats:
    """Return calibrated logits; NaN where a score is not finite.

    A leaf that is not known has the pooled map.
    """
    every = (*maps, pooled)  # position -1 is that of an unknown leaf
    position = leaf_positions(np.asarray(leaf), [each.leaf for each in maps])
    if are_straight(every):
        slope, intercept = (
            np.array([getattr(each, name) for each in every]) for name in ("slope", "intercept")
        )
        return map_leaves(scores, position, slope, intercept)
    scores, found = np.asarray(scores, dtype=np.float64), np.empty(len(position))
    for each, rows in _rows_of_maps(position, every):
        found[rows] = each.logit(scores[rows])
    return found


def _rows_of_maps(position: Ints, maps: Sequence[LeafMap]) -> Iterator[tuple[LeafMap, Ints]]:
    """Yield every map that is used, with the numbers of its rows; the last has position -1."""
    position = position % len(maps)
    order = np.argsort(position, kind="stable")
    bounds = np.searchsorted(position[order], np.arange(len(maps) + 1))
    for each, start, end in zip(maps, bounds[:-1], bounds[1:], strict=True):
        if start < end:
            yield each, order[start:end]


def write_maps(settings: MapSettings, pooled: LeafMap, maps: Sequence[LeafMap]) -> str:
    """Write JSON text that gives back every number bit for bit; null is endless strength."""
    content = {
        "kind": KIND,
        "format": FORMAT,
        "method": settings.method,
        "shrinkage": _finite(settings.shrinkage),
        "strength": _finite(settings.strength),
        "min_rows": settings.min_rows,
        "maps": [
            {
                "leaf": each.leaf,
                "rows": each.rows,
                "positives": each.positives,
                "fallback": each.fallback,
                "shape": shape_document(each.shape),
            }
            for each in (pooled, *maps)
        ],
    }
    return json.dumps(content, indent=1, allow_nan=False)


def read_maps(text: str | bytes) -> tuple[MapSettings, LeafMap, tuple[LeafMap, ...]]:
    """Read what `write_maps` wrote, also in format 1; anything else is a `CalibrationError`."""
    try:
        fields = parse_object(text)
        if fields.text("kind") != KIND:
            raise _broken(f"it is not of the kind {KIND!r}")
        old = fields.integer("format", 1, FORMAT) == 1
        settings = _old_settings(fields) if old else _settings(fields)
        maps = tuple(_read_map(each, old=old) for each in fields.objects("maps"))
    except JsonError as problem:
        raise _broken(str(problem)) from problem
    ids = [each.leaf for each in maps]
    if ids[:1] != [0] or len({*ids[1:]}) < len(ids) - 1 or len(ids) > MAX_LEAVES + 1:
        raise _broken("its leaves are not numbered as they should be")
    return settings, maps[0], maps[1:]


def _finite(strength: Shrinkage) -> Shrinkage | None:
    return None if strength == math.inf else strength


def _settings(fields: Fields) -> MapSettings:
    fields.only("kind", "format", "method", "shrinkage", "strength", "min_rows", "maps")
    method = fields.text("method")
    if method not in METHODS:
        raise JsonError("the method is not known")
    strength = _read_strength(fields, "strength")
    chosen = fields.is_text("shrinkage") and fields.text("shrinkage") == "cv"
    shrinkage: Shrinkage = "cv" if chosen else _read_strength(fields, "shrinkage")
    return MapSettings(method, shrinkage, strength, fields.integer("min_rows", 0, 2**53))


def _old_settings(fields: Fields) -> MapSettings:
    fields.only("kind", "format", "min_rows", "maps")
    return MapSettings("platt", 0.0, 0.0, fields.integer("min_rows", 0, 2**53))


def _read_strength(fields: Fields, key: str) -> float:
    return math.inf if fields.is_null(key) else fields.number(key, 0.0, math.inf)


def _read_map(fields: Fields, *, old: bool) -> LeafMap:
    straight = ("slope", "intercept", "slope_se", "intercept_se")
    fields.only("leaf", "rows", "positives", "fallback", *(straight if old else ["shape"]))
    fallback = None if fields.is_null("fallback") else fields.text("fallback")
    if fallback is not None and fallback not in FALLBACKS:
        raise JsonError("a reason for a fallback is not known")
    rows = fields.integer("rows", 0, 2**53)
    return LeafMap(
        leaf=fields.integer("leaf", 0, 2**31),
        shape=read_affine(fields) if old else read_shape(fields.fields("shape")),
        rows=rows,
        positives=fields.integer("positives", 0, rows),
        fallback=fallback,
    )


def _broken(problem: str) -> CalibrationError:
    return CalibrationError(
        f"The calibration maps cannot be used: {problem}.",
        "Calibration maps are JSON text as hetcal saves it.",
        "Save them again from hetcal, or calibrate again.",
    )
