"""Runs: all that are kept and what becomes of them, to go on with, to rename and to delete."""

import streamlit as st

from hetcal.store.files import in_bytes
from hetcal.store.store import HOME, MOST_BYTES, OLD_DAYS
from pages.shared.display.compare import choose_runs
from pages.shared.display.messages import plain
from pages.shared.display.runs import kept_runs, show_run
from pages.shared.frame import open_page
from pages.shared.links import next_page, run_again
from pages.shared.state import current_run, delete_run, is_local, kept, store

FIRST = 20

open_page("Runs", "A run keeps what you gave and chose, and what was found: go on where you were.")
runs = kept_runs()
if not is_local():
    st.caption(
        "This server may have several users: only the runs that you have opened in this tab are "
        "listed. Keep the link of a run to find it again."
    )
if not runs:
    st.markdown("**There is no run yet.** One begins with a table, the demo or an artifact.")
    st.page_link("app.py", label="Begin one", icon=":material/play_circle:")
    st.stop()

more = len(runs) > FIRST and st.toggle(f"Show all {len(runs)} runs", **kept("runs_all"))
for run in runs if more else runs[:FIRST]:
    show_run(run)
st.page_link("app.py", label="Begin another run", icon=":material/add:")
choose_runs(runs)

if is_local():
    old = store().old()
    if old:
        st.subheader("Old runs", anchor=False)
        names = ", ".join(plain(each.name) for each in old)
        st.markdown(
            f"Not changed for {OLD_DAYS} days, or the oldest beyond {in_bytes(MOST_BYTES)} of all "
            f"runs together: {names} ({in_bytes(sum(each.size for each in old))})."
        )
        sure = st.checkbox(f"Delete {len(old)} old runs, their files and their results")
        if st.button("Delete old runs", icon=":material/delete:", disabled=not sure):
            for each in old:
                delete_run(each.id)
            run_again()
    st.caption(
        f"Runs are kept in the folder `{store().folder}`. To keep them elsewhere, set {HOME} to "
        "another folder before you start the app."
    )
if current_run() is not None:
    next_page("app.py", "Overview")
