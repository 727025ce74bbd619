"""A joint sketch: rows counted by leaf, label and both of their logits, before and after.

A scheme of many trees gives rows of one leaf and one score different logits, so a sketch of the
scores before calibration is not enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.cells.sketch import (
    BINS,
    FORMAT,
    Body,
    Grid,
    cell_bytes,
    cell_scores,
    grid_for_most,
    read_leaves,
    read_with,
    sum_bytes,
    written,
)
from hetcal.strict_json import Fields, JsonError

MOST_CELLS = 2**18  # about 1.5 MB once packed


@dataclass(frozen=True, eq=False)
class Side:
    """The logits before, or those after: bins, weighted sum in each cell, and extreme logits."""

    grid: Grid
    total: Floats
    lowest: float
    highest: float


@dataclass(frozen=True, eq=False)
class JointSketch:
    """Counts and sums of rows that have two logits; only cells that hold rows are kept."""

    leaves: tuple[int, ...]
    # Ascending numbers of the cells: position of the leaf, bin before, bin after and label, the
    # last counting fastest. All other arrays are of the same length.
    key: Ints
    rows: Ints  # number of rows
    before: Side  # in as many bins as `after`
    after: Side
    weight: Floats | None  # sum of weights; None where every row counts once
    squares: Floats | None  # sum of their squares

    @property
    def bins(self) -> int:
        """Number of bins of either side."""
        return self.before.grid.bins

    @cached_property
    def cells(self) -> tuple[Cells, Cells]:
        """The same cells with the logits before and with those after."""
        position, before, after, label = _places(self.key, self.bins)
        y = label.astype(np.int8)
        leaf = np.asarray(self.leaves, dtype=np.int64)[position]
        weight = self.rows.astype(np.float64) if self.weight is None else self.weight
        squares = weight if self.squares is None else self.squares
        alone = (self.rows == 1) & (self.weight is None)

        def scored(side: Side, bins: Ints) -> Cells:
            ends = side.lowest, side.highest
            score, low, high = cell_scores(side.grid, bins, (side.total, weight), ends, alone)
            return Cells(score, y, leaf, weight, squares, self.rows, low, high)

        return scored(self.before, before), scored(self.after, after)

    def coarser(self) -> "JointSketch":
        """Join neighbouring bins of both sides in pairs."""
        position, before, after, y = _places(self.key, self.bins)
        half = self.bins // 2
        one, other = (
            replace(each, grid=Grid(each.grid.reach, half)) for each in (self.before, self.after)
        )
        key = _key(position, before >> 1, after >> 1, y, half)
        return replace(self, key=key, before=one, after=other).gathered()

    def gathered(self) -> "JointSketch":
        """Add up cells of the same number, and put them in order."""
        key, place = np.unique(self.key, return_inverse=True)

        def summed(values: Floats | Ints) -> Floats:
            return np.bincount(place, values).astype(np.float64)

        return replace(
            self,
            key=key,
            rows=summed(self.rows).astype(np.int64),
            before=replace(self.before, total=summed(self.before.total)),
            after=replace(self.after, total=summed(self.after.total)),
            weight=None if self.weight is None else summed(self.weight),
            squares=None if self.squares is None else summed(self.squares),
        )


def joint_sketch(
    before: Cells, after: Cells, leaves: Sequence[int], most: int = MOST_CELLS
) -> JointSketch:
    """Count rows, each a cell of its own, by both of their logits; other leaves are left out.

    Bins become as coarse as it takes to have no more than `most` cells.
    """
    position = leaf_positions(before.leaf, leaves)
    used = position >= 0
    rows, y = before.chosen(used), before.y[used].astype(np.int64)
    one, other = _side(rows.score, rows.weight), _side(after.score[used], rows.weight)
    bins = one.grid.bin_of(rows.score), other.grid.bin_of(after.score[used])
    sketch = JointSketch(
        tuple(map(int, leaves)),
        _key(position[used], *bins, y, one.grid.bins),
        rows.rows,
        one,
        other,
        None if rows.counted else rows.weight,
        None if rows.counted else rows.squares,
    ).gathered()
    while sketch.key.size > most and sketch.bins > 2:
        sketch = sketch.coarser()
    return sketch


def _key(position: Ints, before: Ints, after: Ints, y: Ints, bins: int) -> Ints:
    return ((position * bins + before) * bins + after) * 2 + y


def _places(key: Ints, bins: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the position of the leaf, the bin before, the bin after and the label of each cell."""
    rest, after = np.divmod(key >> 1, bins)
    position, before = np.divmod(rest, bins)
    return position, before, after, key & 1


def _side(scores: Floats, weight: Floats) -> Side:
    lowest, highest = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    ends = float(lowest) + 0.0, float(highest) + 0.0  # zero has one sign only
    return Side(grid_for_most(scores), weight * scores, *ends)


KIND = "hetcal joint sketch"


def joint_sketch_bytes(sketch: JointSketch) -> bytes:
    """Write a joint sketch as `sketch_bytes` writes a sketch."""
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
    _, *places, _ = _places(sketch.key, sketch.bins)
    sides = [
        (each.grid, bins, each.total)
        for each, bins in zip((sketch.before, sketch.after), places, strict=True)
    ]
    return written(
        header,
        cell_bytes(sketch.key, sketch.rows),
        sum_bytes(sides, sketch.rows, sketch.weight, sketch.squares),
    )


def read_joint_sketch(content: bytes) -> JointSketch:
    """Read what `joint_sketch_bytes` wrote; anything else is an `ArtifactError`."""
    return read_with(_read_body, KIND, content)


def _side_fields(side: Side) -> dict[str, float]:
    return {"reach": side.grid.reach, "lowest": side.lowest, "highest": side.highest}


def _read_body(fields: Fields, body: Body) -> JointSketch:
    bins, leaves = fields.integer("bins", 2, BINS), read_leaves(fields)
    key, rows = body.cells(fields.integer("cells", 1, MOST_CELLS), 2 * len(leaves) * bins**2)
    sides = [fields.fields(name) for name in ("before", "after")]
    grids = [Grid(each.number("reach"), bins) for each in sides]
    _, *places, _ = _places(key, bins)
    located = list(zip(grids, places, strict=True))
    totals, *weights = body.sums(located, rows, fields.flag("weighted"))
    before, after = (
        Side(grid, total, each.number("lowest"), each.number("highest"))
        for grid, total, each in zip(grids, totals, sides, strict=True)
    )
    sketch = JointSketch(leaves, key, rows, before, after, *weights)
    if any((each.low > each.high).any() for each in sketch.cells):
        raise JsonError("it has cells beyond its extreme scores")
    return sketch
