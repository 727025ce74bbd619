"""A saved run on the pages: the results that follow from an artifact, without its table."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import streamlit as st

from hetcal.histograms import ScoreHistograms, score_histograms
from hetcal.overconfidence import diagnose
from hetcal.partition import Partition
from hetcal.result_curves import Curves, result_curves
from hetcal.saved_cells import SavedScheme
from hetcal.saved_run import SavedRun, saved_run
from pages.shared.compute import artifact_of
from pages.shared.messages import plain
from pages.shared.once import once
from pages.shared.state import Workspace, close_saved


@dataclass(frozen=True)
class SavedFlow:
    """What `Flow` gives for a table, for a saved run."""

    workspace: Workspace

    @cached_property
    def _path(self) -> Path:
        return self.workspace.saved.path

    @cached_property
    def partition(self) -> Partition:
        """The partition of the run."""
        return artifact_of(self._path).partition

    @cached_property
    def run(self) -> SavedRun:
        """The run, with the least number of rows that is chosen now."""
        return saved_run_of(self._path, self.workspace.settings.min_rows)

    @cached_property
    def choice(self) -> SavedScheme | None:
        """The scheme that calibrated in place of the maps of the leaves."""
        return self.run.choice

    @cached_property
    def diagnosis(self) -> pd.DataFrame:
        """How over-confident each leaf is."""
        return saved_diagnosis_of(self._path)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """Smallest and largest score that the histograms show."""
        edges = self.histograms("logit").edges
        return float(edges[0]), float(edges[-1])

    def histograms(self, axis: str, bins: int = 40) -> ScoreHistograms:
        """Score histograms of every leaf by role and label."""
        return saved_histograms_of(self._path, axis, bins)

    @cached_property
    def curves(self) -> Curves:
        """ROC, precision-recall and reliability curves before and after."""
        return saved_curves_of(self._path, self.workspace.settings.min_rows)


def saved_banner(workspace: Workspace) -> None:
    """Say that a saved run is shown, and offer to close it."""
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/folder_open: The saved run in **{plain(workspace.saved.name)}**, from the "
            "sketches of its rows; the table itself is not here."
        )
        st.button("Close it", icon=":material/close:", on_click=close_saved)


@once
def saved_run_of(path: Path, min_rows: int) -> SavedRun:
    return saved_run(artifact_of(path), min_rows)


@once
def saved_diagnosis_of(path: Path) -> pd.DataFrame:
    run = saved_run_of(path, 0)
    return diagnose(run.cells.train, run.cells.test, run.partition.leaves)


@once
def saved_histograms_of(path: Path, axis: str, bins: int) -> ScoreHistograms:
    run = saved_run_of(path, 0)
    leaves = [each.id for each in run.partition.leaves]
    return score_histograms(run.cells.train, run.cells.test, leaves, axis=axis, bins=bins)


@once
def saved_curves_of(path: Path, min_rows: int) -> Curves:
    run = saved_run_of(path, min_rows)
    return result_curves(run.ways, run.evaluation)
