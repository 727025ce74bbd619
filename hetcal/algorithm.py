"""Heterogeneous calibration from end to end: split, partition, calibrate, evaluate."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pandas as pd

from hetcal.arrays import Bools, Ints
from hetcal.checks import check_table
from hetcal.choice import Choice
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_map import METHODS, ClassMethod
from hetcal.composed_maps import class_calibrator, with_scheme
from hetcal.ensembles import fit_ensemble
from hetcal.finding import Finding
from hetcal.finished_run import Run
from hetcal.growing import grow_partition, lend_rows
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.role_cells import SKETCHED_FROM, RoleCells, grouped_rows, role_cells, row_cells
from hetcal.run_checks import refuse_role_columns, require_scored_classes, require_weight
from hetcal.score_checks import check_scores, check_training
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
Tell = Callable[[tuple[Finding, ...]], object]


@dataclass(frozen=True)
class FirstPass:
    """What is kept of the rows once they have their roles and their leaves.

    Parameters
    ----------
    table, scores
        The rows.
    split : Split
        The rows of each role whose scores are finite.
    leaf : array of int
        Leaf of every row of the table.
    leaves : tuple of int
        Ids of all leaves.
    cells : RoleCells or None
        The scores of each role; None with more than two classes, whose rows stay rows.
    """

    table: Table
    scores: Scores
    split: Split
    leaf: Ints
    leaves: tuple[int, ...]
    cells: RoleCells | None


def run(
    table: Table,
    scores: Scores,
    settings: Settings = DEFAULTS,
    partition: Partition | None = None,
    progress: Progress = silent,
    tell: Tell = lambda _: None,
) -> Run:
    """Carry out what the settings ask for, for any number of classes.

    Divide the rows and look the table over, leave out rows without a score, partition,
    calibrate in every leaf, evaluate. All numbers are computed on all rows, at any size.

    Parameters
    ----------
    table : Table
        Rows whose columns have their roles, see `make_table`.
    scores : Scores
        The scores of every row of the table, see `scores_from_column` and
        `scores_from_columns`.
    settings : Settings, optional
        How to divide and calibrate the rows; by default the paper's Algorithm 1.
        `Settings(partition="auto")` lets hetcal choose, as the command line does.
    partition : Partition, optional
        Takes the place of the one that the settings ask for.
    progress : callable, optional
        Is told how far the work has come, a share and a text; what it raises ends the run.
    tell : callable, optional
        Is given the findings about table, split and scores, before anything is fitted.

    Returns
    -------
    Run
        `evaluation` has the test rows before and after, and the lift; `verdict` says it in
        words. `after` is the calibrated logit of every row of the table, or its calibrated
        log-probabilities of more than two classes; `partition`, `calibrator` and `choice` are
        what was fitted, and `artifact_bytes` saves it all.

    Raises
    ------
    HetcalError
        When the rows cannot be divided, scored or calibrated.
    """
    split, choice = split_table(table, settings), None
    findings = check_rows(table, scores, split)
    tell(findings)
    scored = scored_rows(table, scores, split)
    if partition is None:
        partition, choice = divide(table, scores, split, settings, progress)
    leaf = partition.apply(readable(partition, table.frame, scores))
    passed = first_pass(table, scores, scored, partition, leaf, sketched_from=table.rows)
    calibrator = fit_maps(passed, settings, choice)
    finished = finish_run(passed, settings, partition, calibrator, choice)
    return replace(finished, findings=findings).evaluated()


def check_rows(table: Table, scores: Scores, split: Split) -> tuple[Finding, ...]:
    """Look for what would make results misleading in the split, the scores and the table."""
    about_scores = *check_training(table.roles), *check_scores(table, scores)
    return *about_scores, *check_table(table, split)


def divide(
    table: Table, scores: Scores, split: Split, settings: Settings, progress: Progress = silent
) -> tuple[Partition, Choice | None]:
    """Grow the partition that the settings ask for, or choose it together with its maps."""
    if settings.partition not in ENSEMBLES:
        return grow_partition(table, split, settings, scores), None
    require_ranking(scores)
    if table.classes:  # the tree is shown, whether or not its leaves get maps
        tree = grow_partition(table, split, settings, scores, between(progress, 0.0, 0.2))
        choosing = between(progress, 0.2, 1.0)
        return tree, fit_ensemble(table, scores, split, settings, choosing, tree)
    choice = fit_ensemble(table, scores, split, settings, progress)
    return choice.scheme.partition or grow_partition(table, split, settings, scores), choice


def readable(partition: Partition, frame: pd.DataFrame, scores: Scores | None) -> pd.DataFrame:
    """Return the columns that the partition reads: those of the frame, or units of a layer."""
    if scores is not None and scores.activations is not None:
        units = scores.activations.frame
        if all(each.name in units for each in partition.features):
            return units
    return frame


def scored_rows(table: Table, scores: Scores, split: Split) -> Split:
    """Leave out the rows without finite scores; enough must be left in every role."""
    require_ranking(scores)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    return split


def first_pass(
    table: Table,
    scores: Scores,
    split: Split,
    partition: Partition,
    leaf: Ints,
    sketched_from: int = SKETCHED_FROM,
    progress: Progress = silent,
) -> FirstPass:
    """Turn rows of two classes into cells, sketched in larger tables."""
    refuse_role_columns(partition, table)
    split = scored_rows(table, scores, split)
    leaves, cells = tuple(each.id for each in partition.leaves), None
    if not table.classes:
        cells = role_cells(table, scores, split, leaf, leaves, sketched_from, progress)
    return FirstPass(table, scores, split, leaf, leaves, cells)


def fit_maps(
    passed: FirstPass, settings: Settings, choice: Choice | None = None
) -> LeafCalibrator | ClassCalibrator:
    """Fit the map of every leaf on the calibration rows, unless maps of classes were chosen."""
    if passed.cells is not None:
        return _fit_leaf_maps(passed, passed.cells, settings)
    if choice is not None:
        return class_calibrator(choice.scheme, len(passed.table.classes), passed.leaves)
    table, rows = passed.table, passed.split.calibration
    calibrator = ClassCalibrator(class_method(settings), random_state=settings.seed)
    parts = passed.scores.logit[rows], table.y[rows], passed.leaf[rows], table.weight_of(rows)
    return calibrator.fit(*parts, passed.leaves, groups=table.group(rows))


def _fit_leaf_maps(passed: FirstPass, cells: RoleCells, settings: Settings) -> LeafCalibrator:
    calibrator = LeafCalibrator(
        method=settings.calibrator,
        shrinkage=settings.shrinkage,
        min_rows=settings.min_rows,
        random_state=settings.seed,
    )
    parts = passed.table, passed.scores, passed.split.calibration, passed.leaf
    rows = None if cells.exact else row_cells(*parts)
    folds = grouped_rows(*parts, settings.seed) if settings.shrinkage == "cv" else None
    return calibrator.fit_cells(cells.calibration, passed.leaves, rows, folds)


def class_method(settings: Settings) -> ClassMethod:
    """Return the map of classes that the settings ask for; vector scaling by default."""
    named = [each for each in METHODS if each == settings.calibrator]
    return named[0] if named else "vector"


def finish_run(
    passed: FirstPass,
    settings: Settings,
    partition: Partition,
    calibrator: LeafCalibrator | ClassCalibrator,
    choice: Choice | None = None,
) -> Run:
    """Put the parts of a run together; the maps of a scheme that has one per leaf are shown."""
    if choice is not None and isinstance(calibrator, LeafCalibrator):
        calibrator = with_scheme(calibrator, choice.scheme, partition)
    parts = passed.split, partition, passed.leaf, passed.cells, calibrator
    return Run(passed.table, passed.scores, settings, *parts, choice=choice)


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
