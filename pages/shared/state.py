"""The run of this session: what the user gave and chose, kept on disk, nothing derived from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.data.table import Roles
from hetcal.errors import StoreError
from hetcal.models.scoring import ColumnScoring, Scoring
from hetcal.runs.settings import Settings
from hetcal.store.store import FOUND, FOUND_BY, Store, StoredRun
from hetcal.store.workspace import (
    ALL_ROWS,
    TableFile,
    Workspace,
    remember,
    workspace_of,
)
from pages.shared.changes import automatic_name, replaced
from pages.shared.flow.cache import forget_results

__all__ = ["ALL_ROWS", "TableFile", "Workspace"]  # what other pages take from here, too

LEAST_ROWS = (10, 100_000)
"""Range of the minimum number of calibration rows for a map."""

VIEW = ("leaf", "class_shown")
"""What is looked at: each tab has its own, and the run keeps the latest."""

DRAFT_DAYS = 1
LOCAL_ADDRESSES = ("localhost", "127.0.0.1", "::1")


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """Open the folder of runs, once per server; uploads that were never read go after a day."""
    found = Store()
    before = datetime.now(UTC) - timedelta(days=DRAFT_DAYS)
    for each in found.all():
        if is_draft(each) and each.changed < before:
            found.delete(each.id)
    return found


def is_draft(run: StoredRun) -> bool:
    """Whether nothing was accepted into the run so far."""
    return not run.about


def is_local() -> bool:
    """Whether the server answers only this machine; behind a proxy it has another name."""
    names = {st.get_option("server.address"), *st.get_option("server.allowedHosts")}
    return names <= set(LOCAL_ADDRESSES)


def current_run() -> StoredRun | None:
    """Return the run of this session as it was last read; None before anything was given."""
    run: StoredRun | None = st.session_state.get("stored")
    return run


def keep_file(content: bytes, suffix: str = "") -> Path:
    """Keep bytes in the folder of the run, named by their digest."""
    return current_run().keep_file(content, suffix)


def started() -> bool:
    """Whether there is a table or a saved run to look at."""
    return bool(workspace().files or workspace().saved)


def is_column_scoring(scoring: Scoring | None, columns: int) -> bool:
    """Whether the scores come from this number of columns of the table."""
    return isinstance(scoring, ColumnScoring) and len(scoring.columns) == columns


def workspace() -> Workspace:
    """Return the user's choices so far, with what this tab looks at."""
    here = st.session_state.setdefault("workspace", Workspace())
    seen = dict(st.session_state.get("view", {}))
    scheme = seen.pop("scheme", None)
    if scheme is not None:
        seen["settings"] = replace(here.settings, **scheme)
    return replace(here, **seen)


def update(*, what: str | None = None, **changes: Any) -> None:
    """Replace some of the user's choices, in the run as it is now.

    Another tab may have changed it since it was read: only what differs from what this tab has
    shown is changed. What replaces the table, the label, the split or the scores can be undone;
    `what` says it in words where the change does not tell by itself.
    """
    before, run = workspace(), current_run()
    changes = {name: new for name, new in changes.items() if not _same(getattr(before, name), new)}
    if not changes:
        return
    after = replace(before, **changes)
    _look_at(changes)
    if run is None:
        st.session_state["workspace"] = after
        return
    known, what = st.session_state["workspace"], what or replaced(before, after)
    found: list[Workspace] = []

    def change(latest: StoredRun) -> StoredRun:
        old = known if latest.revision == run.revision else workspace_of(latest)
        new = replace(old, **{each: _merged(before, after, old, each) for each in changes})
        found.append(new)
        gone = () if set(changes) <= {*VIEW, "compared"} else (*FOUND, FOUND_BY)
        own = latest.name != automatic_name(old)
        name = latest.name if own else automatic_name(new)
        return remember(replace(latest, name=name, about=_without(latest, gone)), new)

    with told_next():
        stored = store().change(run.id, what, change)
        st.session_state["stored"], st.session_state["workspace"] = stored, found[-1]
        if what is not None:
            st.session_state["undoable"] = what


def look(**view: Any) -> None:
    """Show in this tab what an address says: leaf, class and scheme, without changing the run."""
    shown = st.session_state.setdefault("view", {})
    shown.update(view)
    settings = st.session_state["workspace"].settings
    scheme = shown.get("scheme", {})
    if all(getattr(settings, name) == value for name, value in scheme.items()):
        shown.pop("scheme", None)


def shows_other_scheme() -> bool:
    """Whether this tab shows the scheme of a link, which is not that of the run."""
    return "scheme" in st.session_state.get("view", {})


@contextmanager
def told_next() -> Iterator[None]:
    """Say at the top of the page why something could not be kept; all stays as it was.

    Whatever a click writes is written inside of this: what a click raises is no page's to show.
    """
    try:
        yield
    except StoreError as error:
        st.session_state["not_kept"] = error


def _look_at(changes: dict[str, Any]) -> None:
    """Let this tab show what it has chosen itself."""
    view = st.session_state.setdefault("view", {})
    view.update({name: changes[name] for name in VIEW if name in changes})
    if "settings" in changes and "scheme" in view:
        del view["scheme"]


def _same(old: Any, new: Any) -> bool:
    # A network holds a table, which does not compare to one truth.
    return old is new or (type(old) is type(new) and not hasattr(new, "history") and old == new)


