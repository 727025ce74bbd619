"""Joint sketches as bytes: a line of JSON, then the cells as plain numbers."""

import numpy as np

from hetcal.arrays import Floats
from hetcal.grid import BINS, Grid
from hetcal.joint_sketch import MOST_CELLS, JointSketch, Side
from hetcal.sketch_file import FORMAT, check_cells, read_leaves, read_with, written
from hetcal.strict_json import Fields, JsonError

KIND = "hetcal joint sketch"


def joint_sketch_bytes(sketch: JointSketch) -> bytes:
    """Write a joint sketch; equal ones give equal bytes."""
    header = {
        "kind": KIND,
        "format": FORMAT,
        "bins": sketch.bins,
        "leaves": [{"id": each} for each in sketch.leaves],
        "cells": sketch.key.size,
        "weighted": sketch.weight is not None,
        "before": _side_fields(sketch.before),
        "after": _side_fields(sketch.after),
    }
    sums = sketch.before.total, sketch.after.total, sketch.weight, sketch.squares
    arrays = [
        *(each.astype("<i8") for each in (sketch.key, sketch.rows)),
        *(each.astype("<f8") for each in sums if each is not None),
    ]
    return written(header, arrays)


def read_joint_sketch(content: bytes) -> JointSketch:
    """Read what `joint_sketch_bytes` wrote; anything else is an `ArtifactError`."""
    return read_with(_read_body, KIND, content)


def _side_fields(side: Side) -> dict[str, float]:
    return {"reach": side.grid.reach, "lowest": side.lowest, "highest": side.highest}


def _read_body(fields: Fields, body: bytes) -> JointSketch:
    bins, leaves = fields.integer("bins", 2, BINS), read_leaves(fields)
    count = fields.integer("cells", 1, MOST_CELLS)
    sums = 4 if fields.flag("weighted") else 2
    if len(body) != 8 * (2 + sums) * count:
        raise JsonError("its length is not the one that its first line says")
    key, rows = np.frombuffer(body, "<i8", 2 * count).reshape(2, count).astype(np.int64)
    floats = np.frombuffer(body, "<f8", sums * count, offset=16 * count).astype(np.float64)
    before, after, *weights = floats.reshape(sums, count)
    check_cells(key, rows, 2 * len(leaves) * bins**2)
    if not np.isfinite(floats).all() or not all((each > 0).all() for each in weights):
        raise JsonError("it has a sum that cannot be")
    sketch = JointSketch(
        leaves,
        key,
        rows,
        _read_side(fields.fields("before"), bins, before),
        _read_side(fields.fields("after"), bins, after),
        *(weights or (None, None)),
    )
    if any((each.low > each.high).any() for each in sketch.cells):
        raise JsonError("it has cells beyond its extreme scores")
    return sketch


def _read_side(fields: Fields, bins: int, total: Floats) -> Side:
    grid = Grid(fields.number("reach"), bins)
    return Side(grid, total, fields.number("lowest"), fields.number("highest"))
