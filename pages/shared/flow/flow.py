"""What follows from a workspace, from the table to the curves of its results."""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from hetcal.artifacts.archive import SavedCells, SavedScheme
from hetcal.artifacts.report import names_of_given
from hetcal.artifacts.saved_run import FROM_SKETCH, SavedRun
from hetcal.cells.sketch import computed_on
from hetcal.data.checks import Finding
from hetcal.data.reading import Source
from hetcal.data.scores import Scores
from hetcal.data.splits import Split
from hetcal.data.table import Table, class_balance
from hetcal.jobs.jobs import Job
from hetcal.models.inputs import float_columns, unlike_training
from hetcal.models.scoring import ModelScoring, read_as_text
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.results.conditions import Condition
from hetcal.results.curves import Curves
from hetcal.results.histograms import ScoreHistograms
from hetcal.runs.role_cells import RoleCells
from hetcal.runs.run import Run
from hetcal.runs.settings import CHOOSING, ENSEMBLES, Settings
from hetcal.schemes.choice import Choice
from hetcal.store.keys import (
    NEED_SCORES,
    division,
    ensemble,
    for_classes,
    growth,
    rows_key,
    scores_key,
)
from hetcal.store.store import StoredRun
from pages.shared.flow import compute
from pages.shared.jobs import Unfinished
from pages.shared.state import Workspace, is_column_scoring, workspace


