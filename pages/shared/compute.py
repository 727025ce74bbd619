"""Cached calls into hetcal: each result is computed once for equal inputs, for one user."""

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from hetcal.algorithm import (
    FirstPass,
    finish_run,
    first_pass,
    fit_maps,
    readable,
    split_table,
)
from hetcal.arrays import Ints
from hetcal.artifact_reading import open_artifact
from hetcal.artifacts import Artifact, score_with_artifact
from hetcal.auto import Choice
from hetcal.checks import Finding, check_table
from hetcal.class_artifacts import ClassArtifact
from hetcal.ensembles import fit_ensemble
from hetcal.finished_run import Run
from hetcal.growing import grow_partition
from hetcal.histograms import ScoreHistograms, score_histograms
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaves import leaf_table
from hetcal.overconfidence import diagnose
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.reading import read_file
from hetcal.result_curves import Curves, result_curves
from hetcal.role_cells import SKETCHED_FROM
from hetcal.scores import Scores, require_ranking, scores_from_column
from hetcal.scoring import ColumnScoring, ModelScoring
from hetcal.settings import ENSEMBLES, READ_SCORES, Settings
from hetcal.sources import Source, file_per_role, from_path, one_file
from hetcal.splits import Split
from hetcal.table import Roles, Table, class_balance, describe_columns, make_table
from pages.shared.jobs import finished_scores
from pages.shared.once import once
from pages.shared.state import TableFile, Workspace

DIVISION = ("fractions", "seed")
GROWTH = (*DIVISION, "partition", "max_depth", "min_leaf", "tree_size", "segments", "bins")
MAPS = ("calibrator", "shrinkage")
NEED_SCORES = (*READ_SCORES, "layer")
"""Partitions that cannot be grown before the scores are there."""


@dataclass(frozen=True)
class Flow:
    """The results that follow from a workspace, each computed when first asked for.

    Parameters
    ----------
    workspace : Workspace
        What the user gave and chose.
    progress : callable, optional
        Is told how far a pass over the rows has come.
    """

    workspace: Workspace
    progress: Progress = field(default=silent, compare=False)

    @cached_property
    def source(self) -> Source:
        """The table as it was read."""
        return source_of(self.workspace.files, self.progress)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """Kind, missing values and examples of every column."""
        return columns_of(self.source, self.progress)

    @cached_property
    def table(self) -> Table:
        """The rows, with their roles checked."""
        return table_of(self.source, self.workspace.roles)

    @cached_property
    def rows_digest(self) -> str:
        """Changes when the rows change, but not when columns get other roles."""
        roles = self.workspace.roles
        return f"{self.source.digest} {roles.label if roles.drop_unlabelled else ''}"

    @cached_property
    def split(self) -> Split:
        """Train, validation, calibration and test rows."""
        return split_of(self.table, _division(self.workspace.settings), self.progress)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a careful reader would remark about the data."""
        return findings_of(self.table, _division(self.workspace.settings), self.progress)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Rows and positive rows per role."""
        return class_balance(self.table, self.split)

    @cached_property
    def scores(self) -> Scores | None:
        """One logit per row; None while a model has not been run on the rows."""
        scoring, scores = self.workspace.scoring, None
        if isinstance(scoring, ColumnScoring):
            scores = column_scores_of(self.table, scoring)
        if isinstance(scoring, ModelScoring):
            scores = finished_scores(self.rows_digest, scoring)
        return None if scores is None else ranking_scores_of(scores)

    @cached_property
    def choice(self) -> Choice | None:
        """The scheme of many partitions that was fitted or chosen, where that is asked for."""
        settings = self.workspace.settings
        if self.workspace.partition is not None or settings.partition not in ENSEMBLES:
            return None
        asked = _only(settings, *DIVISION, "partition")
        return choice_of(self.table, self.scores, asked, self.progress)

    @cached_property
    def partition(self) -> Partition:
        """The loaded partition, that of the scheme, or the one that the settings ask for."""
        if self.workspace.partition is not None:
            return self.workspace.partition
        if self.choice is not None and self.choice.scheme.partition is not None:
            return self.choice.scheme.partition
        settings = self.workspace.settings
        scores = self.scores if settings.partition in NEED_SCORES else None
        return partition_of(self.table, scores, _only(settings, *GROWTH), self.progress)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """Rule, rows and positive rate per leaf and role."""
        settings = self.workspace.settings
        scores = self.scores
        scores = scores if scores is not None and scores.activations else None
        return leaves_of(self.table, scores, self.partition, _division(settings))

    @cached_property
    def run(self) -> Run:
        """The whole run."""
        parts = self.table, self.scores, self.workspace.settings, self.partition
        return run_of(*parts, self.choice, self.progress)

    @cached_property
    def _passed(self) -> tuple[Table, Scores | None, Settings, Partition, bool]:
        """What the pass over the rows depends on."""
        division = _division(self.workspace.settings)
        return self.table, self.scores, division, self.partition, self.choice is not None

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return diagnosis_of(*self._passed)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """Smallest and largest score that the histograms show."""
        edges = self.histograms("logit").edges
        return float(edges[0]), float(edges[-1])

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return histograms_of(*self._passed, axis, bins)

    @cached_property
    def curves(self) -> Curves:
        """ROC, precision-recall and reliability curves before and after."""
        return curves_of(self.run)


