"""Sketches as bytes: a line of JSON, then the non-empty cells as plain numbers."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetcal.errors import ArtifactError, HetcalError
from hetcal.grid import MOST_BINS, Grid
from hetcal.nodes import MAX_LEAVES
from hetcal.sketch import Sketch
from hetcal.strict_json import Fields, JsonError, parse_object

AnySketch = TypeVar("AnySketch")

KIND = "hetcal sketch"
FORMAT = 1
LONGEST_HEADER = 2**16
MOST_ROWS = 2**53
MOST_CELLS = 2**25  # empty ones included, of which a few bytes can declare very many


def sketch_bytes(sketch: Sketch) -> bytes:
    """Write a sketch; equal sketches give equal bytes."""
    cells = np.flatnonzero(sketch.rows)
    header = {
        "kind": KIND,
        "format": FORMAT,
        "reach": sketch.grid.reach,
        "bins": sketch.grid.bins,
        "leaves": [{"id": each} for each in sketch.leaves],
        "cells": cells.size,
        "weighted": sketch.weight is not None,
        "lowest": sketch.lowest if cells.size else 0.0,
        "highest": sketch.highest if cells.size else 0.0,
    }
    sums = (sketch.total, sketch.weight, sketch.squares)
    arrays = [
        sketch.excluded.astype("<i8"),
        cells.astype("<i8"),
        sketch.rows.ravel()[cells].astype("<i8"),
        *(each.ravel()[cells].astype("<f8") for each in sums if each is not None),
    ]
    return written(header, arrays)


def written(header: Mapping[str, object], arrays: Sequence[NDArray[Any]]) -> bytes:
    """Write a line of JSON, then arrays as plain numbers."""
    text = json.dumps(header, allow_nan=False).encode()
    return b"".join([text, b"\n", *(each.tobytes() for each in arrays)])


def read_sketch(content: bytes, most: int = MOST_CELLS) -> Sketch:
    """Read what `sketch_bytes` wrote, of so many cells; anything else is an `ArtifactError`."""
    return read_with(partial(_read_body, most), KIND, content)


def read_with(
    read_body: Callable[[Fields, bytes], AnySketch], kind: str, content: bytes
) -> AnySketch:
    """Read the first line of a sketch of some kind, and leave all that follows to a reader."""
    text, _, body = content.partition(b"\n")
    try:
        if len(text) > LONGEST_HEADER:
            raise JsonError("its first line is too long")
        fields = parse_object(text)
        if fields.text("kind") != kind or fields.integer("format", 0, 2**31) != FORMAT:
            raise JsonError(f"it is not of the kind {kind!r}, format {FORMAT}")
        return read_body(fields, body)
    except (JsonError, HetcalError) as problem:
        raise ArtifactError(
            f"The sketch cannot be used: {problem}.",
            "A sketch is a file as hetcal saves it.",
            "Save it again from hetcal.",
        ) from problem


def read_leaves(fields: Fields) -> tuple[int, ...]:
    """Read the ids of the leaves."""
    leaves = tuple(each.integer("id", 0, 2**31) for each in fields.objects("leaves"))
    if len(set(leaves)) < len(leaves) or len(leaves) > MAX_LEAVES + 1:
        raise JsonError("its leaves are not numbered as they should be")
    return leaves


def check_cells(cells: NDArray[np.int64], rows: NDArray[np.int64], size: int) -> None:
    """Refuse cells that are not in order among `size` of them, or hold no rows."""
    if cells.size and not (cells[0] >= 0 and cells[-1] < size and (np.diff(cells) > 0).all()):
        raise JsonError("its cells are not in order")
    if not ((rows > 0) & (rows <= MOST_ROWS)).all():
        raise JsonError("it has a number of rows that cannot be")


def _read_body(most: int, fields: Fields, body: bytes) -> Sketch:
    grid = Grid(fields.number("reach"), fields.integer("bins", 2, MOST_BINS))
    leaves = read_leaves(fields)
    shape = len(leaves), grid.bins, 2
    if np.prod(shape) > most:
        raise JsonError("it has too many cells")
    count = fields.integer("cells", 0, int(np.prod(shape)))
    sums = 3 if fields.flag("weighted") else 1
    if len(body) != 8 * (2 * len(leaves) + (2 + sums) * count):
        raise JsonError("its length is not the one that its first line says")
    whole = np.frombuffer(body, "<i8", 2 * len(leaves) + 2 * count)
    excluded, cells, rows = np.split(whole, [2 * len(leaves), 2 * len(leaves) + count])
    floats = np.frombuffer(body, "<f8", sums * count, offset=8 * whole.size).reshape(sums, count)
    lowest, highest = fields.number("lowest"), fields.number("highest")
    check_cells(cells, rows, int(np.prod(shape)))
    if (excluded < 0).any():
        raise JsonError("it has a number of rows that cannot be")
    if not np.isfinite(floats).all() or not (floats[1:] > 0).all():
        raise JsonError("it has a sum that cannot be")
    if lowest > highest:
        raise JsonError("its lowest score is above its highest one")
    filled = [_fill(shape, cells, each) for each in floats]
    total, weight, squares = filled if sums == 3 else (filled[0], None, None)
    ends = (lowest, highest) if count else (np.inf, -np.inf)
    counts = _fill(shape, cells, rows).astype(np.int64)
    return Sketch(
        grid,
        leaves,
        counts,
        total,
        weight,
        squares,
        excluded.reshape(-1, 2).astype(np.int64),
        *ends,
    )


def _fill(shape: tuple[int, ...], cells: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    filled = np.zeros(int(np.prod(shape)), dtype=values.dtype.newbyteorder("="))
    filled[cells] = values
    return filled.reshape(shape)