@dataclass(frozen=True)
class Flow:
    """The results that follow from a workspace, each computed when first needed.

    With more than two classes, pages show one class against all others; `whole` is the run on all
    classes. A saved run has no table, and only what follows from the run.
    """

    workspace: Workspace
    progress: Progress = field(default=silent, compare=False)
    reads_for: StoredRun | None = None  # the run that a table is read for, if not the current one

    @property
    def saved(self) -> Path | None:
        """The artifact whose run is explored; None if there is a table."""
        return None if self.workspace.saved is None else self.workspace.saved.path

    @cached_property
    def source(self) -> Source:
        """The table as it was read; what the model takes as text, as it is written."""
        files = self.workspace.files
        source = compute.source_of(files, (), self.reads_for, self.progress)
        texts = read_as_text(self.workspace.scoring, source.frame)
        if not texts:
            return source
        return compute.source_of(files, texts, self.reads_for, self.progress)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """Kind, missing values and examples of every column."""
        return compute.columns_of(self.source, self.progress)

    @cached_property
    def table(self) -> Table:
        """The rows, with their roles checked."""
        return compute.table_of(self.source, self.workspace.roles, self.workspace.classes)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """All classes in the order of the scores, where there are more than two."""
        return self.table.classes if self.saved is None else compute.artifact_of(self.saved).classes

    @property
    def number(self) -> int | None:
        """Number of the class that is shown against all others; None with two classes."""
        if not self.classes:
            return None
        shown = self.workspace.class_shown
        return self.classes.index(shown) if shown in self.classes else 0

    @property
    def shown(self) -> str | None:
        """Name of that class."""
        return None if self.number is None else self.classes[self.number]

    @cached_property
    def settings(self) -> Settings:
        """The settings that apply to this number of classes."""
        here = self.workspace
        return for_classes(here.settings, here.class_method) if self.classes else here.settings

    @property
    def named(self) -> dict[str, str]:
        """The table and the model, in words."""
        files = ", ".join(each.name for each in self.workspace.files)
        return names_of_given(files, self.source.digest, self.workspace.scoring)

    @cached_property
    def rows_digest(self) -> str:
        """Changes when the rows or the number of classes change, not with other roles."""
        return rows_key(self.source.digest, self.workspace.roles, len(self.classes))

    @cached_property
    def split(self) -> Split:
        """Train, validation, calibration and test rows."""
        return compute.split_of(self.table, division(self.settings), self.progress)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Possible problems of the data."""
        return compute.findings_of(self.table, division(self.settings), self.progress)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Rows and classes per role."""
        return class_balance(self.table, self.split)

    @cached_property
    def scores(self) -> Scores | None:
        """The scores of every row; None while nobody has said where they come from."""
        scoring, scores = self.workspace.scoring, None
        if is_column_scoring(scoring, len(self.classes) or 1):
            scores = compute.column_scores_of(self.table, scoring)
        if isinstance(scoring, ModelScoring):
            parts = self.table, self.rows_digest, scoring
            try:
                scores = compute.model_scores_of(*parts, self._choose_meanwhile)
            except Unfinished as unfinished:
                self._choose_meanwhile(unfinished.job)  # the settings may have changed since
                raise
        return None if scores is None else compute.ranking_scores_of(scores)

    @cached_property
    def score_findings(self) -> tuple[Finding, ...]:
        """Possible problems of the scores."""
        here = self.workspace
        trained = uses_network(here)
        reused = here.partition is None and self.settings.reuses_validation
        parts = self.table, self.scores, division(self.settings)
        return compute.score_findings_of(*parts, trained, reused)

    @cached_property
    def scales(self) -> pd.DataFrame | None:
        """What scales of the columns do to AUC and saturation; None where there is no question."""
        scoring = self.workspace.scoring
        if not isinstance(scoring, ModelScoring) or uses_network(self.workspace):
            return None
        unlike = any(each.code == "saturated-score" for each in self.score_findings)
        unlike |= unlike_training(scoring.model, scoring.inputs, self.table.frame) is not None
        if not float_columns(scoring.model, scoring.inputs):
            return None
        if not unlike and not scoring.inputs.steps.steps:
            return None
        parts = self.table, self.rows_digest, division(self.settings), scoring
        return compute.scales_of(*parts)

    @cached_property
    def first_conditions(self) -> tuple[Condition, ...]:
        """The paper's three conditions before anything is fitted to scores of two classes."""
        settings = replace(self.settings, partition="tree", tree_size="given")
        return compute.first_conditions_of(self.table, self.scores, growth(settings))

    @property
    def choosing(self) -> bool:
        """Whether a scheme is fitted or chosen, which needs scores."""
        return self.workspace.partition is None and self.settings.partition in ENSEMBLES

    @property
    def reads_scores(self) -> bool:
        """Whether the partition needs scores."""
        grown = self.workspace.partition is None
        return grown and self.settings.partition in (*ENSEMBLES, *NEED_SCORES)

    @cached_property
    def choice(self) -> Choice | SavedScheme | None:
        """The scheme that was fitted or chosen, if the settings ask for one."""
        if self.saved is not None:
            return self.whole.choice
        return self._chosen(self.settings) if self.choosing else None

    @property
    def climbable(self) -> bool:
        """Whether schemes were compared, so that another rung of the ladder can be taken."""
        return self.saved is None and self.choosing and self.settings.partition in CHOOSING

    @cached_property
    def recommended(self) -> str:
        """Name of the scheme that was chosen, whichever the user has taken instead."""
        return self._chosen(replace(self.settings, take=None)).chosen

    def _chosen(self, settings: Settings) -> Choice:
        asked = ensemble(settings)
        tree = self._grown if self.classes else None
        return compute.choice_of(self.table, self.scores, asked, tree, self._ahead(asked))

    def _choose_meanwhile(self, job: Job) -> None:
        """Begin to choose a scheme while the job scores the rows."""
        scoring = self.workspace.scoring
        if isinstance(scoring, ModelScoring) and self.climbable:
            asked, scored = ensemble(self.settings), scores_key(self.rows_digest, scoring)
            compute.choose_ahead(job, self._ahead(asked), scored, self.table, asked)

    def _ahead(self, settings: Settings) -> str:
        """Return the key of a choice that has begun before the scores were there."""
        parts = self.table, self.rows_digest, self.workspace.scoring
        return compute.ahead_key(*parts, settings)

    @cached_property
    def _grown(self) -> Partition:
        """The partition that the settings ask for."""
        scores = self.scores if self.settings.partition in NEED_SCORES else None
        return compute.partition_of(self.table, scores, growth(self.settings), self.progress)

    @cached_property
    def _divided_by(self) -> Partition:
        """The loaded partition, that of the scheme, or the one that the settings ask for."""
        if self.workspace.partition is not None:
            return self.workspace.partition
        if not self.classes and self.choice is not None:
            return self.choice.scheme.partition or self._grown
        return self._grown

    @cached_property
    def partition(self) -> Partition:
        """What divides the rows, with the rates of the class that is shown."""
        if self.saved is not None:
            return self.whole.partition
        if self.number is None:
            return self._divided_by
        parts = self.table, self._layer_scores, self.number, self._divided_by
        return compute.view_partition_of(*parts, division(self.settings))

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """Rule, rows and positive rate per leaf and role."""
        table = (
            self.table if self.number is None else compute.table_view_of(self.table, self.number)
        )
        parts = table, self._layer_scores, self._divided_by
        return compute.leaves_of(*parts, division(self.settings))

    @property
    def _layer_scores(self) -> Scores | None:
        """The scores where a layer of their model was computed; a partition may read it."""
        scoring = self.workspace.scoring
        reads_layer = isinstance(scoring, ModelScoring) and scoring.layer is not None
        return self.scores if reads_layer else None

    @cached_property
    def whole(self) -> Run | SavedRun:
        """The whole run, on all classes."""
        if self.saved is not None:
            return compute.saved_run_of(self.saved, self.workspace.settings.min_rows)
        parts = self.table, self.scores, self.settings, self._divided_by
        # The logits of a scheme of many trees are those of rows, not of cells.
        exact = self.workspace.all_rows or self.choice is not None
        findings = *self.score_findings, *self.findings
        return compute.run_of(*parts, self.choice, exact, findings, self.progress)

    @cached_property
    def run(self) -> Run | SavedRun:
        """The run on the class that is shown against all others; with two classes the whole run."""
        if self.number is None:
            return self.whole
        fewest = self.workspace.settings.min_rows
        if self.saved is not None:
            return compute.saved_run_of(self.saved, fewest, self.number)
        return compute.view_of(self.whole, self.number, fewest)

    @cached_property
    def _scored(self) -> tuple[object, RoleCells | SavedCells]:
        """The scores of each role, and what they depend on."""
        if self.saved is not None:
            return (self.saved, self.number), self.run.role_cells
        parts = self.table, self.scores, division(self.settings), self._divided_by
        if self.number is not None:
            return (*parts, self.number), self.run.role_cells
        parts = *parts, self.workspace.all_rows
        return parts, compute.first_pass_of(*parts).cells

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return compute.diagnosis_of(*self._scored, self.partition.leaves)

    @cached_property
    def leaf_tests(self) -> pd.DataFrame:
        """P-values of every leaf: calibrated before and after, and the gap to train rows."""
        key, cells = self._scored
        return compute.leaf_tests_of((key, self._key), cells, self.run)

    def diagnosed(self, leaf: int) -> pd.Series:
        """How over-confident a leaf is, or a branch (below 0), or all rows (0)."""
        if leaf >= 0:
            return self.diagnosis.merge(self.leaf_tests, on="leaf").set_index("leaf").loc[leaf]
        members = self.partition.members(leaf)
        return compute.branch_diagnosis_of(*self._scored, members).iloc[0]

    @property
    def diagnosis_computed_on(self) -> str:
        """What the diagnosis was computed on, in a sentence."""
        return FROM_SKETCH if self.saved is not None else computed_on(not self._scored[1].exact)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """Smallest and largest score that the histograms show."""
        edges = self.histograms("logit").edges
        return float(edges[0]), float(edges[-1])

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return compute.histograms_of(*self._scored, self.partition.leaves, axis, bins)

    @property
    def _key(self) -> object:
        """What the results of the run depend on."""
        fewest = self.workspace.settings.min_rows
        return self.run if self.saved is None else (self.saved, self.number, fewest)

    @cached_property
    def curves(self) -> Curves:
        """ROC, precision-recall and reliability curves before and after."""
        return compute.curves_of(self._key, self.run)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The paper's three conditions, judged on the test rows."""
        return compute.conditions_of(self._key, self.run, self.diagnosis)


def uses_network(here: Workspace) -> bool:
    """Whether the scores come from the network that was trained here."""
    if here.network is None or not isinstance(here.scoring, ModelScoring):
        return False
    return here.scoring.model.digest == hashlib.sha256(here.network.content).hexdigest()


def current_flow(progress: Progress = silent) -> Flow:
    """Return the flow of the user's choices so far."""
    return Flow(workspace(), progress)
