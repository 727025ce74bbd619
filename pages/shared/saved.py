"""A saved run on the pages: the results that follow from an artifact, without its table."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import streamlit as st

from hetcal.class_artifacts import ClassArtifact
from hetcal.histograms import ScoreHistograms, score_histograms
from hetcal.overconfidence import diagnose
from hetcal.partition import Partition
from hetcal.result_curves import Curves, result_curves
from hetcal.saved_cells import SavedScheme
from hetcal.saved_class_run import SavedClassRun, saved_class_run
from hetcal.saved_run import FROM_SKETCH, SavedRun, saved_run
from pages.shared.compute import artifact_of
from pages.shared.messages import plain
from pages.shared.once import once
from pages.shared.shown_class import ShownClass
from pages.shared.state import Workspace, close_saved


@dataclass(frozen=True)
class SavedFlow:
    """What `Flow` gives for a table, for a saved run."""

    workspace: Workspace

    @cached_property
    def _path(self) -> Path:
        return self.workspace.saved.path

    @property
    def _view(self) -> tuple[Path, int | None]:
        """The artifact, and which class is set against all others where there are several."""
        return self._path, None

    @cached_property
    def partition(self) -> Partition:
        """The partition of the run."""
        return artifact_of(self._path).partition

    @cached_property
    def run(self) -> SavedRun:
        """The run, with the least number of rows that is chosen now."""
        return saved_run_of(*self._view, self.workspace.settings.min_rows)

    @cached_property
    def choice(self) -> SavedScheme | None:
        """The scheme that calibrated in place of the maps of the leaves."""
        return self.run.choice

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return saved_diagnosis_of(*self._view)

    @property
    def diagnosis_computed_on(self) -> str:
        """What the diagnosis was computed on, in a sentence."""
        return FROM_SKETCH

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """Smallest and largest score that the histograms show."""
        edges = self.histograms("logit").edges
        return float(edges[0]), float(edges[-1])

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return saved_histograms_of(*self._view, axis, bins)

    @cached_property
    def curves(self) -> Curves:
        """ROC, precision-recall and reliability curves before and after."""
        return saved_curves_of(*self._view, self.workspace.settings.min_rows)


@dataclass(frozen=True)
class SavedClassFlow(ShownClass, SavedFlow):
    """The same for several classes; what `SavedFlow` names are those of the class shown."""

    @cached_property
    def class_run(self) -> SavedClassRun:
        """The run on all classes."""
        return saved_class_run_of(self._path)

    @property
    def class_names(self) -> tuple[str, ...]:
        """All classes, in the order of the scores."""
        return self.class_run.classes

    @cached_property
    def choice(self) -> SavedScheme | None:
        """The maps that were chosen."""
        return self.class_run.choice

    @property
    def _view(self) -> tuple[Path, int | None]:
        return self._path, self.number


def saved_flow(here: Workspace) -> SavedFlow:
    """Return the flow of a saved run, by the number of its classes."""
    several = isinstance(artifact_of(here.saved.path), ClassArtifact)
    return SavedClassFlow(here) if several else SavedFlow(here)


def saved_banner(workspace: Workspace) -> None:
    """Say that a saved run is shown, and offer to close it."""
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/folder_open: The saved run in **{plain(workspace.saved.name)}**, from the "
            "sketches of its rows; the table itself is not here."
        )
        st.button("Close it", icon=":material/close:", on_click=close_saved)


@once
def saved_class_run_of(path: Path) -> SavedClassRun:
    return saved_class_run(artifact_of(path))


@once
def saved_run_of(path: Path, number: int | None, min_rows: int) -> SavedRun:
    if number is None:
        return saved_run(artifact_of(path), min_rows)
    return saved_class_run_of(path).view(number, min_rows)


@once
def saved_diagnosis_of(path: Path, number: int | None) -> pd.DataFrame:
    run = saved_run_of(path, number, 0)
    return diagnose(run.cells.train, run.cells.test, run.partition.leaves)


@once
def saved_histograms_of(path: Path, number: int | None, axis: str, bins: int) -> ScoreHistograms:
    run = saved_run_of(path, number, 0)
    leaves = [each.id for each in run.partition.leaves]
    return score_histograms(run.cells.train, run.cells.test, leaves, axis=axis, bins=bins)


@once
def saved_curves_of(path: Path, number: int | None, min_rows: int) -> Curves:
    run = saved_run_of(path, number, min_rows)
    return result_curves(run.ways, run.evaluation)
