"""Algorithm 1 from end to end: split, partition, calibrate, evaluate."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial

from hetcal.arrays import Bools, Floats, Ints
from hetcal.errors import SplitError
from hetcal.evaluation import Evaluation, evaluate
from hetcal.exactness import evaluate_sketch, exactness
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.role_cells import SKETCHED_FROM, RoleCells, role_cells, row_cells
from hetcal.row_answers import RowAnswers
from hetcal.run_checks import refuse_role_columns, require_scored_classes, require_weight
from hetcal.scores import Scores, require_ranking
from hetcal.splits import (
    PAPER_FRACTIONS,
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
)
from hetcal.table import Table
from hetcal.tree_partition import TreePartition
from hetcal.ways import Ways, score_in_four_ways


@dataclass(frozen=True)
class Settings:
    """The choices of one run; the defaults are the paper's.

    Parameters
    ----------
    fractions : tuple of float
        Shares of train, validation, calibration and test rows, used when the
        table has no split column.
    seed : int
        Seed of the split and of the tree.
    max_depth : int
        Greatest depth of the tree.
    min_leaf : int or None
        Fewest training rows of a leaf; None chooses by the number of rows.
    min_rows : int
        Fewest calibration rows for a leaf to have a map of its own.
    """

    fractions: tuple[float, ...] = PAPER_FRACTIONS
    seed: int = 0
    max_depth: int = 3
    min_leaf: int | None = None
    min_rows: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise SplitError(
                f"The seed is {self.seed}.",
                "A seed is a whole number from 0 to 4,294,967,295.",
                "Choose such a number.",
            )


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


@dataclass(frozen=True)
class Run:
    """One finished run: what the pages show and the artifact saves.

    Parameters
    ----------
    table, scores, settings
        What the run was given.
    split : Split
        The rows of each role whose score is finite.
    partition : Partition
        Grown on the training rows, or loaded.
    leaf : array of int
        Leaf of every row of the table.
    cells : RoleCells
        The scores of each role.
    calibrator : LeafCalibrator
        Fitted on the calibration rows.
    rows : RowAnswers or None
        The test rows, for what their cells are too coarse for; None if rows are cells.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    cells: RoleCells
    calibrator: LeafCalibrator
    rows: RowAnswers | None

    @cached_property
    def ways(self) -> Ways:
        """The test cells scored in the ways that are compared."""
        return score_in_four_ways(self.cells.test, self.cells.calibration, self.calibrator)

    @cached_property
    def evaluation(self) -> Evaluation:
        """What the ways are worth."""
        if self.rows is None:
            return evaluate(self.ways, [each.leaf for each in self.calibrator.maps_])
        return evaluate_sketch(self.ways, self.rows, self.calibrator)

    @property
    def exactness(self) -> str:
        """How exact the numbers of the evaluation are, in a sentence."""
        return exactness(self.evaluation.errors)

    @cached_property
    def after(self) -> Floats:
        """Calibrated logit of every row of the table; only exports need it."""
        return self.calibrator.predict_logit(self.scores.logit, self.leaf)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the scores and the maps, in sentences."""
        scores = self.scores
        counted = (
            (scores.excluded, "have no finite score and take no part"),
            (scores.clipped, "have a probability of 0 or 1, pulled in by 1e-7"),
        )
        told = tuple(f"{n:,} of {scores.logit.size:,} rows {what}." for n, what in counted if n)
        return (scores.how, *told, *self.calibrator.notes_)

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes."""
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


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
) -> FirstPass:
    """Turn rows into cells, sketched in larger tables, and fit the maps of all leaves."""
    require_ranking(scores)
    refuse_role_columns(partition, table)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    leaves = [each.id for each in partition.leaves]
    cells = role_cells(table, scores, split, leaf, leaves, sketched_from)
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


def split_table(table: Table, settings: Settings) -> Split:
    """Divide the rows by the split column, or else by seeded fractions."""
    roles = table.roles
    if roles.split is not None:
        split = split_by_column(table.frame[roles.split])
    else:
        group = None if roles.group is None else table.frame[roles.group]
        split = split_by_fraction(table.y, settings.fractions, settings.seed, group)
    require_both_classes(split, table.y)
    require_weight(table, split)
    return split


def usable_rows(split: Split, usable: Bools) -> Split:
    """Leave the rows without a finite score out of every role."""
    return Split(*(rows[usable[rows]] for rows in _roles_of(split)))


def grow_partition(table: Table, split: Split, settings: Settings) -> Partition:
    """Grow the tree on the training rows alone."""
    rows = split.train
    tree = TreePartition(
        max_depth=settings.max_depth,
        min_samples_leaf=None if settings.min_leaf is None else min(settings.min_leaf, rows.size),
        random_state=settings.seed,
    )
    tree.fit(table.X.iloc[rows], table.y[rows], _weight(table, rows))
    return tree.partition_


def _roles_of(split: Split) -> Iterable[Ints]:
    return split.train, split.validation, split.calibration, split.test


def _weight(table: Table, rows: Ints) -> Floats | None:
    return None if table.weight is None else table.weight[rows]
