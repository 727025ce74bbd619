"""Jobs in a child process, watched by a page: scoring with a model, training a network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from hetcal.data.scores import Scores
from hetcal.data.splits import Split
from hetcal.data.table import Table
from hetcal.errors import HetcalError
from hetcal.figures.training import training_figure
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.network import NetworkSettings
from hetcal.models.scoring import ModelScoring, ScoringJob, start_scoring
from hetcal.models.training import TrainedNetwork, TrainingJob, start_training
from hetcal.progress import duration_in_words
from pages.shared.display.messages import show_error
from pages.shared.display.progress import cancel_button
from pages.shared.state import keep_file, update, workspace

SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Watched:
    """A job, how to draw its progress, and what to do with its result."""

    job: ScoringJob | TrainingJob
    draw: Callable[[Any], None]
    finish: Callable[[Any], None]
    cancel_label: str


@st.cache_resource(scope="session", show_spinner=False)
def _known_scores() -> dict[object, Scores]:
    """Scores of this session, computed once per model, columns and table content."""
    return {}


def finished_scores(rows_digest: str, scoring: ModelScoring) -> Scores | None:
    """Return the model's scores of the rows, if it has been run on them."""
    return _known_scores().get((rows_digest, scoring))


def start_scoring_job(table: Table, rows_digest: str, scoring: ModelScoring) -> None:
    """Run the model on every row, unless its scores are known."""
    key = (rows_digest, scoring)
    if key in _known_scores():
        return
    job = start_scoring(
        scoring.model,
        table.frame,
        scoring.inputs,
        classes=len(table.classes),
        output=scoring.output,
        positive_unit=scoring.positive_unit,
        layer=scoring.layer,
    )
    known = _known_scores()

    def finish(scores: Scores) -> None:
        known[key] = scores

    _watch(Watched(job, _draw_scoring, finish, "Cancel"))


def start_training_job(
    table: Table, rows_digest: str, split: Split, settings: NetworkSettings
) -> None:
    """Train the paper's network, then score every row with it."""

    def finish(network: TrainedNetwork) -> None:
        model = inspect_model(keep_file(network.content, ".keras"), name="the trained network")
        scoring = ModelScoring(model, suggest_inputs(model, list(table.frame.columns)))
        update(network=network, model=model, scoring=scoring)
        start_scoring_job(table, rows_digest, scoring)

    job = start_training(table.X, table.y, split, settings, table.weight)
    _watch(Watched(job, _draw_training, finish, "Stop and keep the best epoch so far"))


def job_running() -> bool:
    """Whether a job is still running."""
    return "job" in st.session_state


def collect_job() -> None:
    """Take the result of a job that has ended, whichever page is open.

    A whole run of the page does this, not the fragment that looks at the job: while a
    fragment is busy, its next look can undo a click on the menu.
    """
    watched: Watched | None = st.session_state.get("job")
    if watched is None or watched.job.running:
        return
    del st.session_state["job"]
    try:
        watched.finish(watched.job.result())
    except HetcalError as error:
        st.session_state["job_error"] = error, workspace().scoring


def watch_job() -> None:
    """Show the progress of the running job, or why the last one failed."""
    if job_running():
        _look()
    elif "job_error" in st.session_state:
        error, scoring = st.session_state["job_error"]
        if scoring == workspace().scoring:  # other scores have nothing to do with it
            show_error(error)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _look() -> None:
    watched: Watched | None = st.session_state.get("job")
    if watched is None:
        return
    if not watched.job.running:
        st.rerun()
    box = st.container(border=True)
    with box:
        watched.draw(watched.job)
    cancel_button(box, watched.cancel_label, watched.job.cancel)


def _watch(watched: Watched) -> None:
    st.session_state.pop("job_error", None)
    st.session_state["job"] = watched


def _draw_scoring(job: ScoringJob) -> None:
    progress = job.progress()
    if progress is None:
        st.progress(0.0, "Starting the model in a separate process …")
    else:
        left = duration_in_words(progress.seconds_left)
        text = f"{progress.rows_done:,} of {progress.rows:,} rows scored, {left} left"
        st.progress(progress.fraction, text)


def _draw_training(job: TrainingJob) -> None:
    progress = job.progress()
    if progress is None:
        st.progress(0.0, "Starting Keras in a separate process …")
        return
    left = "stopping" if job.cancelled else f"{duration_in_words(progress.seconds_left)} left"
    st.progress(progress.fraction, f"{progress.epoch} of {progress.epochs} epochs done, {left}")
    if progress.epoch:
        st.plotly_chart(training_figure(job.history()), key="training_live")
