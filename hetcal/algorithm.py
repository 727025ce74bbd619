"""Algorithm 1 from end to end: split, partition, calibrate, evaluate."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from hetcal.arrays import Bools, Floats, Ints
from hetcal.finished_run import Run
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.role_cells import SKETCHED_FROM, RoleCells, role_cells, row_cells
from hetcal.row_answers import RowAnswers
from hetcal.run_checks import refuse_role_columns, require_scored_classes, require_weight
from hetcal.scores import Scores, require_ranking
from hetcal.settings import Settings
from hetcal.splits import (
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
)
from hetcal.table import Table
from hetcal.tree_partition import TreePartition


@dataclass(frozen=True)
class FirstPass:
    """What is kept of the rows once they have their roles and their leaves.

    Parameters
    ----------
    split : Split
        The rows of each role whose score is finite.
    cells : RoleCells
        Their scores.
    calibrator : LeafCalibrator
        Fitted on the calibration rows, with the default `min_rows`.
    rows : RowAnswers or None
        The test rows, for what their cells are too coarse for; None if rows are cells.
    """

    split: Split
    cells: RoleCells
    calibrator: LeafCalibrator
    rows: RowAnswers | None


def run(
    table: Table, scores: Scores, settings: Settings, partition: Partition | None = None
) -> Run:
    """Run Algorithm 1; a given partition takes the place of the tree.

    Every row is a cell of its own here, so that all numbers are exact at any size.
    """
    split = split_table(table, settings)
    if partition is None:
        partition = grow_partition(table, split, settings)
    leaf = partition.apply(table.frame)
    passed = first_pass(table, scores, split, partition, leaf, sketched_from=table.rows)
    return run_on_leaves(table, scores, settings, partition, leaf, passed)


def first_pass(
    table: Table,
    scores: Scores,
    split: Split,
    partition: Partition,
    leaf: Ints,
    sketched_from: int = SKETCHED_FROM,
    progress: Progress = silent,
) -> FirstPass:
    """Turn rows into cells, sketched in larger tables, and fit the maps of all leaves."""
    require_ranking(scores)
    refuse_role_columns(partition, table)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    leaves = [each.id for each in partition.leaves]
    counting, fitting = between(progress, 0.0, 0.5), between(progress, 0.5, 1.0)
    cells = role_cells(table, scores, split, leaf, leaves, sketched_from, counting)
    fitting(0.0, "Fitting the map of every leaf")
    if cells.exact:
        return FirstPass(split, cells, LeafCalibrator().fit_cells(cells.calibration, leaves), None)
    rows = row_cells(table, scores, split.calibration, leaf)
    calibrator = LeafCalibrator().fit_cells(cells.calibration, leaves, polish_with=rows)
    make_test = partial(row_cells, table, scores, split.test, leaf)
    return FirstPass(split, cells, calibrator, RowAnswers(make_test, cells.calibration))


def run_on_leaves(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    leaf: Ints,
    passed: FirstPass,
) -> Run:
    """Choose the maps, once the rows have been passed over."""
    calibrator = passed.calibrator.with_min_rows(settings.min_rows)
    parts = passed.split, partition, leaf, passed.cells, calibrator, passed.rows
    return Run(table, scores, settings, *parts)


def split_table(table: Table, settings: Settings, y: Ints | None = None) -> Split:
    """Divide the rows by the split column, or else by seeded fractions.

    `y` takes the place of the table's own labels, where there are more than two classes.
    """
    labels = table.y if y is None else y
    roles = table.roles
    if roles.split is not None:
        split = split_by_column(table.frame[roles.split])
    else:
        group = None if roles.group is None else table.frame[roles.group]
        split = split_by_fraction(labels, settings.fractions, settings.seed, group)
    require_both_classes(split, labels)
    require_weight(table, split)
    return split


def usable_rows(split: Split, usable: Bools) -> Split:
    """Leave the rows without a finite score out of every role."""
    return Split(*(rows[usable[rows]] for rows in _roles_of(split)))


def grow_partition(
    table: Table, split: Split, settings: Settings, progress: Progress = silent
) -> Partition:
    """Grow the tree on the training rows alone."""
    rows = split.train
    tree = TreePartition(
        max_depth=settings.max_depth,
        min_samples_leaf=None if settings.min_leaf is None else min(settings.min_leaf, rows.size),
        random_state=settings.seed,
    )
    tree.fit_rows(table.X, rows, table.y[rows], _weight(table, rows), progress)
    return tree.partition_


def _roles_of(split: Split) -> Iterable[Ints]:
    return split.train, split.validation, split.calibration, split.test


def _weight(table: Table, rows: Ints) -> Floats | None:
    return None if table.weight is None else table.weight[rows]
