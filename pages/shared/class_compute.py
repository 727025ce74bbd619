"""Cached calls into hetcal for a label of more than two values."""

import pandas as pd

from hetcal.algorithm import split_table
from hetcal.checks import check_table
from hetcal.choice import Choice
from hetcal.class_algorithm import choose_maps, finish_classes, grow_class_partition
from hetcal.class_run import ClassRun
from hetcal.finding import Finding
from hetcal.finished_run import Run
from hetcal.histograms import ScoreHistograms, score_histograms
from hetcal.leaves import leaf_table
from hetcal.overconfidence import diagnose
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.sources import Source
from hetcal.splits import Split
from hetcal.table import Roles, Table, has_many_classes, make_table
from pages.shared.once import once


def class_division(settings: Settings) -> Settings:
    """Keep what the roles of the rows depend on."""
    return Settings(fractions=settings.fractions, seed=settings.seed)


@once
def many_classes(source: Source, label: str) -> bool:
    return has_many_classes(source.frame, Roles(label))


@once
def classes_of(source: Source, roles: Roles, classes: tuple[str, ...] | None) -> Table:
    return make_table(source.frame, roles, source.digest, classes)


@once
def class_view_of(whole: Table | Scores, number: int) -> Table | Scores:
    return whole.view(number)


@once
def class_split_of(table: Table, settings: Settings, _progress: Progress = silent) -> Split:
    _progress(0.0, "Dividing the rows")
    return split_table(table, settings)


@once
def class_findings_of(
    table: Table, settings: Settings, _progress: Progress = silent
) -> tuple[Finding, ...]:
    return check_table(table, class_split_of(table, settings), _progress)


@once
def class_partition_of(table: Table, settings: Settings, _progress: Progress = silent) -> Partition:
    split = class_split_of(table, class_division(settings))
    return grow_class_partition(table, split, settings, _progress)


@once
def shown_partition_of(
    table: Table, number: int, partition: Partition, settings: Settings
) -> Partition:
    view, rows = class_view_of(table, number), class_split_of(table, settings).train
    weight = None if view.weight is None else view.weight[rows]
    return partition.counting(view.frame.iloc[rows], view.y[rows], weight)


@once
def class_leaves_of(
    table: Table, number: int, partition: Partition, settings: Settings
) -> pd.DataFrame:
    view, split = class_view_of(table, number), class_split_of(table, settings)
    leaf = partition.apply(view.frame)
    return leaf_table(partition, leaf, view.y, split, view.weight)


@once
def class_choice_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    _progress: Progress = silent,
) -> Choice:
    split = class_split_of(table, class_division(settings))
    return choose_maps(table, scores, split, settings, partition, _progress)


@once
def class_run_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    _progress: Progress = silent,
) -> ClassRun:
    split = class_split_of(table, class_division(settings))
    return finish_classes(table, scores, split, settings, partition, choice, _progress)


@once
def run_view_of(run: ClassRun, number: int, min_rows: int) -> Run:
    return run.view(number, min_rows)


@once
def class_diagnosis_of(run: Run) -> pd.DataFrame:
    return diagnose(run.cells.train, run.cells.test, run.partition.leaves)


@once
def class_histograms_of(run: Run, axis: str, bins: int) -> ScoreHistograms:
    leaves = [each.id for each in run.partition.leaves]
    return score_histograms(run.cells.train, run.cells.test, leaves, axis=axis, bins=bins)
