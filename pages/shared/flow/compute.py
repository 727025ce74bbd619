"""Cached calls into hetcal, one for each result."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from hetcal.arrays import Ints
from hetcal.artifacts.archive import SavedCells
from hetcal.artifacts.artifact import (
    READ_SHARE,
    Artifact,
    new_row_notes,
    open_artifact,
    score_with_artifact,
)
from hetcal.artifacts.saved_run import SavedRun, saved_run
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.data.checks import Finding, check_scores, check_table, check_training, check_validation
from hetcal.data.columns import describe_columns
from hetcal.data.reading import Source, file_per_role, from_path, one_file, read_file
from hetcal.data.scores import Scores, require_ranking
from hetcal.data.splits import Split
from hetcal.data.table import Roles, Table, make_table
from hetcal.models.scoring import ColumnScoring, score_rows
from hetcal.partitions.partition import Leaf, Partition, leaf_table
from hetcal.progress import Progress, between, silent
from hetcal.results.curves import Curves, result_curves
from hetcal.results.histograms import ScoreHistograms, score_histograms
from hetcal.results.overconfidence import diagnose
from hetcal.runs.fitting import allowed_kinds, fit_ensemble, grow_partition
from hetcal.runs.role_cells import SKETCHED_FROM, RoleCells
from hetcal.runs.run import FirstPass, Run, finish_run, first_pass, fit_maps, readable, split_table
from hetcal.runs.settings import CHOOSING, Settings
from hetcal.schemes.choice import Choice
from pages.shared.flow.cache import cached
from pages.shared.flow.settings import division, maps, trial
from pages.shared.state import TableFile


@cached
def source_of(files: tuple[TableFile, ...], _progress: Progress = silent) -> Source:
    if len(files) == 1 and os.path.isdir(files[0].path):
        return from_path(files[0].path, progress=_progress)
    readings = {}
    for i, file in enumerate(files):
        part = between(_progress, i / len(files), (i + 1) / len(files))
        readings[file.role] = read_file(file.path, file.dialect, name=file.name, progress=part)
    return one_file(readings[None]) if None in readings else file_per_role(readings)


@cached
def columns_of(source: Source, _progress: Progress = silent) -> pd.DataFrame:
    return describe_columns(source.frame, _progress)


@cached
def table_of(source: Source, roles: Roles, classes: tuple[str, ...] | None) -> Table:
    return make_table(source.frame, roles, source.digest, classes)


@cached
def table_view_of(table: Table, number: int) -> Table:
    return table.view(number)


@cached
def split_of(table: Table, settings: Settings, _progress: Progress = silent) -> Split:
    _progress(0.0, "Dividing the rows")
    return split_table(table, settings)


@cached
def findings_of(
    table: Table, settings: Settings, _progress: Progress = silent
) -> tuple[Finding, ...]:
    return check_table(table, split_of(table, settings), _progress)


@cached
def score_findings_of(
    table: Table, scores: Scores, settings: Settings, trained_here: bool, reused: bool
) -> tuple[Finding, ...]:
    """Look for problems of the scores; `reused` are validation rows that schemes read, too."""
    split = split_of(table, settings)
    found = () if trained_here else check_training(table.roles)
    if reused:
        found = *found, *check_validation(table, scores, split)
    return *check_scores(table, scores, split), *found


@cached
def column_scores_of(table: Table, scoring: ColumnScoring) -> Scores:
    return score_rows(table.frame, scoring, table.classes, f"{table.digest} {scoring}")


@cached
def ranking_scores_of(scores: Scores) -> Scores:
    require_ranking(scores)
    return scores


@cached
def trial_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    tree: Partition | None,
    _progress: Progress = silent,
) -> Choice:
    """Compare all schemes, or fit the one that the settings name."""
    split = split_of(table, division(settings))
    return fit_ensemble(table, scores, split, settings, _progress, tree)


@cached
def choice_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    tree: Partition | None,
    _progress: Progress = silent,
) -> Choice:
    """Choose among the schemes, or take the rung that the user chose; they are tried once."""
    tried = trial(settings)
    found, kinds = trial_of(table, scores, tried, tree, _progress), allowed_kinds(settings)
    if settings.partition not in CHOOSING:
        return found
    if settings.take is None:
        return found if kinds == allowed_kinds(tried) else found.among(kinds)
    found = choice_of(table, scores, replace(settings, take=None), tree, _progress)
    # The rung may have been taken for another label, with other rungs.
    known = settings.take in found.candidates["name"].tolist()
    return found.take(settings.take) if known else found


@cached
def partition_of(
    table: Table, scores: Scores | None, settings: Settings, _progress: Progress = silent
) -> Partition:
    split = split_of(table, division(settings))
    return grow_partition(table, split, settings, scores, _progress)


@cached
def view_partition_of(
    table: Table, number: int, partition: Partition, settings: Settings
) -> Partition:
    view, rows = table_view_of(table, number), split_of(table, settings).train
    return partition.counting(view.frame.iloc[rows], view.y[rows], view.weight_of(rows))


@cached
def leaf_of(table: Table, scores: Scores | None, partition: Partition) -> Ints:
    return partition.apply(readable(partition, table.frame, scores))


@cached
def leaves_of(
    table: Table, scores: Scores | None, partition: Partition, settings: Settings
) -> pd.DataFrame:
    leaf = leaf_of(table, scores, partition)
    return leaf_table(partition, leaf, table.y, split_of(table, settings), table.weight)


@cached
def first_pass_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    exact: bool,
    _progress: Progress = silent,
) -> FirstPass:
    """Pass over the rows; large tables are sketched unless exact numbers are wanted."""
    split, most = split_of(table, settings), table.rows if exact else SKETCHED_FROM
    leaf = leaf_of(table, scores if scores.activations else None, partition)
    return first_pass(table, scores, split, partition, leaf, most, _progress)


@cached
def maps_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    exact: bool,
) -> LeafCalibrator | ClassCalibrator:
    passed = first_pass_of(table, scores, division(settings), partition, exact)
    return fit_maps(passed, settings, choice)


@cached
def run_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    exact: bool,
    findings: tuple[Finding, ...] = (),
    _progress: Progress = silent,
) -> Run:
    passed = first_pass_of(table, scores, division(settings), partition, exact, _progress)
    _progress(0.9, "Fitting the map of every leaf")
    chosen = choice if table.classes else None
    calibrator = maps_of(table, scores, maps(settings), partition, chosen, exact)
    if isinstance(calibrator, LeafCalibrator):
        calibrator = calibrator.with_min_rows(settings.min_rows)
    finished = finish_run(passed, settings, partition, calibrator, choice)
    return replace(finished, findings=findings)


@cached
def view_of(run: Run, number: int, min_rows: int) -> Run:
    return run.view(number, min_rows)


@cached
def saved_run_of(path: Path, min_rows: int, number: int | None = None) -> SavedRun:
    """Take up the run in an artifact: on all classes, or on one against all others."""
    if number is None:
        return saved_run(artifact_of(path), min_rows)
    return saved_run_of(path, min_rows).view(number, min_rows)


@cached
def diagnosis_of(
    key: object, _cells: RoleCells | SavedCells, _leaves: Sequence[Leaf]
) -> pd.DataFrame:
    return diagnose(_cells.train, _cells.test, _leaves)


@cached
def histograms_of(
    key: object,
    _cells: RoleCells | SavedCells,
    _leaves: Sequence[Leaf],
    axis: str,
    bins: int,
) -> ScoreHistograms:
    leaves = [each.id for each in _leaves]
    return score_histograms(_cells.train, _cells.test, leaves, axis=axis, bins=bins)


@cached
def curves_of(key: object, _run: Run | SavedRun) -> Curves:
    return result_curves(_run.comparison, _run.evaluation)


@cached
def artifact_of(path: Path) -> Artifact:
    """Open an artifact that is kept under its digest."""
    return open_artifact(path.read_bytes(), path.parent)


@cached
def scored_by_artifact(
    artifact: Path, table: Path, name: str, _progress: Progress = silent
) -> tuple[pd.DataFrame, list[str]]:
    """Score the rows of a file with an artifact, both kept under their digests, with notes."""
    opened = artifact_of(artifact)
    reading, scoring = between(_progress, 0.0, READ_SHARE), between(_progress, READ_SHARE, 1.0)
    rows = read_file(table, name=name, kinds=opened.kinds, progress=reading)
    scored = score_with_artifact(opened, rows.frame, rows.digest, scoring)
    return scored, [*rows.notes, *new_row_notes(opened, rows.frame, scored)]
