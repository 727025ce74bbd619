"""A sketch: rows counted by leaf, logit bin and label, of the same size for any table.

Saved, it is a line of JSON, then numbers, which are read as untrusted.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints, Labels
from hetcal.cells.cells import MAX_LEAVES, Cells, leaf_positions, position_table
from hetcal.compiled import use_compiled
from hetcal.errors import ArtifactError, CalibrationError, HetcalError
from hetcal.progress import Progress, silent
from hetcal.strict_json import Fields, JsonError, parse_object

BINS = 4096
REACH = 16.0
MOST_BINS = 2**20
MOST = 0.999
SAMPLE = 100_000
SMALLEST = 2.0**-90


@dataclass(frozen=True)
class Grid:
    """Equal bins from `-reach` to `reach`; the first and the last hold all that lies beyond.

    Both are powers of two. So the width of a bin is one as well, and dividing by it is exact (but
    for numbers below 1e-300): a score is in the same bin on every engine.
    """

    reach: float = REACH
    bins: int = BINS

    def __post_init__(self) -> None:
        valid = 2.0**-100 <= self.reach < math.inf and 2 <= self.bins <= MOST_BINS
        if not valid or any(math.frexp(each)[0] != 0.5 for each in (self.reach, self.bins)):
            raise CalibrationError(
                f"A grid cannot have reach {self.reach!r} and {self.bins!r} bins.",
                f"Both must be powers of two, with 2 to {MOST_BINS:,} bins.",
                f"Use a reach of {REACH:g} and {BINS} bins, for example.",
            )

    @property
    def width(self) -> float:
        """Width of a bin."""
        return self.reach / (self.bins // 2)

    def bin_of(self, scores: Floats) -> Ints:
        """Return the bin of each finite score."""
        # Clipped first: dividing must not overflow.
        steps = np.clip(scores, -self.reach, self.reach)
        steps /= self.width
        np.floor(steps, out=steps)
        steps += self.bins // 2
        return np.minimum(steps, self.bins - 1, out=steps).astype(np.int64)

    def low(self, bins: Ints) -> Floats:
        """Return the smallest number of each bin; minus infinity for the first."""
        edge = (bins - self.bins // 2) * self.width
        return np.where(bins == 0, -np.inf, edge)

    def high(self, bins: Ints) -> Floats:
        """Return the largest number of each bin; infinity for the last."""
        edge = (bins + 1 - self.bins // 2) * self.width
        return np.where(bins == self.bins - 1, np.inf, np.nextafter(edge, -np.inf))


def grid_for_most(scores: Floats, bins: int = BINS) -> Grid:
    """Return a grid whose inner bins hold all but about one in a thousand finite scores.

    So a few extreme scores, which the end bins hold, do not make all bins coarse. The reach is at
    most 4 times the largest of the others. It is estimated from evenly spaced rows.
    """
    size = np.abs(scores[:: max(1, len(scores) // SAMPLE)])
    size = size[np.isfinite(size)]
    most = float(np.quantile(size, MOST)) if size.size else REACH
    holding = 2.0 ** math.ceil(math.log2(min(max(most, SMALLEST), 2.0**1022)))
    return Grid(max(holding, min(REACH, 2 * holding)), bins)


ALL_ROWS = "Computed on every row, not from a sketch."
# `python -m tests.sketch_error` prints the errors.
SKETCHED = (
    "From a sketch of 4,096 score bins for each leaf and label: in trials AUC and lift were within "
    "0.0003 and the other measures within 0.005 of those of all rows, with Platt maps within "
    "0.00001 and 0.0005."
)
CHUNK = 2**17  # rows per step of the pass: bounds the memory it takes


@dataclass(frozen=True, eq=False)
class Sketch:
    """Counts and sums of rows; two sketches add up to the sketch of all their rows.

    The arrays but `excluded` are by leaf, bin and label.
    """

    grid: Grid
    leaves: tuple[int, ...]  # in the order of the first axis of the arrays
    rows: Ints  # number of rows
    total: Floats  # weighted sum of scores
    weight: Floats | None  # sum of weights; None where every row counts once
    squares: Floats | None  # sum of their squares
    excluded: Ints  # rows by leaf and label whose score is not finite; they are in no cell
    lowest: float  # the extreme finite scores; plus and minus infinity without rows
    highest: float

    def __add__(self, other: "Sketch") -> "Sketch":
        same = self.grid == other.grid and self.leaves == other.leaves
        if not same or (self.weight is None) != (other.weight is None):
            raise CalibrationError(
                "Two sketches cannot be added up.",
                "Both need the same bins, the same leaves, and weights in both or in neither.",
                "Make both with the same grid and the same leaves.",
            )
        return Sketch(
            self.grid,
            self.leaves,
            self.rows + other.rows,
            self.total + other.total,
            _sum(self.weight, other.weight),
            _sum(self.squares, other.squares),
            self.excluded + other.excluded,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    def coarser(self, bins: int) -> "Sketch":
        """Join neighbouring bins until there are `bins` of them."""
        grid = Grid(self.grid.reach, min(bins, self.grid.bins))
        shape = len(self.leaves), grid.bins, -1, 2
        sums = {name: getattr(self, name) for name in ("rows", "total", "weight", "squares")}
        given = [(name, each) for name, each in sums.items() if each is not None]
        joined = {name: each.reshape(shape).sum(axis=2) for name, each in given}
        return replace(self, grid=grid, **joined)

    def cells(self) -> Cells:
        """Return the cells that hold rows, by leaf, bin and label."""
        flat = np.flatnonzero(self.rows)
        y = (flat & 1).astype(np.int8)
        position, bins = np.divmod(flat >> 1, self.grid.bins)
        rows, total = self.rows.ravel()[flat], self.total.ravel()[flat]
        weight = rows.astype(np.float64) if self.weight is None else self.weight.ravel()[flat]
        squares = weight if self.squares is None else self.squares.ravel()[flat]
        ends, alone = (self.lowest, self.highest), (rows == 1) & (self.weight is None)
        score, low, high = cell_scores(self.grid, bins, (total, weight), ends, alone)
        leaf = np.asarray(self.leaves, dtype=np.int64)[position]
        return Cells(score, y, leaf, weight, squares, rows, low, high)


def computed_on(sketched: bool) -> str:
    """Say whether numbers come from all rows or from a sketch, and how large its error is."""
    return SKETCHED if sketched else ALL_ROWS


def sketch_rows(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    leaves: Sequence[int],
    grid: Grid,
    weight: Floats | None = None,
    progress: Progress = silent,
) -> Sketch:
    """Count rows in one pass.

    Rows without weight, and rows of leaves that are not among `leaves`, are left out.
    """
    shape = len(leaves), grid.bins, 2
    counts, excluded = np.zeros(shape, dtype=np.int64), np.zeros(shape[::2], dtype=np.int64)
    sums = (None, None) if weight is None else (np.zeros(shape), np.zeros(shape))
    ids, total = tuple(map(int, leaves)), np.zeros(shape)
    sketch = Sketch(grid, ids, counts, total, sums[0], sums[1], excluded, np.inf, -np.inf)
    add = _add_compiled if use_compiled() else _add
    for start in range(0, len(scores), CHUNK):
        progress(start / len(scores), "Counting rows by leaf and score")
        rows = slice(start, start + CHUNK)
        part = None if weight is None else weight[rows]
        sketch = add(sketch, scores[rows], np.asarray(y[rows]), leaf[rows], part)
    return sketch


def cell_scores(
    grid: Grid,
    bins: Ints,
    sums: tuple[Floats, Floats],
    ends: tuple[float, float],
    alone: Bools,
) -> tuple[Floats, Floats, Floats]:
    """Return the mean score of each cell, and the lowest and highest score that it may hold.

    `sums` are the weighted sum of scores and the sum of weights, `ends` the extreme scores of all
    cells; `alone` marks cells of one row without weight, whose score is known exactly.
    """
    low, high = np.maximum(grid.low(bins), ends[0]), np.minimum(grid.high(bins), ends[1])
    with np.errstate(over="ignore"):
        score = np.clip(sums[0] / sums[1], low, high)  # a mean may be rounded out of its bin
    return score, np.where(alone, score, low), np.where(alone, score, high)


def _add(sketch: Sketch, scores: Floats, y: Labels, leaf: Ints, weight: Floats | None) -> Sketch:
    """Return the sketch with some rows more."""
    shape, finite = sketch.rows.shape, np.isfinite(scores)
    position = leaf_positions(leaf, sketch.leaves)
    inside = position >= 0 if weight is None else (position >= 0) & (weight > 0)
    lost = inside & ~finite
    excluded = np.bincount(position[lost] * 2 + y[lost], minlength=2 * shape[0])
    used = inside & finite
    if not used.all():
        scores, y, position = scores[used], y[used], position[used]
        weight = None if weight is None else weight[used]
    values = scores.astype(np.float64)
    key = (position * shape[1] + sketch.grid.bin_of(values)) * 2 + y

    def summed(values: Floats | None) -> NDArray[Any]:
        return np.bincount(key, values, sketch.rows.size).reshape(shape)

    return sketch + Sketch(
        sketch.grid,
        sketch.leaves,
        summed(None),
        summed(values if weight is None else weight * values),
        None if weight is None else summed(weight),
        None if weight is None else summed(weight**2),
        excluded.reshape(-1, 2),
        float(values.min(initial=np.inf)) + 0.0,  # zero has one sign only
        float(values.max(initial=-np.inf)) + 0.0,
    )


def _add_compiled(
    sketch: Sketch, scores: Floats, y: Labels, leaf: Ints, weight: Floats | None
) -> Sketch:
    """Do what `_add` does in one loop over the rows, which changes the arrays of the sketch."""
    from hetcal.cells.kernels import count_rows

    unused, grid = np.zeros(0), sketch.grid
    sums = sketch.total, sketch.weight, sketch.squares
    lowest, highest = count_rows(
        scores,
        y,
        *position_table(leaf, sketch.leaves),
        unused if weight is None else weight,
        (grid.reach, 1 / grid.width, grid.bins),
        (sketch.rows.reshape(-1), sketch.excluded.reshape(-1)),
        tuple(unused if each is None else each.reshape(-1) for each in sums),
    )
    lowest, highest = min(sketch.lowest, lowest + 0.0), max(sketch.highest, highest + 0.0)
    return replace(sketch, lowest=lowest, highest=highest)


def _sum(one: Floats | None, other: Floats | None) -> Floats | None:
    return None if one is None or other is None else one + other


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
