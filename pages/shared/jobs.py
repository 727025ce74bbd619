"""Work beside the pages: what a run has found, and jobs that find what it has not."""

import copy
import os
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from hetcal.errors import JobError
from hetcal.jobs.jobs import MOST, Job, Jobs, Work
from hetcal.jobs.process import keep_ready
from hetcal.models.process import keep_spare
from hetcal.runs.settings import ENSEMBLES
from hetcal.store.keys import key_of
from hetcal.store.store import StoredRun
from hetcal.store.work import verdict_call
from pages.shared.state import current_run, is_local

SOON = 0.8  # seconds that a page waits for new work before it shows how far that is
REST = 20.0  # seconds after which the next process is made ready: until then somebody waits
AHEAD = "ahead"  # the kind of a choice that begins before the scores are there
TRAINING = "training"  # the key of the one training of a run; each replaces the one before


class Unfinished(Exception):  # noqa: N818 - it is no error
    """A result is not there yet: its job waits, works, or was cancelled."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.name)
        self.job = job


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def jobs() -> Jobs:
    """Return the jobs of all users of this server; `HETCAL_JOBS` of them run at a time.

    Where others may use the server, too, nobody takes all places.
    """
    keep_ready(REST)
    keep_spare(REST)
    most = int(os.environ.get("HETCAL_JOBS") or MOST)
    return Jobs(most, most if is_local() else max(most - 1, 1))


def found_beside(
    key: str,
    name: str,
    work: Callable[[StoredRun], Work],
    run: StoredRun | None = None,
    ahead: str = "",
    meanwhile: Callable[[Job], None] | None = None,
) -> Any:
    """Return what the run has found under this key, or have it found beside the pages.

    A job with the key `ahead` may have begun to find it before all was known that it depends on.
    Where a job begins here, `meanwhile` may begin another that it does not hold up.

    Raises
    ------
    Unfinished
        While the job that finds it has not ended, or if it was cancelled.
    HetcalError
        What the job raised; the `Unfinished` that it comes from knows the job.
    """
    run = run or current_run()
    found = run.result(key)
    if found is not None:
        return found
    begun = jobs().find(f"{run.id} {ahead}")
    if begun is not None and (begun.open or begun.cancelled):
        begun.wait(SOON)
        found = run.result(key)
        if found is not None:
            return found
        raise Unfinished(begun)
    job = ask(key, name, work, run, meanwhile)
    if job.state == "failed":
        raise copy.copy(job.error) from Unfinished(job)
    if job.state != "done":
        raise Unfinished(job)
    found = run.result(key)
    if found is None:
        forget(job.key)
        raise JobError(
            f"{name} has ended, but what it found cannot be read.",
            "Results are kept in the folder of runs.",
            "Try again; see that nothing else changes that folder.",
        )
    return found


def ask(
    key: str,
    name: str,
    work: Callable[[StoredRun], Work],
    run: StoredRun,
    meanwhile: Callable[[Job], None] | None = None,
) -> Job:
    """Return the job of a run with this key, whatever became of it, or begin one.

    Raises
    ------
    Unfinished
        If the work before was cancelled as it ended: what it found is kept, nothing follows it.
    """
    whole = f"{run.id} {key}"
    job = jobs().find(whole)
    if job is None or (job.state == "done" and not run.has_result(key)):
        if key != TRAINING:
            _heed_late_cancel(run)
        _end_before(run, whole)
        job = jobs().ask(whole, name, run.id, work(run), _session())
        if meanwhile is not None:
            meanwhile(job)
        job.wait(SOON)
    return job


def begin_ahead(key: str, name: str, work: Callable[[StoredRun], Work]) -> None:
    """Begin work before all that it depends on is there, unless the user has cancelled it."""
    run = current_run()
    whole = f"{run.id} {key}"
    begun = jobs().find(whole)
    if begun is None or not (begun.open or begun.cancelled):
        _end_before(run, whole)
        jobs().ask(whole, name, run.id, work(run), _session())


def _end_before(run: StoredRun, key: str) -> None:
    """End what the settings no longer ask for; another tab may show the run with other ones."""
    for each in jobs().of(run.id):
        replaced = each.open and each.user == _session() and _kind(each.key) == _kind(key)
        if each.key == key or replaced:
            forget(each.key)


def find_verdict_beside(run: StoredRun) -> None:
    """Have a run listed by its verdict that nobody has looked at since its scheme was found.

    It is tried once for what the run has found so far.
    """
    about, found = run.about, run.kept_results("scheme")
    waits_for_scheme = about.get("scheme") in ENSEMBLES and not found
    known = "verdict" in about or not about.get("model") or about.get("saved")
    if known or waits_for_scheme or any(each.open for each in jobs().of(run.id)):
        return
    key = f"{run.id} {key_of('verdict', run.revision, found, run.kept_results('scores'))}"
    if jobs().find(key) is None:
        jobs().ask(key, "Finding the verdict", run.id, verdict_call(run), _session())


def _session() -> str:
    """Return what stands for the user: the tab of a browser."""
    session = get_script_run_ctx()
    return "" if session is None else session.session_id


def _heed_late_cancel(run: StoredRun) -> None:
    for each in jobs().of(run.id):
        if was_cancelled(each) and run.has_result(each.key.split()[-1]):
            raise Unfinished(each)


def was_cancelled(job: Job) -> bool:
    """Whether nobody wants what follows from a job; a training that was stopped has its network."""
    late = job.cancelled and job.state == "done" and not _is_training(job)
    return late or job.state == "cancelled"


def cancel(job: Job) -> None:
    """End a job; where it has ended by the time of the click, end what it was needed for.

    What the user wants to stop is all that follows from one click.
    """
    after = [each for each in open_jobs() if not _is_training(each)]
    for each in [job] if job.open or not after else after:
        each.cancel()


def forget(key: str) -> None:
    """Let a job begin again, if it is asked for; one that has not ended is cancelled."""
    jobs().forget(key)


def let_begin_again(key: str) -> None:
    """Let work of this run that has failed or was cancelled begin again."""
    job = jobs().find(f"{current_run().id} {key}")
    if job is not None and not job.open:
        forget(job.key)


def end_jobs(number: str) -> None:
    """End all jobs of a run that is to be deleted."""
    for each in jobs().of(number):
        forget(each.key)


def _is_training(job: Job) -> bool:
    return job.key.endswith(f" {TRAINING}")


def _kind(key: str) -> str:
    kind = key.split()[-1].split("-")[0]
    return "scheme" if kind == AHEAD else kind


def open_jobs() -> list[Job]:
    """Return the jobs of this run that have not ended."""
    run, known = current_run(), jobs()  # processes are made ready before there is a run
    return [] if run is None else [each for each in known.of(run.id) if each.open]


def training_job() -> Job | None:
    """Return the training of this run, if one runs or has failed."""
    run = current_run()
    return None if run is None else jobs().find(f"{run.id} {TRAINING}")
