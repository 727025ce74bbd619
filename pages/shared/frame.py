"""What all pages have: title, menu, error messages, and a note on what is still missing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import streamlit as st

from hetcal.errors import HetcalError
from hetcal.runs.settings import CHOOSING
from pages.shared.controls.data import assume_roles
from pages.shared.controls.partition import undecided
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import shown_progress
from pages.shared.display.widgets import class_picker
from pages.shared.flow.flow import Flow, current_flow
from pages.shared.jobs import collect_job, job_running, watch_job
from pages.shared.state import (
    cancel,
    change_settings,
    close_saved,
    is_cancelled,
    resume,
    workspace,
)

PAGES = (
    ("app.py", "Overview", ":material/home:"),
    ("pages/data.py", "Data", ":material/table:"),
    ("pages/scores.py", "Scores", ":material/speed:"),
    ("pages/partition.py", "Partition", ":material/account_tree:"),
    ("pages/overconfidence.py", "Over-confidence", ":material/bar_chart:"),
    ("pages/calibration.py", "Calibration", ":material/tune:"),
    ("pages/results.py", "Results", ":material/trending_up:"),
    ("pages/export.py", "Export", ":material/download:"),
)
SIDEBAR_WIDTH = 240  # pixels; the default leaves charts too little room in a narrow window

# Streamlit looks for garbage after every run of a page, while the browser waits for its charts.
# What has been imported by now stays anyway: looking through it takes five times as long.
gc.freeze()

ICON = Path(__file__).with_name("icon.png")  # one by name would be fetched from the internet


def open_page(title: str, lead: str) -> None:
    """Draw the frame: the same for a click in the menu and for a deep link."""
    st.set_page_config(
        page_title=f"{title} · hetcal",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state=SIDEBAR_WIDTH,
    )
    with st.sidebar:
        st.markdown("### hetcal")
        st.caption("A lift you can trust, leaf by leaf")
        for path, name, icon in PAGES:
            st.page_link(path, label=name, icon=icon, width="stretch")
    st.title(title, anchor=False)
    st.markdown(lead)
    collect_job()


def need_table() -> Flow:
    """Return the flow if there is a table with valid roles; otherwise say what to do."""
    if workspace().saved is not None:
        _saved_banner()
        _missing("A saved run has no table.", "pages/data.py", "Choose a table")
    if not workspace().files:
        _missing("There is no table yet.", "pages/data.py", "Choose a table")
    with shown_errors("pages/data.py", "Go to Data"), shown_progress() as progress:
        assume_roles(Flow(workspace(), progress).source)  # Data may have been left before it did
        _ = current_flow(progress).split
    flow = current_flow()
    class_picker(flow.classes)
    return flow


def need_scores(flow: Flow | None = None) -> Flow:
    """Return the flow if the rows have scores; otherwise say what to do."""
    flow = flow or need_table()
    with shown_errors("pages/scores.py", "Go to Scores"):
        missing = flow.scores is None
    if missing and job_running():
        watch_job()
        st.stop()
    if missing:
        _missing("The rows have no scores yet.", "pages/scores.py", "Choose where scores come from")
    return flow


def need_run() -> Flow:
    """Return the flow after the whole algorithm has run."""
    need_scores()
    to_choose = undecided()
    if to_choose is not None:
        _missing(to_choose, "pages/partition.py", "Go to Partition")
    need_partition("pages/partition.py", "Go to Partition")
    return need_evaluation()


def need_partition(page: str | None = None, label: str = "") -> Flow:
    """Return the flow after rows were divided and a scheme found, unless that was cancelled.

    An error has a link to the page where it can be corrected.
    """
    with shown_errors(page, label):
        flow = current_flow()
        if flow.choosing:
            _find_scheme(flow.trial_digest)
        with shown_progress() as progress:
            _ = current_flow(progress).leaves
    return current_flow()


def _find_scheme(digest: str) -> None:
    if is_cancelled(digest):
        _say_cancelled()
    with shown_progress(partial(cancel, digest)) as progress:
        _ = current_flow(progress).choice


def need_evaluation() -> Flow:
    """Return the flow after the scheme or the maps were evaluated."""
    with shown_errors("pages/scores.py", "Go to Scores"), shown_progress() as progress:
        _ = current_flow(progress).run
    return current_flow()


def _say_cancelled() -> None:
    """Say that no scheme was found because the user wanted so, and how to go on."""
    named = current_flow().settings.partition not in CHOOSING
    what, again = ("Fitting the", "Fit the") if named else ("Choosing a", "Choose a")
    with st.container(border=True):
        st.markdown(f"**{what} scheme was cancelled.** All that you entered is kept.")
        with st.container(horizontal=True):
            st.button(f"{again} scheme", type="primary", icon=":material/refresh:", on_click=resume)
            st.button(
                "Use the paper's one tree instead",
                icon=":material/account_tree:",
                on_click=change_settings,
                kwargs={"partition": "tree", "take": None},
            )
    st.stop()


def need_results() -> Flow:
    """Return the flow of the current run, or of the saved run that was opened."""
    if workspace().saved is None:
        return need_run()
    _saved_banner()
    with shown_errors("pages/export.py", "Go to Export"):
        class_picker(current_flow().classes)
        flow = current_flow()
        _ = flow.run
    return flow


def _saved_banner() -> None:
    """Say that a saved run is shown, and offer to close it."""
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/folder_open: The saved run **{plain(workspace().saved.name)}**, shown from "
            "sketches of its rows, without its table."
        )
        st.button("Close", icon=":material/close:", on_click=close_saved)


@contextmanager
def shown_errors(page: str | None = None, label: str = "") -> Iterator[None]:
    """Show an error of hetcal, with a link to the page where it can be corrected, and stop."""
    try:
        yield
    except HetcalError as error:
        show_error(error)
        if page is not None:
            st.page_link(page, label=label, icon=":material/arrow_forward:")
        st.stop()


def _missing(what: str, page: str, label: str) -> None:
    with st.container(border=True):
        st.markdown(f"**{what}**")
        st.page_link(page, label=label, icon=":material/arrow_forward:")
        st.page_link("app.py", label="Or start with the demo", icon=":material/play_circle:")
    st.stop()
