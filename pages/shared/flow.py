"""What follows from a workspace, from the table to the curves of its results."""

from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from hetcal.choice import Choice
from hetcal.finding import Finding
from hetcal.finished_run import Run
from hetcal.histograms import ScoreHistograms
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.result_curves import Curves
from hetcal.score_checks import check_scores, check_training
from hetcal.scores import Scores
from hetcal.scoring import ModelScoring
from hetcal.settings import ENSEMBLES, Settings
from hetcal.sketch import computed_on
from hetcal.sources import Source
from hetcal.splits import Split
from hetcal.table import Table, class_balance
from pages.shared.compute import (
    choice_of,
    column_scores_of,
    columns_of,
    curves_of,
    diagnosis_of,
    findings_of,
    first_pass_of,
    histograms_of,
    leaves_of,
    partition_of,
    ranking_scores_of,
    run_of,
    source_of,
    split_of,
    table_of,
)
from pages.shared.jobs import finished_scores
from pages.shared.settings_used import NEED_SCORES, division, ensemble, growth
from pages.shared.state import Workspace, is_column_scoring


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
        return split_of(self.table, division(self.workspace.settings), self.progress)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a careful reader would remark about the data."""
        return findings_of(self.table, division(self.workspace.settings), self.progress)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Rows and positive rows per role."""
        return class_balance(self.table, self.split)

    @cached_property
    def scores(self) -> Scores | None:
        """One logit per row; None while a model has not been run on the rows."""
        scoring, scores = self.workspace.scoring, None
        if is_column_scoring(scoring, 1):
            scores = column_scores_of(self.table, scoring)
        if isinstance(scoring, ModelScoring):
            scores = finished_scores(self.rows_digest, scoring)
        return None if scores is None else ranking_scores_of(scores)

    @cached_property
    def score_findings(self) -> tuple[Finding, ...]:
        """What a careful reader would remark about the scores."""
        workspace = self.workspace
        here = workspace.network is not None and isinstance(workspace.scoring, ModelScoring)
        told = () if here else check_training(workspace.roles)
        return *told, *check_scores(self.table, self.scores)

    @cached_property
    def choice(self) -> Choice | None:
        """The scheme of many partitions that was fitted or chosen, where that is asked for."""
        settings = self.workspace.settings
        if self.workspace.partition is not None or settings.partition not in ENSEMBLES:
            return None
        return choice_of(self.table, self.scores, ensemble(settings), self.progress)

    @cached_property
    def partition(self) -> Partition:
        """The loaded partition, that of the scheme, or the one that the settings ask for."""
        if self.workspace.partition is not None:
            return self.workspace.partition
        if self.choice is not None and self.choice.scheme.partition is not None:
            return self.choice.scheme.partition
        settings = self.workspace.settings
        scores = self.scores if settings.partition in NEED_SCORES else None
        return partition_of(self.table, scores, growth(settings), self.progress)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """Rule, rows and positive rate per leaf and role."""
        settings = self.workspace.settings
        scores = self.scores
        scores = scores if scores is not None and scores.activations else None
        return leaves_of(self.table, scores, self.partition, division(settings))

    @cached_property
    def run(self) -> Run:
        """The whole run."""
        parts = self.table, self.scores, self.workspace.settings, self.partition
        # The logits of a scheme of many trees are those of rows, not of cells.
        exact = self.workspace.all_rows or self.choice is not None
        return run_of(*parts, self.choice, exact, self.progress)

    @cached_property
    def _passed(self) -> tuple[Table, Scores | None, Settings, Partition, bool]:
        """What the pass over the rows depends on."""
        settings = division(self.workspace.settings)
        return self.table, self.scores, settings, self.partition, self.workspace.all_rows

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return diagnosis_of(*self._passed)

    @property
    def diagnosis_computed_on(self) -> str:
        """Whether the diagnosis comes from all rows or from a sketch, in a sentence."""
        return computed_on(not first_pass_of(*self._passed).cells.exact)

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
