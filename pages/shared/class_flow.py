"""What follows from a workspace whose label has more than two values."""

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from hetcal.choice import Choice
from hetcal.class_run import ClassRun
from hetcal.finding import Finding
from hetcal.finished_run import Run
from hetcal.histograms import ScoreHistograms
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.scores import Scores
from hetcal.scoring import ModelScoring
from hetcal.settings import FOR_CLASSES, Settings
from hetcal.splits import Split
from hetcal.table import Table, class_balance
from pages.shared.class_compute import (
    class_choice_of,
    class_diagnosis_of,
    class_division,
    class_findings_of,
    class_histograms_of,
    class_leaves_of,
    class_partition_of,
    class_run_of,
    class_split_of,
    class_view_of,
    classes_of,
    many_classes,
    run_view_of,
    shown_partition_of,
)
from pages.shared.compute import column_scores_of, source_of
from pages.shared.flow import Flow
from pages.shared.jobs import finished_scores
from pages.shared.shown_class import ShownClass
from pages.shared.state import Workspace, is_column_scoring, workspace


@dataclass(frozen=True)
class ClassFlow(ShownClass, Flow):
    """The results for several classes; what `Flow` names are those of the class shown."""

    @cached_property
    def classes(self) -> Table:
        """The rows with all classes."""
        return classes_of(self.source, self.workspace.roles, self.workspace.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """All classes, in the order of the scores."""
        return self.classes.classes

    @cached_property
    def table(self) -> Table:
        """The rows, the class shown against all others."""
        return class_view_of(self.classes, self.number)

    @property
    def rows_digest(self) -> str:
        """Changes when the rows or the number of classes change."""
        return f"{super().rows_digest} {len(self.classes.classes)}"

    @cached_property
    def split(self) -> Split:
        """Train, validation, calibration and test rows, each class in every role."""
        return class_split_of(self.classes, self._division, self.progress)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a careful reader would remark about the data."""
        return class_findings_of(self.classes, self._division, self.progress)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Rows and classes per role."""
        return class_balance(self.classes, self.split)

    @cached_property
    def class_scores(self) -> Scores | None:
        """Log-probabilities of every row; None while a model has not been run on the rows."""
        scoring = self.workspace.scoring
        if is_column_scoring(scoring, len(self.class_names)):
            return column_scores_of(self.classes, scoring)
        if isinstance(scoring, ModelScoring):
            return finished_scores(self.rows_digest, scoring)
        return None

    @cached_property
    def scores(self) -> Scores | None:
        """The logit of the class shown against all others."""
        scores = self.class_scores
        return None if scores is None else class_view_of(scores, self.number)

    @cached_property
    def choice(self) -> Choice | None:
        """The maps that were chosen, where that is asked for."""
        if not choosing(self.workspace):
            return None
        asked = _growth(self.workspace.settings)
        return class_choice_of(self.classes, self.class_scores, asked, self.tree, self.progress)

    @cached_property
    def tree(self) -> Partition:
        """The loaded partition, or the tree grown on the training rows and all classes."""
        if self.workspace.partition is not None:
            return self.workspace.partition
        return class_partition_of(self.classes, _growth(self.workspace.settings), self.progress)

    @cached_property
    def partition(self) -> Partition:
        """The partition, with the rates of the class shown."""
        return shown_partition_of(self.classes, self.number, self.tree, self._division)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """Rule, rows and share of the class shown per leaf and role."""
        return class_leaves_of(self.classes, self.number, self.tree, self._division)

    @cached_property
    def class_run(self) -> ClassRun:
        """The whole run on all classes."""
        settings = _growth(self.workspace.settings)
        if not choosing(self.workspace):
            settings = replace(settings, calibrator=self.workspace.class_method)
        parts = self.classes, self.class_scores, settings, self.tree
        return class_run_of(*parts, self.choice, self.progress)

    @cached_property
    def run(self) -> Run:
        """The run as the class shown sees it."""
        return run_view_of(self.class_run, self.number, self.workspace.settings.min_rows)

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return class_diagnosis_of(self.run)

    @property
    def diagnosis_computed_on(self) -> str:
        """Whether the diagnosis comes from all rows or from a sketch, in a sentence."""
        return self.run.computed_on

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return class_histograms_of(self.run, axis, bins)

    @property
    def _division(self) -> Settings:
        return class_division(self.workspace.settings)


def partition_kind(settings: Settings) -> str:
    """Return the partition of the settings, or the recommended one if it is for two classes."""
    return settings.partition if settings.partition in FOR_CLASSES else "auto"


def choosing(here: Workspace) -> bool:
    """Tell whether the maps are to be chosen, which takes scores."""
    return here.partition is None and partition_kind(here.settings) == "auto"


def _growth(settings: Settings) -> Settings:
    """Keep what the partition depends on."""
    kind = partition_kind(settings)
    kept = {"columns": ("segments", "bins"), "tree": ("max_depth", "min_leaf")}.get(kind, ())
    asked = {name: getattr(settings, name) for name in kept}
    return replace(class_division(settings), partition=kind, **asked)


def current_flow(progress: Progress = silent) -> Flow:
    """Return the flow of the user's choices so far."""
    return flow_of(workspace(), progress)


def flow_of(here: Workspace, progress: Progress = silent) -> Flow:
    """Return the flow of a workspace, by the number of classes of its label."""
    roles = here.roles
    if here.files and roles is not None and roles.positive is None:
        source = source_of(here.files, progress)
        if roles.label in source.frame and many_classes(source, roles.label):
            return ClassFlow(here, progress)
    return Flow(here, progress)
