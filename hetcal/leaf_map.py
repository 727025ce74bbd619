"""The map of one leaf, and maps as JSON text."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.errors import CalibrationError
from hetcal.nodes import MAX_LEAVES
from hetcal.strict_json import Fields, JsonError, parse_object

KIND = "hetcal calibrators"
FORMAT = 1
BLOCK = 1 << 14  # rows at a time, so that they stay in the cache
FALLBACKS = (
    "few rows",
    "one class",
    "constant scores",
    "separated",
    "not converged",
    "slope not positive",
)


@dataclass(frozen=True)
class LeafMap:
    """The map of one leaf: calibrated logit = slope * logit + intercept.

    Parameters
    ----------
    leaf : int
        Id of the leaf; 0 for all rows together.
    slope, intercept : float
        The map; that of all rows together if there is a fallback.
    slope_se, intercept_se : float
        Standard errors of the map.
    rows, positives : int
        Calibration rows of the leaf, and how many of them have label 1.
    fallback : str or None
        Why the leaf has the map of all rows, one of `FALLBACKS`.
    """

    leaf: int
    slope: float
    intercept: float
    slope_se: float
    intercept_se: float
    rows: int
    positives: int
    fallback: str | None = None

    def logit(self, scores: Floats) -> Floats:
        """Return the calibrated logits; NaN where a score is not finite."""
        return map_logits(scores, self.slope, self.intercept)


def map_logits(scores: Floats, slope: Floats | float, intercept: Floats | float) -> Floats:
    """Return slope * score + intercept; NaN where a score is not finite."""
    scores = np.asarray(scores, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(scores), slope * scores + intercept, np.nan)


def map_leaves(scores: Floats, position: Ints, slope: Floats, intercept: Floats) -> Floats:
    """Map each score by the slope and the intercept at its position, as `map_logits` does."""
    scores, logits = np.asarray(scores), np.empty(len(scores))
    for start in range(0, len(scores), BLOCK):
        block = slice(start, start + BLOCK)
        at = position[block]
        logits[block] = map_logits(scores[block], slope.take(at), intercept.take(at))
    return logits


def write_maps(min_rows: int, pooled: LeafMap, maps: Sequence[LeafMap]) -> str:
    """Write JSON text that gives back every number bit for bit."""
    content = {
        "kind": KIND,
        "format": FORMAT,
        "min_rows": min_rows,
        "maps": [asdict(each) for each in (pooled, *maps)],
    }
    return json.dumps(content, indent=1, allow_nan=False)


def read_maps(text: str | bytes) -> tuple[int, LeafMap, tuple[LeafMap, ...]]:
    """Read what `write_maps` wrote; anything else is a `CalibrationError`."""
    try:
        fields = parse_object(text)
        fields.only("kind", "format", "min_rows", "maps")
        if fields.text("kind") != KIND or fields.integer("format", 0, 2**31) != FORMAT:
            raise _broken(f"it is not of the kind {KIND!r}, format {FORMAT}")
        min_rows = fields.integer("min_rows", 0, 2**53)
        maps = tuple(_read_map(each) for each in fields.objects("maps"))
    except JsonError as problem:
        raise _broken(str(problem)) from problem
    ids = [each.leaf for each in maps]
    if not maps or ids[0] != 0 or len(set(ids)) < len(ids) or len(ids) > MAX_LEAVES + 1:
        raise _broken("its leaves are not numbered as they should be")
    return min_rows, maps[0], maps[1:]


def _read_map(fields: Fields) -> LeafMap:
    fields.only(*LeafMap.__dataclass_fields__)
    fallback = None if fields.is_null("fallback") else fields.text("fallback")
    if fallback is not None and fallback not in FALLBACKS:
        raise JsonError("a reason for a fallback is not known")
    rows = fields.integer("rows", 0, 2**53)
    return LeafMap(
        leaf=fields.integer("leaf", 0, 2**31),
        slope=fields.number("slope"),
        intercept=fields.number("intercept"),
        slope_se=fields.number("slope_se", 0.0, math.inf),
        intercept_se=fields.number("intercept_se", 0.0, math.inf),
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
