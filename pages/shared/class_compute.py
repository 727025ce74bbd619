"""What follows from a workspace whose label has more than two values."""

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from hetcal.algorithm import split_table
from hetcal.checks import Finding
from hetcal.class_algorithm import choose_maps, finish_classes, grow_class_partition
from hetcal.class_auto import ClassChoice
from hetcal.class_checks import check_classes
from hetcal.class_partition import with_rates
from hetcal.class_run import ClassRun
from hetcal.class_scores import ClassScores
from hetcal.class_scoring import ClassColumnScoring, ClassModelScoring, score_classes
from hetcal.class_table import ClassTable, classes_by_role, has_many_classes, make_class_table
from hetcal.finished_run import Run
from hetcal.histograms import ScoreHistograms, score_histograms
from hetcal.leaves import leaf_table
from hetcal.overconfidence import diagnose
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.scores import Scores
from hetcal.settings import FOR_CLASSES, Settings
from hetcal.sources import Source
from hetcal.splits import Split
from hetcal.table import Roles, Table
from pages.shared.compute import source_of
from pages.shared.flow import Flow
from pages.shared.jobs import finished_scores
from pages.shared.once import once
from pages.shared.state import Workspace, workspace


@dataclass(frozen=True)
class ClassFlow(Flow):
    """The results for several classes; what `Flow` names are those of the class shown."""

    @cached_property
    def classes(self) -> ClassTable:
        """The rows with all classes."""
        return classes_of(self.source, self.workspace.roles, self.workspace.classes)

    @property
    def number(self) -> int:
        """Number of the class shown."""
        names, shown = self.classes.classes, self.workspace.class_shown
        return names.index(shown) if shown in names else 0

    @property
    def shown(self) -> str:
        """Name of the class shown."""
        return self.classes.classes[self.number]

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
        return classes_by_role(self.classes, self.split)

    @cached_property
    def class_scores(self) -> ClassScores | None:
        """Log-probabilities of every row; None while a model has not been run on the rows."""
        scoring = self.workspace.scoring
        if isinstance(scoring, ClassColumnScoring):
            return class_column_scores_of(self.classes, scoring)
        if isinstance(scoring, ClassModelScoring):
            return finished_scores(self.rows_digest, scoring)
        return None

    @cached_property
    def scores(self) -> Scores | None:
        """The logit of the class shown against all others."""
        scores = self.class_scores
        return None if scores is None else class_view_of(scores, self.number)

    @cached_property
    def choice(self) -> ClassChoice | None:
        """The maps that were chosen, where that is asked for."""
        if not choosing(self.workspace):
            return None
        asked = _growth(self.workspace.settings)
        return class_choice_of(self.classes, self.class_scores, asked, self.tree, self.progress)

    @property
    def one_map(self) -> bool:
        """Whether the choice is the same map for all rows, or none."""
        return self.choice is not None and not self.choice.divided

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

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return class_histograms_of(self.run, axis, bins)

    @property
    def _division(self) -> Settings:
        return _division(self.workspace.settings)


def _division(settings: Settings) -> Settings:
    """Keep what the roles of the rows depend on."""
    return Settings(fractions=settings.fractions, seed=settings.seed)


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
    return replace(_division(settings), partition=kind, **asked)


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


@once
def many_classes(source: Source, label: str) -> bool:
    return has_many_classes(source.frame, Roles(label))


@once
def classes_of(source: Source, roles: Roles, classes: tuple[str, ...] | None) -> ClassTable:
    return make_class_table(source.frame, roles, source.digest, classes)


@once
def class_view_of(whole: ClassTable | ClassScores, number: int) -> Table | Scores:
    return whole.view(number)


@once
def class_split_of(table: ClassTable, settings: Settings, _progress: Progress = silent) -> Split:
    _progress(0.0, "Dividing the rows")
    return split_table(table.table, settings, table.y)


@once
def class_findings_of(
    table: ClassTable, settings: Settings, _progress: Progress = silent
) -> tuple[Finding, ...]:
    return check_classes(table, class_split_of(table, settings), _progress)


@once
def class_column_scores_of(table: ClassTable, scoring: ClassColumnScoring) -> ClassScores:
    digest = f"{table.digest} {scoring}"
    return score_classes(table.table.frame, scoring, table.classes, digest)


@once
def class_partition_of(
    table: ClassTable, settings: Settings, _progress: Progress = silent
) -> Partition:
    split = class_split_of(table, _division(settings))
    return grow_class_partition(table, split, settings, _progress)


@once
def shown_partition_of(
    table: ClassTable, number: int, partition: Partition, settings: Settings
) -> Partition:
    view, rows = class_view_of(table, number), class_split_of(table, settings).train
    weight = None if view.weight is None else view.weight[rows]
    return with_rates(partition, view.frame.iloc[rows], view.y[rows], weight)


@once
def class_leaves_of(
    table: ClassTable, number: int, partition: Partition, settings: Settings
) -> pd.DataFrame:
    view, split = class_view_of(table, number), class_split_of(table, settings)
    leaf = partition.apply(view.frame)
    return leaf_table(partition, leaf, view.y, split, view.weight)


@once
def class_choice_of(
    table: ClassTable,
    scores: ClassScores,
    settings: Settings,
    partition: Partition,
    _progress: Progress = silent,
) -> ClassChoice:
    split = class_split_of(table, _division(settings))
    return choose_maps(table, scores, split, settings, partition, _progress)


@once
def class_run_of(
    table: ClassTable,
    scores: ClassScores,
    settings: Settings,
    partition: Partition,
    choice: ClassChoice | None,
    _progress: Progress = silent,
) -> ClassRun:
    split = class_split_of(table, _division(settings))
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
