"""The address is the run: its id, and the leaf, the class and the scheme that are shown."""

import json
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

from hetcal.choices import RUNGS
from hetcal.runs.settings import PARTITIONS
from pages.shared.state import current_run, leave_run, look, open_run, refresh, store, workspace

START = "Overview"
"""The page that, without a run in its address, offers to begin one."""

# Setting `st.query_params` adds an entry to the history of the browser. So only the run is set that
# way, and a link to a page carries only the run; the rest is written over the entry that is there.
WRITE = """<script>
if (new URLSearchParams(location.search).get("run") === {run}) {{
    history.replaceState(history.state, "", location.pathname + "?" + {query} + location.hash);
}}
// {count}
</script>"""


def page_link(page: str, label: str, icon: str = ":material/arrow_forward:", **look: Any) -> None:
    """Link to a page of this run."""
    st.page_link(page, label=label, icon=icon, query_params=run_query(), **look)


def next_page(page: str, name: str) -> None:
    """Lead on to the page that comes next."""
    with st.container(key="next", horizontal=True, horizontal_alignment="right"):
        page_link(page, f"Next: {name}", icon_position="right")


def run_again() -> NoReturn:
    """Draw the page again, unless the user has clicked meanwhile: then what was clicked is drawn.

    `st.rerun` alone takes the place of a click on another page that waits for this script.
    """
    st.empty()  # where Streamlit looks for clicks
    st.rerun()


def run_query() -> dict[str, str] | None:
    """Return what the address of every page of this run has."""
    run = current_run()
    return None if run is None else {"run": run.id}


def follow_address(page: str) -> None:
    """Show what the address says, if the browser has opened another one.

    It has if the run in the address is not the one that this session wrote there last. What else
    stands in the address counts on another page, in another run and in a new session only: between
    two clicks on one page it may be older than the latest click.
    """
    store()  # a folder that cannot be used is said on every page
    given, number = st.query_params.to_dict(), st.query_params.get("run")
    here = run_query() or {"run": None}
    opened = number not in (st.session_state.get("address"), here["run"])
    if opened and number is not None:
        st.session_state["address"] = number  # if it cannot be opened, that is said once
        open_run(number)
    elif opened and page == START:
        leave_run()
    else:
        refresh()
    run = current_run()
    if run is not None and (opened or st.session_state.get("page") != page):
        look(**_read(given))
    st.session_state["page"] = page
    st.session_state["address"] = None if run is None else run.id
    if run is None and number is not None:
        st.query_params.clear()
    elif run is not None and run.id != number:
        st.query_params.from_dict({"run": run.id})


def _read(given: dict[str, str]) -> dict[str, Any]:
    """Read leaf, class and scheme; what nobody could have written is left out."""
    found: dict[str, Any] = {}
    if given.get("leaf", "").removeprefix("-").isdecimal():  # branches are below 0
        found["leaf"] = int(given["leaf"])
    if "class" in given:
        found["class_shown"] = given["class"]
    partition, _, take = given.get("scheme", "").partition(":")
    if partition in PARTITIONS and (not take or take in RUNGS):
        found["scheme"] = {"partition": partition, "take": take or None}
    return found


def write_address() -> None:
    """Write what is shown into the address, without another entry in the browser's history."""
    run = current_run()
    if run is None:
        return
    count = st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    # A script is run again only if it has changed.
    query = urlencode(in_address())
    script = WRITE.format(run=json.dumps(run.id), query=json.dumps(query), count=count)
    st.html(script, unsafe_allow_javascript=True)


def in_address() -> dict[str, str]:
    """Return what the address of this view has: the run, the leaf, the class and the scheme."""
    here = workspace()
    found = {**(run_query() or {}), "leaf": str(here.leaf)}
    if here.class_shown is not None:
        found["class"] = here.class_shown
    if here.partition is None and here.saved is None:
        take = here.settings.take
        found["scheme"] = here.settings.partition + (f":{take}" if take else "")
    return found
