"""The first pass over the data: the rows of each role as cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hetcal.arrays import Floats, Groups, Ints
from hetcal.calibrators.shrinkage import group_folds
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, Sketch, grid_for_most, sketch_rows
from hetcal.data.scores import Scores
from hetcal.data.splits import Split
from hetcal.data.table import Table
from hetcal.progress import Progress, between, silent

SKETCHED_FROM = 200_000  # rows; up to here they are few enough to be cells themselves
COARSE = 0.005  # of the pairs of rows; normal scores have at most 0.002 on their grid
SAMPLE = 100_000
PASSED = ("train", "calibration", "test")
"""The roles whose scores are used."""


@dataclass(frozen=True)
class RoleSketches:
    """Sketches of the train, calibration and test rows, with the same bins and leaves."""

    train: Sketch
    calibration: Sketch
    test: Sketch

    def cells(self) -> "RoleCells":
        """Return the cells of all sketches."""
        return RoleCells(self.train.cells, self.calibration.cells(), self.test.cells(), self)

    def within(self, filled: int, size: int) -> "RoleSketches":
        """Join bins until all sketches together have no more cells with rows than `filled`.

        No sketch has more than `size` cells then, either, empty ones included; two bins stay.
        """
        sketches = [getattr(self, role) for role in PASSED]

        def too_many() -> bool:
            with_rows = sum(int(np.count_nonzero(each.rows)) for each in sketches)
            return with_rows > filled or int(sketches[0].rows.size) > size

        while too_many() and sketches[0].grid.bins > 2:
            sketches = [each.coarser(each.grid.bins // 2) for each in sketches]
        return RoleSketches(*sketches)


@dataclass(frozen=True)
class RoleCells:
    """The raw scores of the train, calibration and test rows of a table."""

    make_train: Callable[[], Cells]  # called only where the train rows are used
    calibration: Cells
    test: Cells
    sketches: RoleSketches | None  # None if every row is a cell of its own

    @cached_property
    def train(self) -> Cells:
        """Raw scores of the train rows."""
        return self.make_train()

    @property
    def exact(self) -> bool:
        """Whether every row is a cell of its own."""
        return self.sketches is None

    def sketched(self, leaves: Sequence[int]) -> RoleSketches:
        """Return the sketches, made of the rows if these are cells."""
        if self.sketches is not None:
            return self.sketches
        grid = grid_for_most(self.test.score)
        return RoleSketches(*(_sketch(getattr(self, role), leaves, grid) for role in PASSED))


def role_cells(
    table: Table,
    scores: Scores,
    split: Split,
    leaf: Ints,
    leaves: Sequence[int],
    sketched_from: int = SKETCHED_FROM,
    progress: Progress = silent,
) -> RoleCells:
    """Turn rows into cells; tables of more than `sketched_from` rows are sketched.

    Rows that belong to groups are never sketched, since cells do not know the groups of their
    rows; nor are scores that are concentrated in few bins, for which the sketch is too coarse.
    """
    grid = grid_for_most(scores.logit)
    grouped = table.roles.group is not None
    if table.rows <= sketched_from or grouped or lost_pairs(scores.logit, grid) > COARSE:
        train, calibration, test = (
            partial(row_cells, table, scores, split.of(role), leaf) for role in PASSED
        )
        return RoleCells(train, calibration(), test(), None)
    sketches = []
    for i, role in enumerate(PASSED):
        rows, part = split.of(role), between(progress, i / len(PASSED), (i + 1) / len(PASSED))
        parts = scores.logit[rows], table.y[rows], leaf[rows]
        sketches.append(sketch_rows(*parts, leaves, grid, table.weight_of(rows), part))
    return RoleSketches(*sketches).cells()


def row_cells(table: Table, scores: Scores, rows: Ints, leaf: Ints) -> Cells:
    """Make each of some rows a cell."""
    return Cells.of_rows(scores.logit[rows], table.y[rows], leaf[rows], table.weight_of(rows))


def grouped_rows(
    table: Table, scores: Scores, rows: Ints, leaf: Ints, seed: int
) -> tuple[Cells, ...] | None:
    """Divide some rows into folds that keep groups together; None where there are no groups."""
    group = groups_of(table, rows)
    if group is None:
        return None
    return group_folds(row_cells(table, scores, rows, leaf), group, seed)


def groups_of(table: Table, rows: Ints) -> Groups | None:
    """Return the groups of those of some rows that become cells; None where there are none."""
    return table.group(rows if table.weight is None else rows[table.weight[rows] > 0])


def lost_pairs(scores: Floats, grid: Grid) -> float:
    """Estimate, on a sample, the share of pairs of rows whose scores differ but share a bin.

    >>> lost_pairs(np.array([0.0, 0.0, 1e-9, 5.0]), Grid())
    0.25
    """
    sample = scores
    if len(scores) > SAMPLE:  # at random, since the order of rows may have a pattern
        sample = scores[np.random.default_rng(0).integers(0, len(scores), SAMPLE)]
    sample = sample[np.isfinite(sample)]
    in_bin, equal = (
        np.sum((np.unique(each, return_counts=True)[1] / max(each.size, 1)) ** 2)
        for each in (grid.bin_of(sample), sample)
    )
    return float(in_bin - equal)


def _sketch(rows: Cells, leaves: Sequence[int], grid: Grid) -> Sketch:
    weight = None if rows.counted else rows.weight
    return sketch_rows(rows.score, rows.y, rows.leaf, leaves, grid, weight)
