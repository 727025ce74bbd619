"""Sketches as bytes, which are read as untrusted: a line of JSON, then numbers."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.cells.cells import MAX_LEAVES
from hetcal.cells.sketch import MOST_BINS, Grid, Sketch
from hetcal.errors import ArtifactError, HetcalError
from hetcal.strict_json import Fields, JsonError, parse_object

AnySketch = TypeVar("AnySketch")

KIND = "hetcal sketch"
FORMAT = 2  # format 1 had 8 bytes for every number
LONGEST_HEADER = 2**16
MOST_ROWS = 2**53
MOST_CELLS = 2**25  # empty ones included, of which a few bytes can declare very many
STEPS = 2**16  # places in a bin
ROUNDING = 2.0**-12  # of a step; computing a mean from its sum is off by less than 2**-16


def sketch_bytes(sketch: Sketch) -> bytes:
    """Write a sketch; equal sketches give equal bytes, and so does the one that is read again.

    The mean score of a cell moves by less than 1/65,536 of the width of its bin; those in the end
    bins, rows and weights stay as they are.
    """
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
    rows, total = sketch.rows.ravel()[cells], sketch.total.ravel()[cells]
    weight, squares = (
        None if each is None else each.ravel()[cells] for each in (sketch.weight, sketch.squares)
    )
    bins = (cells >> 1) % sketch.grid.bins
    return written(
        header,
        sketch.excluded.astype("<i8").tobytes(),
        cell_bytes(cells, rows),
        sum_bytes([(sketch.grid, bins, total)], rows, weight, squares),
    )


def written(header: Mapping[str, object], *parts: bytes) -> bytes:
    """Write a line of JSON, then what follows it."""
    return b"".join([json.dumps(header, allow_nan=False).encode(), b"\n", *parts])


def cell_bytes(cells: Ints, rows: Ints) -> bytes:
    """Write the ascending numbers of cells, as steps from each to the next, and their rows."""
    return _integer_bytes(np.diff(cells, prepend=0)) + _integer_bytes(rows)


def _integer_bytes(values: Ints) -> bytes:
    """Write how many bytes the largest number takes, then the lowest byte of each, and so on.

    The high bytes are nearly all equal, so a zip has them for nothing.
    """
    size = (int(values.max(initial=1)).bit_length() + 7) // 8
    planes = values.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :size].T
    return bytes([size]) + planes.tobytes()


def sum_bytes(
    sides: Sequence[tuple[Grid, Ints, Floats]],
    rows: Ints,
    weight: Floats | None,
    squares: Floats | None,
) -> bytes:
    """Write the sums of scores in the bins of each grid, of weights and of their squares."""
    weights = [each.astype("<f8").tobytes() for each in (weight, squares) if each is not None]
    counted = rows if weight is None else weight
    return b"".join([*(_total_bytes(*each, counted) for each in sides), *weights])


def _total_bytes(grid: Grid, bins: Ints, total: Floats, weight: Floats | Ints) -> bytes:
    """Write the places of means in their bins, then sums in full for the end bins.

    Means are rounded up, but for those at the very end of their bin: a map of steps has edges at
    scores of rows, and the same score in another cell must not fall below.
    """
    inner = _inner(grid, bins)
    place = (total[inner] / weight[inner] - grid.low(bins[inner])) / grid.width
    steps = np.ceil(place * STEPS - ROUNDING).clip(0, STEPS - 1)
    return steps.astype("<u2").tobytes() + total[~inner].astype("<f8").tobytes()


def _inner(grid: Grid, bins: Ints) -> NDArray[np.bool_]:
    return (bins > 0) & (bins < grid.bins - 1)


class Body:
    """What follows the first line, read from its start to its end."""

    def __init__(self, content: bytes, form: int) -> None:
        self._content = content
        self._at = 0
        self._form = form

    def numbers(self, kind: str, count: int) -> NDArray[Any]:
        """Read the next numbers."""
        size = np.dtype(kind).itemsize * count
        if size > len(self._content) - self._at:
            raise JsonError("its length is not the one that its first line says")
        found = np.frombuffer(self._content, kind, count, self._at)
        self._at += size
        return found.astype(found.dtype.newbyteorder("="))

    def cells(self, count: int, size: int) -> tuple[Ints, Ints]:
        """Read what `cell_bytes` wrote: ascending numbers below `size`, and their rows."""
        if self._form == 1:
            cells, rows = self.numbers("<i8", count), self.numbers("<i8", count)
            steps = np.diff(cells, prepend=0)
        else:
            steps, rows = self._integers(count), self._integers(count)
            cells = np.cumsum(steps.clip(max=size))  # clipped, a sum cannot overflow
        if (steps[1:] <= 0).any() or ((cells < 0) | (cells >= size)).any():
            raise JsonError("its cells are not in order")
        if not ((rows > 0) & (rows <= MOST_ROWS)).all():
            raise JsonError("it has an impossible number of rows")
        return cells, rows

    def _integers(self, count: int) -> Ints:
        size = int(self.numbers("u1", 1)[0])
        if not 1 <= size <= 7:
            raise JsonError("its numbers have an impossible size")
        values = np.zeros(count, dtype=np.int64)
        for i in range(size):
            values |= self.numbers("u1", count).astype(np.int64) << 8 * i
        return values

    def sums(
        self, grids: Sequence[tuple[Grid, Ints]], rows: Ints, weighted: bool
    ) -> tuple[list[Floats], Floats | None, Floats | None]:
        """Read sums of scores by grid and bins, of weights and of their squares, to the end."""
        if self._form == 1:
            parts = [(np.zeros(0), self.numbers("<f8", rows.size)) for _ in grids]
        else:
            inner = [int(_inner(*each).sum()) for each in grids]
            parts = [
                (self.numbers("<u2", n).astype(float), self.numbers("<f8", rows.size - n))
                for n in inner
            ]
        weights = [self.numbers("<f8", rows.size) for _ in range(2 * weighted)]
        if self._at < len(self._content):
            raise JsonError("its length is not the one that its first line says")
        weight, squares = weights or (None, None)
        totals = [
            _totals(*grid, *part, rows if weight is None else weight)
            for grid, part in zip(grids, parts, strict=True)
        ]
        finite = all(np.isfinite(each).all() for each in [*totals, *weights])
        if not finite or not all((each > 0).all() for each in weights):
            raise JsonError("it has an impossible sum")
        return totals, weight, squares


def _totals(grid: Grid, bins: Ints, steps: Floats, full: Floats, weight: Floats | Ints) -> Floats:
    """Return the sums of scores of cells, some of which are given in full."""
    if full.size == bins.size:
        return full
    inner = _inner(grid, bins)
    total = np.empty(bins.size)
    total[~inner] = full
    with np.errstate(over="ignore", invalid="ignore"):
        mean = grid.low(bins[inner]) + steps * (grid.width / STEPS)
        total[inner] = mean * weight[inner]
    return total


def read_sketch(content: bytes, most: int = MOST_CELLS) -> Sketch:
    """Read what `sketch_bytes` wrote, of so many cells; anything else is an `ArtifactError`."""
    return read_with(partial(_read_sketch, most), KIND, content)


def read_with(
    read_body: Callable[[Fields, Body], AnySketch], kind: str, content: bytes
) -> AnySketch:
    """Read the first line of a sketch of some kind, and leave all that follows to a reader."""
    text, _, body = content.partition(b"\n")
    try:
        if len(text) > LONGEST_HEADER:
            raise JsonError("its first line is too long")
        fields = parse_object(text)
        form = fields.integer("format", 0, 2**31)
        if fields.text("kind") != kind or not 1 <= form <= FORMAT:
            raise JsonError(f"it is not of the kind {kind!r}, format 1 to {FORMAT}")
        return read_body(fields, Body(body, form))
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
        raise JsonError("its leaf ids are repeated or too many")
    return leaves


def _read_sketch(most: int, fields: Fields, body: Body) -> Sketch:
    grid = Grid(fields.number("reach"), fields.integer("bins", 2, MOST_BINS))
    leaves = read_leaves(fields)
    shape = len(leaves), grid.bins, 2
    size = int(np.prod(shape))
    if size > most:
        raise JsonError("it has too many cells")
    count = fields.integer("cells", 0, size)
    excluded = body.numbers("<i8", 2 * len(leaves)).reshape(-1, 2)
    cells, rows = body.cells(count, size)
    grids = [(grid, (cells >> 1) % grid.bins)]
    (total,), weight, squares = body.sums(grids, rows, fields.flag("weighted"))
    lowest, highest = fields.number("lowest"), fields.number("highest")
    if (excluded < 0).any():
        raise JsonError("it has an impossible number of rows")
    if lowest > highest:
        raise JsonError("its lowest score is above its highest one")
    return Sketch(
        grid,
        leaves,
        _fill(shape, cells, rows),
        _fill(shape, cells, total),
        None if weight is None else _fill(shape, cells, weight),
        None if squares is None else _fill(shape, cells, squares),
        excluded,
        lowest if count else np.inf,
        highest if count else -np.inf,
    )


def _fill(shape: tuple[int, ...], cells: Ints, values: NDArray[Any]) -> NDArray[Any]:
    filled = np.zeros(int(np.prod(shape)), dtype=values.dtype)
    filled[cells] = values
    return filled.reshape(shape)
