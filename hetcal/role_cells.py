"""The first pass over the data: the rows of each role as cells, which all else works on."""

from collections.abc import Sequence
from dataclasses import dataclass

from hetcal.arrays import Ints
from hetcal.cells import Cells
from hetcal.grid import Grid, grid_for_most
from hetcal.scores import Scores
from hetcal.sketch import sketch_rows
from hetcal.splits import Split
from hetcal.table import Table

SKETCHED_FROM = 200_000  # rows; up to here they are few enough to be cells themselves


@dataclass(frozen=True)
class RoleCells:
    """The train, calibration and test rows of a table.

    Parameters
    ----------
    train, calibration, test : Cells
        Raw scores.
    exact : bool
        Every row is a cell of its own; otherwise the cells are those of a sketch.
    """

    train: Cells
    calibration: Cells
    test: Cells
    exact: bool


def role_cells(
    table: Table,
    scores: Scores,
    split: Split,
    leaf: Ints,
    leaves: Sequence[int],
    sketched_from: int = SKETCHED_FROM,
) -> RoleCells:
    """Pass over the rows once; tables of more than `sketched_from` rows are sketched."""
    exact = table.rows <= sketched_from
    grid = None if exact else grid_for_most(scores.logit)
    train, calibration, test = (
        _cells(table, scores, rows, leaf, leaves, grid)
        for rows in (split.train, split.calibration, split.test)
    )
    return RoleCells(train, calibration, test, exact)


def row_cells(table: Table, scores: Scores, rows: Ints, leaf: Ints) -> Cells:
    """Make every one of some rows a cell."""
    weight = None if table.weight is None else table.weight[rows]
    return Cells.of_rows(scores.logit[rows], table.y[rows], leaf[rows], weight)


def _cells(
    table: Table, scores: Scores, rows: Ints, leaf: Ints, leaves: Sequence[int], grid: Grid | None
) -> Cells:
    if grid is None:
        return row_cells(table, scores, rows, leaf)
    weight = None if table.weight is None else table.weight[rows]
    sketch = sketch_rows(scores.logit[rows], table.y[rows], leaf[rows], leaves, grid, weight)
    return sketch.cells()