def _only(settings: Settings, *names: str) -> Settings:
    """Keep the settings that a result depends on, so that others do not recompute it."""
    return replace(Settings(), **{name: getattr(settings, name) for name in names})


def _division(settings: Settings) -> Settings:
    """Keep what the roles of the rows depend on."""
    asked = (*DIVISION, "partition") if settings.partition in READ_SCORES else DIVISION
    return _only(settings, *asked)


@once
def source_of(files: tuple[TableFile, ...], _progress: Progress = silent) -> Source:
    if len(files) == 1 and os.path.isdir(files[0].path):
        return from_path(files[0].path, progress=_progress)
    readings = {}
    for i, file in enumerate(files):
        part = between(_progress, i / len(files), (i + 1) / len(files))
        readings[file.role] = read_file(file.path, file.dialect, name=file.name, progress=part)
    return one_file(readings[None]) if None in readings else file_per_role(readings)


@once
def columns_of(source: Source, _progress: Progress = silent) -> pd.DataFrame:
    return describe_columns(source.frame, _progress)


@once
def table_of(source: Source, roles: Roles) -> Table:
    return make_table(source.frame, roles, source.digest)


@once
def split_of(table: Table, settings: Settings, _progress: Progress = silent) -> Split:
    _progress(0.0, "Dividing the rows")
    return split_table(table, settings)


@once
def findings_of(
    table: Table, settings: Settings, _progress: Progress = silent
) -> tuple[Finding, ...]:
    return check_table(table, split_of(table, settings), _progress)


@once
def column_scores_of(table: Table, scoring: ColumnScoring) -> Scores:
    return scores_from_column(
        table.frame[scoring.column], scoring.kind, f"{table.digest} {scoring}"
    )


@once
def ranking_scores_of(scores: Scores) -> Scores:
    require_ranking(scores)
    return scores


@once
def choice_of(
    table: Table, scores: Scores, settings: Settings, _progress: Progress = silent
) -> Choice:
    return fit_ensemble(table, scores, split_of(table, _division(settings)), settings, _progress)


@once
def partition_of(
    table: Table, scores: Scores | None, settings: Settings, _progress: Progress = silent
) -> Partition:
    split = split_of(table, _division(settings))
    return grow_partition(table, split, settings, scores, _progress)


@once
def leaf_of(table: Table, scores: Scores | None, partition: Partition) -> Ints:
    return partition.apply(readable(partition, table.frame, scores))


@once
def leaves_of(
    table: Table, scores: Scores | None, partition: Partition, settings: Settings
) -> pd.DataFrame:
    leaf = leaf_of(table, scores, partition)
    return leaf_table(partition, leaf, table.y, split_of(table, settings), table.weight)


@once
def first_pass_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    exact: bool,
    _progress: Progress = silent,
) -> FirstPass:
    """Pass over the rows; the logits of a scheme of many trees are those of rows, not of cells."""
    split, most = split_of(table, settings), table.rows if exact else SKETCHED_FROM
    leaf = leaf_of(table, scores if scores.activations else None, partition)
    return first_pass(table, scores, split, partition, leaf, most, _progress)


@once
def maps_of(
    table: Table, scores: Scores, settings: Settings, partition: Partition, exact: bool
) -> LeafCalibrator:
    passed = first_pass_of(table, scores, _division(settings), partition, exact)
    return fit_maps(passed, settings)


@once
def run_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    choice: Choice | None,
    _progress: Progress = silent,
) -> Run:
    exact = choice is not None
    passed = first_pass_of(table, scores, _division(settings), partition, exact, _progress)
    _progress(0.9, "Fitting the map of every leaf")
    asked = replace(_division(settings), **{each: getattr(settings, each) for each in MAPS})
    calibrator = maps_of(table, scores, asked, partition, exact)
    calibrator = calibrator.with_min_rows(settings.min_rows)
    return finish_run(table, scores, settings, partition, passed, calibrator, choice)


@once
def diagnosis_of(
    table: Table, scores: Scores, settings: Settings, partition: Partition, exact: bool
) -> pd.DataFrame:
    cells = first_pass_of(table, scores, settings, partition, exact).cells
    return diagnose(cells.train, cells.test, partition.leaves)


@once
def histograms_of(
    table: Table,
    scores: Scores,
    settings: Settings,
    partition: Partition,
    exact: bool,
    axis: str,
    bins: int,
) -> ScoreHistograms:
    cells = first_pass_of(table, scores, settings, partition, exact).cells
    leaves = [each.id for each in partition.leaves]
    return score_histograms(cells.train, cells.test, leaves, axis=axis, bins=bins)


@once
def curves_of(run: Run) -> Curves:
    return result_curves(run.ways, run.evaluation)


@once
def artifact_of(path: Path) -> Artifact | ClassArtifact:
    """Open an artifact that is kept under its digest."""
    return open_artifact(path.read_bytes(), path.parent)


@once
def scored_by_artifact(artifact: Path, table: Path, name: str) -> pd.DataFrame:
    """Score the rows of a file with an artifact, both kept under their digests."""
    opened = artifact_of(artifact)
    reading = read_file(table, name=name, kinds=opened.kinds)
    return score_with_artifact(opened, reading.frame, reading.digest)
