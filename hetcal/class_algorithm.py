"""Heterogeneous calibration of more than two classes, from end to end."""

import numpy as np

from hetcal.algorithm import split_table, usable_rows
from hetcal.choice import Choice, choose_scheme
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_map import METHODS, ClassMethod
from hetcal.class_run import ClassRun
from hetcal.composed_maps import class_calibrator
from hetcal.growing import grow_partition
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.run_checks import refuse_role_columns, require_scored_classes
from hetcal.scheme_rows import SchemeRows
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.splits import Split
from hetcal.table import Table
from hetcal.tree_partition import TreePartition


def run_classes(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition | None = None,
    progress: Progress = silent,
) -> ClassRun:
    """Split, partition and calibrate; a given partition takes the place of the tree.

    With the partition `auto` of the settings, and none given, the maps are chosen.
    """
    split, choice = split_table(table, settings), None
    chosen = partition is None and settings.partition == "auto"
    if partition is None:
        partition = grow_class_partition(table, split, settings, progress)
    if chosen:
        choice = choose_maps(table, scores, split, settings, partition, between(progress, 0.2, 1))
    return finish_classes(table, scores, split, settings, partition, choice, progress)


def choose_maps(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    partition: Partition,
    progress: Progress = silent,
) -> Choice:
    """Choose among maps on the validation and calibration rows, with the leaves of a tree."""
    split = scored_rows(table, scores, split)
    held, X = np.append(split.calibration, split.validation), table.X
    parts = scores.logit[held], table.weight_of(held), table.group(held)
    rows = SchemeRows(X.iloc[held], table.y[held], *parts)
    unread = SchemeRows(X.iloc[:0], table.y[:0], None)  # the tree is grown
    return choose_scheme(unread, rows, tree=partition, seed=settings.seed, progress=progress)


def finish_classes(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    partition: Partition,
    choice: Choice | None = None,
    progress: Progress = silent,
) -> ClassRun:
    """Calibrate by what was chosen, or by the maps of the settings in every leaf."""
    refuse_role_columns(partition, table)
    split = scored_rows(table, scores, split)
    leaf = partition.apply(table.frame)
    ids = [each.id for each in partition.leaves]
    if choice is not None:
        calibrator = class_calibrator(choice.scheme, len(table.classes), ids)
    else:
        progress(0.5, "Fitting the maps of all classes")
        rows = split.calibration
        calibrator = ClassCalibrator(class_method(settings), random_state=settings.seed)
        parts = scores.logit[rows], table.y[rows], leaf[rows], table.weight_of(rows)
        calibrator.fit(*parts, ids, groups=table.group(rows))
    return ClassRun(table, scores, settings, split, partition, leaf, calibrator, choice)


def scored_rows(table: Table, scores: Scores, split: Split) -> Split:
    """Leave out the rows without finite scores; every role that needs classes keeps several."""
    split = usable_rows(split, scores.usable)
    require_scored_classes(table, scores, split)
    return split


def grow_class_partition(
    table: Table, split: Split, settings: Settings, progress: Progress = silent
) -> Partition:
    """Grow the tree on the training rows alone, or divide by the columns that were chosen."""
    if settings.partition == "columns":
        return grow_partition(table.view(0), split, settings, progress=progress)
    rows = split.train
    fewest = None if settings.min_leaf is None else min(settings.min_leaf, rows.size)
    tree = TreePartition(settings.max_depth, min_samples_leaf=fewest)
    given = table.X, rows, table.y[rows], table.weight_of(rows)
    return tree.fit_rows(*given, progress).partition_


def class_method(settings: Settings) -> ClassMethod:
    """Return the map that the settings ask for; vector scaling unless they name another."""
    named = [each for each in METHODS if each == settings.calibrator]
    return named[0] if named else "vector"
