"""Algorithm 1 from end to end: split, partition, calibrate, evaluate."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.errors import SplitError
from hetcal.evaluation import Evaluation, evaluate
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.run_checks import refuse_role_columns, require_scored_classes, require_weight
from hetcal.scores import Scores, require_ranking, to_logits
from hetcal.splits import (
    PAPER_FRACTIONS,
    Split,
    require_both_classes,
    split_by_column,
    split_by_fraction,
)
from hetcal.table import Table
from hetcal.tree_partition import TreePartition


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
    calibrator : LeafCalibrator
        Fitted on the calibration rows.
    after : array of float
        Calibrated logit of every row of the table.
    evaluation : Evaluation
        Measured on the test rows.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    calibrator: LeafCalibrator
    after: Floats
    evaluation: Evaluation

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
    """Run Algorithm 1; a given partition takes the place of the tree."""
    split = split_table(table, settings)
    if partition is None:
        partition = grow_partition(table, split, settings)
    return run_on_leaves(table, scores, settings, split, partition, partition.apply(table.frame))


def run_on_leaves(
    table: Table,
    scores: Scores,
    settings: Settings,
    split: Split,
    partition: Partition,
    leaf: Ints,
) -> Run:
    """Calibrate and evaluate, once every row has its role and its leaf."""
    require_ranking(scores)
    refuse_role_columns(partition, table)
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    calibrator = calibrate(table, scores, split, leaf, partition, settings)
    after = calibrator.predict_logit(scores.logit, leaf)
    evaluation = evaluate_run(table, scores, split, leaf, calibrator)
    return Run(table, scores, settings, split, partition, leaf, calibrator, after, evaluation)


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


def calibrate(
    table: Table,
    scores: Scores,
    split: Split,
    leaf: Ints,
    partition: Partition,
    settings: Settings,
) -> LeafCalibrator:
    """Fit one map per leaf on the calibration rows."""
    rows = split.calibration
    return LeafCalibrator(min_rows=settings.min_rows).fit(
        scores.logit[rows],
        table.y[rows],
        leaf[rows],
        _weight(table, rows),
        leaves=[each.id for each in partition.leaves],
    )


def evaluate_run(
    table: Table, scores: Scores, split: Split, leaf: Ints, calibrator: LeafCalibrator
) -> Evaluation:
    """Compare the model, one map for all rows, the tree alone and the leaf maps on test rows."""
    rows = split.test
    before, inside = scores.logit[rows], leaf[rows]
    return evaluate(
        table.y[rows],
        before=before,
        pooled=calibrator.pooled_.logit(before),
        tree=tree_alone(table, split, leaf, calibrator)[rows],
        after=calibrator.predict_logit(before, inside),
        leaf=inside,
        leaves=[each.leaf for each in calibrator.maps_],
        weight=_weight(table, rows),
    )


def tree_alone(table: Table, split: Split, leaf: Ints, calibrator: LeafCalibrator) -> Floats:
    """Logit of each row's leaf rate: the paper's map with slope 0.

    The rates are those of the calibration rows, as in Section 5.2; a leaf without
    calibration rows has the rate of them all. A leaf of one class counts half a row of
    the other, for no rate is certain.
    """
    rows = split.calibration
    weight = np.ones(rows.size) if table.weight is None else table.weight[rows]
    size = 1 + max(int(leaf.max()), *(each.leaf for each in calibrator.maps_))
    total = np.bincount(leaf[rows], weight, size)
    positive = np.bincount(leaf[rows], weight * table.y[rows], size)
    overall = positive.sum() / total.sum()
    rate = np.divide(positive, total, out=np.full(size, overall), where=total > 0)
    half = 0.5 / np.maximum(np.bincount(leaf[rows], minlength=size), 1)
    return to_logits(np.clip(rate, half, 1 - half))[leaf]


def _roles_of(split: Split) -> Iterable[Ints]:
    return split.train, split.validation, split.calibration, split.test


def _weight(table: Table, rows: Ints) -> Floats | None:
    return None if table.weight is None else table.weight[rows]
