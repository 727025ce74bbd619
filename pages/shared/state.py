"""What the session keeps: the files and choices of the user, nothing derived from them."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.choices import ClassMethod
from hetcal.data.table import Roles
from hetcal.data.text import Dialect
from hetcal.models.file import ModelFile
from hetcal.models.scoring import ColumnScoring, Scoring
from hetcal.models.training import TrainedNetwork
from hetcal.partitions.partition import Partition
from hetcal.runs.settings import Settings
from pages.shared.flow.cache import forget_results

ALL_ROWS = 0
RECOMMENDED = Settings(partition="auto")
LEAST_ROWS = (10, 100_000)
"""Range of the minimum number of calibration rows for a map."""


@dataclass(frozen=True)
class TableFile:
    """A file with rows on the machine that runs the app."""

    path: Path  # uploads are kept under their digest
    name: str  # as the user calls it: text to show, never a path to open
    stamp: str  # changes with the content
    role: str | None = None  # of its rows, when each role has a file of its own
    dialect: Dialect | None = None  # None: detected


@dataclass(frozen=True)
class Workspace:
    """Everything the user gave or chose; every result is a cached function of it."""

    files: tuple[TableFile, ...] = ()  # one, or one per role
    roles: Roles | None = None
    guessed: tuple[tuple[str, str], ...] = ()  # fields of the roles and their unconfirmed guesses
    settings: Settings = field(default_factory=lambda: RECOMMENDED)
    model: ModelFile | None = None  # uploaded or trained here
    network: TrainedNetwork | None = None  # what training here produced; its model is `model`
    scoring: Scoring | None = None
    partition: Partition | None = None  # a loaded one, in place of the tree
    leaf: int = ALL_ROWS  # shown on every page
    classes: tuple[str, ...] | None = None  # in the order of the scores; None: ascending
    class_shown: str | None = None  # against all others, on every page; None: the first
    class_method: ClassMethod = "vector"
    all_rows: bool = False  # compute on all rows of a large table instead of a sketch
    saved: TableFile | None = None  # an artifact whose run is explored, without a table
    behind: "Workspace | None" = None  # comes back when that run is closed


@st.cache_resource(scope="session", on_release=shutil.rmtree, show_spinner=False)
def session_folder() -> Path:
    """Make a folder for this session's files; it is removed when the session ends."""
    return Path(tempfile.mkdtemp(prefix="hetcal-session-"))


def keep_file(content: bytes, suffix: str = "") -> Path:
    """Keep bytes in the session's folder, named by their digest."""
    path = session_folder() / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not path.exists():
        path.write_bytes(content)
    return path


def is_column_scoring(scoring: Scoring | None, columns: int) -> bool:
    """Whether the scores come from this number of columns of the table."""
    return isinstance(scoring, ColumnScoring) and len(scoring.columns) == columns


def workspace() -> Workspace:
    """Return the user's choices so far."""
    return st.session_state.setdefault("workspace", Workspace())


def update(**changes: Any) -> None:
    """Replace some of the user's choices."""
    st.session_state["workspace"] = replace(workspace(), **changes)


def change_settings(**changes: Any) -> None:
    """Replace some of the settings; what was cancelled under the old ones may begin again."""
    resume()
    update(settings=replace(workspace().settings, **changes))


def start(*files: TableFile) -> None:
    """Begin with a new table: choices and jobs for another one no longer hold."""
    _cancel_job()
    resume()
    if workspace().files not in ((), files):
        forget_results()
    st.session_state["workspace"] = Workspace(files)


def open_saved(artifact: TableFile, min_rows: int) -> None:
    """Explore a saved run; the current table comes back when it is closed."""
    _cancel_job()
    here = workspace()
    st.session_state["workspace"] = Workspace(
        saved=artifact,
        settings=Settings(min_rows=min(max(min_rows, LEAST_ROWS[0]), LEAST_ROWS[1])),
        behind=here if here.saved is None else here.behind,
    )


def close_saved() -> None:
    """Return to the table that was in use before."""
    st.session_state["workspace"] = workspace().behind or Workspace()


def _cancel_job() -> None:
    st.session_state.pop("job_error", None)
    if "job" in st.session_state:
        st.session_state.pop("job").job.cancel()


def cancel(work: object) -> None:
    """Remember that the user has cancelled this work, which is not to begin again by itself."""
    st.session_state["cancelled"] = work


def is_cancelled(work: object) -> bool:
    """Whether the user has cancelled this work."""
    return st.session_state.get("cancelled") == work


def resume() -> None:
    """Let cancelled work begin again."""
    st.session_state.pop("cancelled", None)


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
