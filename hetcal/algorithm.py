"""Heterogeneous calibration from end to end: split, partition, calibrate, evaluate."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import pandas as pd

from hetcal.arrays import Bools, Ints
from hetcal.cells import Cells
from hetcal.choice import Choice
from hetcal.composed_maps import with_scheme
from hetcal.ensembles import fit_ensemble
from hetcal.finished_run import Run
from hetcal.growing import grow_partition, lend_rows
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.role_cells import (
    SKETCHED_FROM,
    RoleCells,
    grouped_rows,
    role_cells,
    row_cells,
)
from hetcal.run_checks import refuse_role_columns, require_scored_classes, require_weight
from hetcal.scores import Scores, require_ranking
from hetcal.settings import ENSEMBLES, READ_SCORES, Settings
from hetcal.splits import (
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
)
from hetcal.table import Table

DEFAULTS = Settings()


@dataclass(frozen=True)
class FirstPass:
    """What is kept of the rows once they have their roles and their leaves.

    Parameters
    ----------
    split : Split
        The rows of each role whose score is finite.
    leaf : array of int
        Leaf of every row of the table.
    leaves : tuple of int
        Ids of all leaves.
    cells : RoleCells
        The scores of each role.
    role_rows : callable or None
        Gives the rows of a role, for maps that are exact; None if rows are cells.
    folds : callable
        Divides the calibration rows by their groups, given a seed, see `grouped_rows`.
    """

    split: Split
    leaf: Ints
    leaves: tuple[int, ...]
    cells: RoleCells
    role_rows: Callable[[str], Cells] | None
    folds: Callable[[int], tuple[Cells, ...] | None]


def run(
    table: Table,
    scores: Scores,
    settings: Settings = DEFAULTS,
    partition: Partition | None = None,
    progress: Progress = silent,
) -> Run:
    """Carry out what the settings ask for.

    Every row is a cell of its own here, so that all numbers are exact at any size.

    Parameters
    ----------
    table : Table
        Rows whose columns have their roles, see `make_table`.
    scores : Scores
        One logit per row of the table, see `scores_from_column`.
    settings : Settings, optional
        How to divide and calibrate the rows; by default the paper's Algorithm 1.
        `Settings(partition="auto")` lets hetcal choose, as the command line does.
    partition : Partition, optional
        Takes the place of the one that the settings ask for.
    progress : callable, optional
        Is told how far the work has come, a share and a text; what it raises ends the run.

    Returns
    -------
    Run
        `evaluation` has the test rows before and after, and the lift; `verdict` says it in
        words. `after` is the calibrated logit of every row of the table, `partition`,
        `calibrator` and `choice` are what was fitted, and `artifact_bytes` saves it all.

    Raises
    ------
    HetcalError
        When the rows cannot be divided, scored or calibrated.
    """
    split, choice = split_table(table, settings), None
    if partition is None:
        if settings.partition in ENSEMBLES:
            require_ranking(scores)
            choice = fit_ensemble(table, scores, split, settings, progress)
        partition = shown_partition(table, scores, split, settings, choice)
    leaf = partition.apply(readable(partition, table.frame, scores))
    passed = first_pass(table, scores, split, partition, leaf, sketched_from=table.rows)
    return finish_run(
        table, scores, settings, partition, passed, fit_maps(passed, settings), choice
    )


def shown_partition(
    table: Table,
    scores: Scores | None,
    split: Split,
    settings: Settings,
    choice: Choice | None = None,
) -> Partition:
    """Return the partition of the run: that of the chosen scheme if it has only one."""
    if choice is not None and choice.scheme.partition is not None:
        return choice.scheme.partition
    return grow_partition(table, split, settings, scores)


def readable(partition: Partition, frame: pd.DataFrame, scores: Scores | None) -> pd.DataFrame:
    """Return the columns that the partition reads: those of the frame, or units of a layer."""
    if scores is not None and scores.activations is not None:
        units = scores.activations.frame
        if all(each.name in units for each in partition.features):
            return units
    return frame


def first_pass(
    table: Table,
    scores: Scores,
    split: Split,
    partition: Partition,
    leaf: Ints,
    sketched_from: int = SKETCHED_FROM,
    progress: Progress = silent,
) -> FirstPass:
    """Turn rows into cells, sketched in larger tables."""
    require_ranking(scores)
    refuse_role_columns(partition, table)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    leaves = tuple(each.id for each in partition.leaves)
    cells = role_cells(table, scores, split, leaf, leaves, sketched_from, progress)
    folds = partial(grouped_rows, table, scores, split.calibration, leaf)
    if cells.exact:
        return FirstPass(split, leaf, leaves, cells, None, folds)

    def role_rows(role: str) -> Cells:
        return row_cells(table, scores, split.of(role), leaf)

    return FirstPass(split, leaf, leaves, cells, role_rows, folds)


def fit_maps(passed: FirstPass, settings: Settings) -> LeafCalibrator:
    """Fit the map of every leaf on the calibration rows."""
    calibrator = LeafCalibrator(
        method=settings.calibrator,
        shrinkage=settings.shrinkage,
        min_rows=settings.min_rows,
        random_state=settings.seed,
    )
    rows = None if passed.role_rows is None else passed.role_rows("calibration")
    folds = passed.folds(settings.seed) if settings.shrinkage == "cv" else None
    return calibrator.fit_cells(passed.cells.calibration, passed.leaves, rows, folds)


def finish_run(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    passed: FirstPass,
    calibrator: LeafCalibrator,
    choice: Choice | None = None,
) -> Run:
    """Put the parts of a run together; the maps of a scheme that has one per leaf are shown."""
    if choice is not None:
        calibrator = with_scheme(calibrator, choice.scheme, partition)
    parts = passed.split, partition, passed.leaf, passed.cells, calibrator
    return Run(table, scores, settings, *parts, choice=choice)


def split_table(table: Table, settings: Settings) -> Split:
    """Divide the rows by the split column, or else by seeded fractions."""
    roles = table.roles
    if roles.split is not None:
        split = split_by_column(table.frame[roles.split])
    else:
        group = None if roles.group is None else table.frame[roles.group]
        split = split_by_fraction(table.y, settings.fractions, settings.seed, group)
    if settings.partition in READ_SCORES:
        split = lend_rows(split, table.y, settings.seed, table.group(split.calibration))
    require_both_classes(split, table.y)
    require_weight(table, split)
    return split


def usable_rows(split: Split, usable: Bools) -> Split:
    """Leave the rows without a finite score out of every role."""
    if usable.all():  # millions of row numbers are not copied for nothing
        return split
    return Split(*(rows[usable[rows]] for rows in _roles_of(split)))


def _roles_of(split: Split) -> Iterable[Ints]:
    return split.train, split.validation, split.calibration, split.test
