"""Kept runs, listed by a few facts, and what a finished one is listed by."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from hetcal.choices import plain_name
from hetcal.results.words import SCORE_FINDINGS
from hetcal.runs.run import Run
from hetcal.store.files import in_bytes
from hetcal.store.finished import found_before, found_facts, keep_compared
from hetcal.store.store import StoredRun
from pages.shared.display.messages import plain
from pages.shared.display.progress import BETWEEN_LISTS, in_words
from pages.shared.flow.flow import Flow
from pages.shared.jobs import end_jobs, find_verdict_beside, jobs, was_cancelled
from pages.shared.links import run_again
from pages.shared.marks import mark_menu
from pages.shared.state import (
    current_run,
    delete_run,
    is_draft,
    is_local,
    keep_facts,
    opened_here,
    rename,
    shows_other_scheme,
    store,
    told_next,
)

LATEST = 3
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def note_results(flow: Flow) -> None:
    """List the run by what was found, and keep what a comparison with others needs."""
    kept, found = current_run(), flow.whole
    if kept is None or shows_other_scheme():
        return
    key = kept.id, found.digest if isinstance(found, Run) else None
    if "lift" in kept.about and st.session_state.get("noted") == key:
        return
    with told_next():
        keep_facts(**found_facts(found), marked=_marked(flow))
        if isinstance(found, Run):  # a saved one has no rows to compare
            keep_compared(kept, found, flow.named)
        st.session_state["noted"] = key
    mark_menu()


def _marked(flow: Flow) -> list[str]:
    """Name the pages that tell what is wrong with the model."""
    if any(each.code in SCORE_FINDINGS for each in flow.whole.findings):
        return ["scores", "overconfidence"]
    sure = not flow.classes and flow.conditions[0].level == "holds"
    return ["overconfidence"] if sure else []


def facts_of(about: Mapping[str, Any], name: str) -> str:
    """Write table, rows, model or score column, label and scheme, as far as they are known.

    A table that stands in the name of the run is not repeated.
    """
    table, saved = about.get("table") or about.get("saved") or "", about.get("saved")
    label, positive, rows = (about.get(name) for name in ("label", "positive", "rows"))
    scheme = about.get("chosen") or (None if saved else about.get("scheme"))
    found = (
        None if name.startswith(table) else table,
        None if rows is None else f"{rows:,} rows",
        about.get("model"),
        label if positive is None else f"{label} = {positive}",
        scheme and plain_name(scheme),
    )
    return " · ".join(plain(each) for each in found if each)


def kept_runs() -> list[StoredRun]:
    """Return the runs that may be listed: all on one's own machine, elsewhere those opened here."""
    mine = opened_here()
    return [
        each for each in store().all() if not is_draft(each) and (is_local() or each.id in mine)
    ]


def go_on() -> None:
    """Link to the latest runs."""
    runs = kept_runs()[:LATEST]
    if not runs:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Go on with**", width="content")
        for each in runs:
            link_to(each, f"{plain(each.name)} ({ago(each.changed)})")


def show_run(run: StoredRun) -> None:
    """Show a run in a few lines, with a link to it and what can be done with it."""
    about = run.about
    here = current_run()
    with st.container(border=True, gap=None):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            shown = " (shown now)" if here is not None and here.id == run.id else ""
            link_to(run, f"**{plain(run.name)}**{shown}")
            with st.popover("Rename or delete", type="tertiary"):
                manage(run, "listed")
        st.caption(facts_of(about, run.name))
        find_verdict_beside(run)
        works = any(each.open for each in jobs().of(run.id))
        tell = st.fragment(_tell_state, run_every=BETWEEN_LISTS) if works else _tell_state
        tell(run, works)


def _tell_state(run: StoredRun, works: bool) -> None:
    """Say what becomes of a run; draw the page again when the last of its jobs has ended."""
    about, mine = run.about, jobs().of(run.id)
    waits = [each for each in mine if each.open]
    if works and not waits:
        run_again()
    if waits:
        state = "; ".join(map(in_words, waits))
    elif "verdict" in about:
        lift = f"AUC {about['before']:.3f} → {about['after']:.3f} ({about['lift']:+.3f})"
        state = f"{plain(about['verdict'])}: {lift}"
    else:
        ended = [each for each in mine if each.state == "failed" or was_cancelled(each)]
        state = in_words(ended[-1]) if ended else found_before(run) or "not finished"
    st.caption(f"**{state}** · changed {ago(run.changed)}, {in_bytes(run.size)}")


def link_to(run: StoredRun, label: str) -> None:
    """Link to a run."""
    st.page_link("app.py", label=label, icon=":material/folder_open:", query_params={"run": run.id})


def manage(run: StoredRun, place: str) -> None:
    """Let the user rename or delete a run; it may stand in several places of a page."""
    key = f"{place} {run.id}"
    name = f"{key} {run.name}"
    st.text_input("Name", run.name, 100, key=name, on_change=_rename, args=(run.id, name))
    sure = st.checkbox("Delete this run, its files and its results", key=f"{key} sure")
    st.button(
        "Delete",
        icon=":material/delete:",
        disabled=not sure,
        on_click=_delete,
        args=(run.id,),
        key=f"{key} delete",
    )


def _rename(number: str, key: str) -> None:
    name = st.session_state[key].strip()
    if name:
        rename(number, name)


def _delete(number: str) -> None:
    end_jobs(number)
    delete_run(number)


def ago(when: datetime) -> str:
    """Say how long ago something was.

    >>> from datetime import timedelta
    >>> ago(datetime.now(UTC) - timedelta(hours=2.5))
    '2 hours ago'
    """
    seconds = (datetime.now(UTC) - when).total_seconds()
    for unit, name in UNITS:
        count = int(seconds // unit)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