def _merged(before: Workspace, after: Workspace, latest: Workspace, name: str) -> Any:
    """Take a new value; of roles and settings only the fields that were changed here."""
    shown, new, old = (getattr(each, name) for each in (before, after, latest))
    if not isinstance(new, Roles | Settings) or shown is None or old is None:
        return new
    changed = {
        each.name: getattr(new, each.name)
        for each in fields(new)
        if getattr(new, each.name) != getattr(shown, each.name)
    }
    return replace(old, **changed)


def refresh() -> None:
    """See what another tab, or another session, has changed in the run since it was read."""
    run = current_run()
    if run is not None:
        latest = store().get(run.id)
        if latest.revision != run.revision:
            st.session_state["workspace"] = workspace_of(latest)
        st.session_state["stored"] = latest


def open_run(number: str) -> None:
    """Take up a kept run."""
    run = store().get(number)
    here = workspace_of(run)
    if workspace().files not in ((), here.files):
        forget_results()
    _take(run, here)


def accepted(run: StoredRun, here: Workspace, **facts: Any) -> None:
    """Take up a new run, now that what it was given has been read; the one before stays kept."""

    def fill(latest: StoredRun) -> StoredRun:
        return remember(replace(latest, name=automatic_name(here)), here, **facts)

    _take(store().change(run.id, None, fill), here)


def leave_run() -> None:
    """Show no run; it stays kept."""
    _take(None, Workspace())


def _take(run: StoredRun | None, here: Workspace) -> None:
    for name in ("view", "undoable", "behind"):
        st.session_state.pop(name, None)
    st.session_state["stored"], st.session_state["workspace"] = run, here
    if run is not None:
        opened_here().add(run.id)


def opened_here() -> set[str]:
    """Return the ids of the runs that this session has opened."""
    ids: set[str] = st.session_state.setdefault("opened", set())
    return ids


@told_next()
def undo() -> None:
    """Return to the state before the latest replacement."""
    number, before = current_run().id, workspace()
    here = workspace_of(store().undo(number))
    stale = (*FOUND, FOUND_BY, *(["rows"] if here.files != before.files else []))

    def tell(latest: StoredRun) -> StoredRun:
        own = latest.name != automatic_name(before)
        name = latest.name if own else automatic_name(here)
        return remember(replace(latest, name=name, about=_without(latest, stale)), here)

    st.session_state["stored"] = store().change(number, None, tell)
    st.session_state["workspace"] = here
    for name in ("view", "undoable"):
        st.session_state.pop(name, None)


def _without(run: StoredRun, stale: tuple[str, ...]) -> dict[str, Any]:
    return {name: fact for name, fact in run.about.items() if name not in stale}


@told_next()
def delete_run(number: str) -> None:
    """Delete a run with all its files."""
    store().delete(number)
    opened_here().discard(number)
    if current_run() is not None and current_run().id == number:
        leave_run()


@told_next()
def rename(number: str, name: str) -> None:
    """Give a run another name."""
    run = store().change(number, None, lambda latest: replace(latest, name=name))
    if current_run() is not None and current_run().id == number:
        st.session_state["stored"] = run


def keep_facts(**facts: Any) -> None:
    """List the run by what was found, once it is known."""
    run = current_run()
    if run is not None and any(run.about.get(name) != fact for name, fact in facts.items()):
        note = store().change(
            run.id, None, lambda latest: replace(latest, about={**latest.about, **facts})
        )
        st.session_state["stored"] = note


def change_settings(**changes: Any) -> None:
    """Replace some of the settings."""
    update(settings=replace(workspace().settings, **changes))


def open_saved(run: StoredRun, artifact: TableFile, min_rows: int) -> None:
    """Explore a saved run; the run before comes back when it is closed."""
    here, behind = current_run(), st.session_state.get("behind")
    fewest = min(max(min_rows, LEAST_ROWS[0]), LEAST_ROWS[1])
    accepted(run, Workspace(saved=artifact, settings=Settings(min_rows=fewest)))
    if here is not None:
        st.session_state["behind"] = behind or here.id


def close_saved() -> None:
    """Return to the run that was shown before."""
    behind = st.session_state.get("behind")
    if behind is None:
        leave_run()
    else:
        open_run(behind)


def setting(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the settings, on every page and after every page change."""
    return bound(
        f"setting_{name}",
        getattr(workspace().settings, name),
        lambda value: change_settings(**{name: value}),
    )


def role(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the roles."""
    return bound(
        f"role_{name}",
        getattr(workspace().roles, name),
        lambda value: update(roles=replace(workspace().roles, **{name: value})),
    )


def choice(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the workspace."""
    return bound(name, getattr(workspace(), name), lambda value: update(**{name: value}))


def kept(key: str) -> dict[str, Any]:
    """Keep the value of a widget that is not part of the workspace while other pages are open."""
    return {"key": key, "persist_state": "session"}


def bound(key: str, value: Any, store: Callable[[Any], None]) -> dict[str, Any]:
    """Give a widget its value from the workspace and write its changes back.

    Streamlit forgets a widget that a page does not draw. So the workspace is the one
    truth: it is copied into the widget before each drawing, and back on each change.
    """
    st.session_state[key] = list(value) if isinstance(value, tuple) else value

    def changed() -> None:
        new = st.session_state[key]
        store(tuple(new) if isinstance(new, list) else new)

    return {"key": key, "on_change": changed}
