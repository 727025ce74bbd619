"""What all pages have: title, menu, error messages, and a note on what is still missing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from hetcal.errors import HetcalError
from pages.shared.controls.data import assume_roles
from pages.shared.controls.partition import undecided
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import list_jobs, offer_again, show_job, shown_progress
from pages.shared.display.widgets import class_picker
from pages.shared.flow.compute import CHOOSING_JOB, FITTING_JOB
from pages.shared.flow.flow import Flow, current_flow
from pages.shared.flow.training import collect_network
from pages.shared.header import run_line
from pages.shared.jobs import Unfinished
from pages.shared.links import follow_address, page_link, write_address
from pages.shared.marks import mark_menu
from pages.shared.state import change_settings, close_saved, leave_run, workspace

PAGES = (
    ("app.py", "Overview", ":material/home:"),
    ("pages/data.py", "Data", ":material/table:"),
    ("pages/scores.py", "Scores", ":material/speed:"),
    ("pages/partition.py", "Partition", ":material/account_tree:"),
    ("pages/overconfidence.py", "Over-confidence", ":material/bar_chart:"),
    ("pages/calibration.py", "Calibration", ":material/tune:"),
    ("pages/results.py", "Results", ":material/trending_up:"),
    ("pages/export.py", "Export", ":material/download:"),
    ("pages/watch.py", "Watch", ":material/monitor_heart:"),
    ("pages/runs.py", "Runs", ":material/folder:"),
    ("pages/learn.py", "Learn", ":material/school:"),
)
SIDEBAR_WIDTH = 240  # pixels; the default leaves charts too little room in a narrow window
CONTENT_WIDTH = 1180  # pixels; longer lines are hard to read
CARD_WIDTH = 210  # pixels: "0.5457 → 0.4770" fits
FOUR_CARDS = 1290  # pixels of a window in which four of them stand in a row
NARROW = 900  # pixels of a window in which charts stand below each other
# Streamlit's wide layout has no largest width, and keeps columns side by side down to 640 pixels.
# Cards have equal widths: four in a row, or two by two, of which a last single one fills its row.
CARD = ':has(> [data-testid="stMetric"])'
STYLE = f"""<style>
[data-testid="stMainBlockContainer"] {{max-width: calc({CONTENT_WIDTH}px + 10rem)}}
[data-testid="stHorizontalBlock"]:has(> * > [data-testid="stMetric"]) {{
    display: grid; grid-template-columns: repeat(auto-fit, minmax({CARD_WIDTH}px, 1fr));
}}
[data-testid="stHorizontalBlock"] > {CARD} {{width: auto; max-width: none}}
[data-testid="stPlotlyChart"] [class$="tick"] text,
:is([class*="_ladder_"], [class*="_leaves "]) .annotation text {{
    fill: currentColor !important;
}}
.st-key-next a {{border: 1px solid rgba(128, 128, 128, 0.4); padding: 0.4rem 0.9rem}}
@media (max-width: {NARROW}px) {{
    [data-testid="stColumn"]:has([data-testid="stPlotlyChart"]),
    .st-key-conditions [data-testid="stColumn"] {{min-width: 100%}}
}}
@media (max-width: {FOUR_CARDS}px) {{
    [data-testid="stHorizontalBlock"]:has(> * > [data-testid="stMetric"]) {{
        grid-template-columns: 1fr 1fr;
    }}
    [data-testid="stHorizontalBlock"] > {CARD}:last-child:nth-child(odd) {{grid-column: 1 / -1}}
}}
[data-testid="stHorizontalBlock"] > {CARD}:last-child:nth-child(4n + 5) {{grid-column: 1 / -1}}
</style>"""

# Streamlit looks for garbage after every run of a page, while the browser waits for its charts.
# What has been imported by now stays anyway: looking through it takes five times as long.
gc.freeze()

ICON = Path(__file__).with_name("icon.png")  # one by name would be fetched from the internet


def open_page(title: str, lead: str = "") -> None:
    """Draw the frame: the same for a click in the menu and for a deep link."""
    st.set_page_config(
        page_title=f"{title} · hetcal",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state=SIDEBAR_WIDTH,
    )
    st.html(STYLE)
    lost = _lost(title)
    with st.sidebar:
        st.markdown("### hetcal")
        st.caption("A lift you can trust, leaf by leaf")
        for path, name, icon in PAGES:
            page_link(path, name, icon, width="stretch")
        write_address()
    mark_menu()
    run_line()
    st.title(title, anchor=False)
    if lost is not None:
        show_error(lost)
        for path, name, icon in (PAGES[0], PAGES[-2]):
            page_link(path, name, icon)
        st.stop()
    if lead:
        st.markdown(lead)
    st.session_state.update(jobs_listed=False, waits=False)
    collect_network()
    list_jobs()


def _lost(title: str) -> HetcalError | None:
    """Take up the run of the address; return why that cannot be done."""
    try:
        follow_address(title)
    except HetcalError as error:
        leave_run()
        return error
    return None


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
    with shown_errors(page, label), shown_progress() as progress:
        flow = current_flow(progress)
        _ = flow.choice, flow.leaves
    return current_flow()


def need_evaluation() -> Flow:
    """Return the flow after the scheme or the maps were evaluated."""
    with shown_errors("pages/scores.py", "Go to Scores"), shown_progress() as progress:
        _ = current_flow(progress).run
    return current_flow()


def _offer_one_tree() -> None:
    """Offer what takes less time in place of a choice that was cancelled."""
    st.button(
        "Use the paper's one tree instead",
        icon=":material/account_tree:",
        on_click=change_settings,
        kwargs={"partition": "tree", "take": None},
    )


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
    """Show an error of hetcal, with a link to the page where it can be corrected, and stop.

    Where a job has not ended, show how far it is.
    """
    try:
        yield
    except Unfinished as unfinished:
        scheme = unfinished.job.name in (CHOOSING_JOB, FITTING_JOB)
        show_job(unfinished.job, _offer_one_tree if scheme else None)
        st.stop()
    except HetcalError as error:
        show_error(error)
        if isinstance(error.__cause__, Unfinished):
            offer_again(error.__cause__.job)
        if page is not None:
            page_link(page, label)
        st.stop()


def _missing(what: str, page: str, label: str) -> None:
    with st.container(border=True):
        st.markdown(f"**{what}**")
        page_link(page, label)
        page_link("app.py", "Or start with the demo", ":material/play_circle:")
    st.stop()
