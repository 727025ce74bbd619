"""The line at the top of every page: which run it is about, and what can be done with it."""

from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from hetcal.store.workspace import about
from pages.shared.display.messages import plain, show_error
from pages.shared.display.runs import facts_of, manage
from pages.shared.links import in_address
from pages.shared.state import current_run, undo, workspace

LONGEST = 40  # characters of a name, so that the line stays one at 800 pixels
WHO = "Whoever has this link and reaches this server can open, change and delete the run."


def run_line() -> None:
    """Say in one line which run a page is about; its name opens what can be done with it."""
    if "not_kept" in st.session_state:
        show_error(st.session_state.pop("not_kept"))
    run = current_run()
    if run is None:
        return
    _tell_undoable()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover(_short(run.name), type="tertiary", icon=":material/folder:"):
            if run.past:
                _offer_undo(run.past[-1][0])
            st.caption("Link to what you see here")
            st.code(_address(), language=None, wrap_lines=True)
            st.caption(WHO)
            manage(run, "header")
        shown = about(workspace())
        chosen = run.about.get("chosen") if shown["scheme"] == run.about.get("scheme") else None
        st.caption(facts_of({**run.about, **shown, "chosen": chosen}, run.name), width="content")


def _short(name: str) -> str:
    shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return f"**{plain(shown)}**"


def _tell_undoable() -> None:
    """Say once that something was replaced, and where that can be undone."""
    what = st.session_state.pop("undoable", None)
    if what is not None:
        words = f"You {plain(what)}. To undo that, open the name of the run at the top."
        st.toast(words, icon=":material/undo:")


def _offer_undo(what: str) -> None:
    st.caption(f"The latest change: you {plain(what)}.")
    st.button("Undo", icon=":material/undo:", on_click=undo)


def _address() -> str:
    parts = urlsplit(st.context.url or "")
    return urlunsplit((*parts[:3], urlencode(in_address()), ""))
