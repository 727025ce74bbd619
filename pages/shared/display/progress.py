"""How far work is: what is done now, the time left, and a way to cancel."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

import streamlit as st

from hetcal.data.columns import counted
from hetcal.errors import HetcalError
from hetcal.figures.training import training_figure
from hetcal.jobs.jobs import Job
from hetcal.progress import Progress, TimeLeft
from pages.shared.display.messages import plain
from pages.shared.display.widgets import PLAIN
from pages.shared.jobs import Unfinished, cancel, forget, jobs, open_jobs, was_cancelled
from pages.shared.links import run_again

PATIENCE = 0.4  # seconds without a bar; what ends before needs none
BETWEEN_LOOKS = 0.15  # seconds
BETWEEN_LISTS = 1.0


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Draw a progress bar, if the work takes long enough.

    Each time that the bar is drawn Streamlit ends the work if the user has left the page or has
    changed a control.
    """
    place, started, time_left = st.empty(), time.monotonic(), TimeLeft()
    # A cached function would draw again, on every later call, what was drawn inside it.
    outside = copy_context()

    def report(done: float, doing: str) -> None:
        left = time_left.after(done)
        if time.monotonic() - started > PATIENCE:
            outside.run(place.progress, *_bar(done, doing, left))

    try:
        yield report
    except (HetcalError, Unfinished):
        place.empty()
        raise
    place.empty()


def show_job(job: Job, instead: Callable[[], None] | None = None) -> None:
    """Show how far a job is, and run the page again when it has ended; or say what became of it.

    What can be done in place of a cancelled job, `instead` draws.
    """
    if job.open:
        st.session_state["waits"] = True
        list_jobs()
        on_this_page(_watch, BETWEEN_LOOKS)(job.key)
    elif was_cancelled(job):
        with st.container(border=True):
            st.markdown(
                f"**{plain(job.name)} was cancelled.** All that you entered is kept, and what was "
                "finished."
            )
            with st.container(horizontal=True):
                st.button(
                    "Start again",
                    type="primary",
                    icon=":material/refresh:",
                    on_click=forget,
                    args=(job.key,),
                )
                if instead is not None:
                    instead()
    else:
        run_again()


def offer_again(job: Job) -> None:
    """Offer to begin a job that has failed again."""
    st.button("Try again", icon=":material/refresh:", on_click=forget, args=(job.key,))


def on_this_page(look: Callable[..., None], seconds: float) -> Callable[..., None]:
    """Let a part of this page be drawn again every so many seconds.

    Streamlit tells such parts apart by name and place only. A late look from the page before would
    find the part of this page, draw it as one of that page, and end the looks of this one.
    """

    def own(*given: str) -> None:
        look(*given)

    own.__qualname__ = f"{look.__qualname__} {st.session_state['page']}"
    return st.fragment(own, run_every=seconds)


def _watch(key: str) -> None:
    job = jobs().find(key)
    if job is None or not job.open:
        run_again()
    with st.container(border=True):
        st.markdown(f"**{plain(job.name)}**")
        st.progress(*(_bar(job.done, job.doing, job.left) if job.doing else (0.0, _begins(job))))
        history = getattr(job.work, "history", None)
        if history is not None:
            learnt = training_figure(history)
            alt = "AUC on train and validation rows, epoch by epoch"
            st.plotly_chart(learnt, key="training_live", alt=alt, config=PLAIN)
        _cancel_button(job, getattr(job.work, "stop_words", "Cancel"), "stop_job")
        st.caption("It goes on when you leave this page.")


def list_jobs() -> None:
    """List the jobs of this run in the sidebar, once per page, while there are any."""
    if open_jobs() and not st.session_state.get("jobs_listed"):
        st.session_state["jobs_listed"] = True
        with st.sidebar:
            on_this_page(_listed, BETWEEN_LISTS)()


def _listed() -> None:
    mine = open_jobs()
    if not mine:
        if st.session_state["waits"]:  # and may have lost its own look
            run_again()
        return
    st.caption("Jobs")
    for job in mine:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            left = f" · {job.left}" if job.left else ""
            now = "waiting" if job.state == "queued" else f"{job.done:.0%}{left}"
            st.markdown(f":small[{plain(job.name)}]  \n:small[:gray[{now}]]", width="stretch")
            _cancel_button(job, "", f"cancel {job.key}")
    others = sum(1 for each in jobs().before(mine[0]) if each.owner != mine[0].owner)
    if others:
        st.caption(f"{counted(others, 'job')} of others before yours")


def in_words(job: Job) -> str:
    """Say what a job does, or what became of one that has not found its result."""
    name = plain(job.name)
    if job.open:
        return f"{name}: {_bar(job.done, job.doing, job.left)[1] if job.doing else _begins(job)}"
    if job.state == "failed":
        return f"{name} failed: {plain(job.error.wrong)}"
    return f"{name} was cancelled"


def _begins(job: Job) -> str:
    before = len(jobs().before(job))
    return f"Waiting for {counted(before, 'other job')} …" if before else "Starting …"


def _cancel_button(job: Job, label: str, key: str) -> None:
    st.button(
        label,
        key=key,
        icon=":material/stop_circle:" if label else ":material/close:",
        help=None if label else f"Cancel: {plain(job.name)}",
        type="secondary" if label else "tertiary",
        disabled=job.cancelled,
        on_click=cancel,
        args=(job,),
    )


def _bar(done: float, doing: str, left: str) -> tuple[float, str]:
    share = min(max(done, 0.0), 1.0)
    return share, f"{plain(doing)} … {share:.0%}{left and f', {left}'}"
