"""The only place that touches the session's state: what the user chose, nothing derived."""

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
"""The range of the fewest calibration rows for a map."""


@dataclass(frozen=True)
class TableFile:
    """A file with rows on the machine that runs the app.

    Parameters
    ----------
    path : Path
        Where it is; uploads are kept under their digest.
    name : str
        What the user calls it: text to show, never a path to open.
    stamp : str
        Changes when the content changes.
    role : str or None
        The role of its rows, when each role has a file of its own.
    dialect : Dialect or None
        How to read it; None detects that.
    """

    path: Path
    name: str
    stamp: str
    role: str | None = None
    dialect: Dialect | None = None


@dataclass(frozen=True)
class Workspace:
    """Everything the user gave or chose; every result is a cached function of it.

    Parameters
    ----------
    files : tuple of TableFile
        The table's files: one, or one per role; empty before the user brought any.
    roles : Roles or None
        What each column is for.
    guessed : tuple of (str, str)
        Fields of the roles that were guessed, with what was guessed, until the user has
        confirmed or changed them.
    settings : Settings
        Split, tree and calibration.
    model : ModelFile or None
        An uploaded or trained Keras model.
    network : TrainedNetwork or None
        What training here produced; its model is `model`.
    scoring : Scoring or None
        Where the scores come from.
    partition : Partition or None
        A loaded partition, in place of the tree.
    leaf : int
        The leaf that every page shows; 0 means all rows.
    classes : tuple of str or None
        The values of a label with more than two, in the order of the scores; None means
        ascending.
    class_shown : str or None
        The class that every page shows against all others; None means the first.
    class_method : {"temperature", "vector", "dirichlet"}
        Which maps are fitted for more than two classes.
    all_rows : bool
        Whether numbers are computed on all rows of a large table, too, instead of a sketch.
    saved : TableFile or None
        An artifact whose run is explored, without a table.
    behind : Workspace or None
        What comes back when that run is closed.
    """

    files: tuple[TableFile, ...] = ()
    roles: Roles | None = None
    guessed: tuple[tuple[str, str], ...] = ()
    settings: Settings = field(default_factory=lambda: RECOMMENDED)
    model: ModelFile | None = None
    network: TrainedNetwork | None = None
    scoring: Scoring | None = None
    partition: Partition | None = None
    leaf: int = ALL_ROWS
    classes: tuple[str, ...] | None = None
    class_shown: str | None = None
    class_method: ClassMethod = "vector"
    all_rows: bool = False
    saved: TableFile | None = None
    behind: "Workspace | None" = None


def is_column_scoring(scoring: Scoring | None, columns: int) -> bool:
    """Tell whether scores come from so many columns of the table."""
    return isinstance(scoring, ColumnScoring) and len(scoring.columns) == columns


def workspace() -> Workspace:
    """Return the user's choices so far."""
    return st.session_state.setdefault("workspace", Workspace())


def update(**changes: Any) -> None:
    """Replace some of the user's choices."""
    st.session_state["workspace"] = replace(workspace(), **changes)


def start(*files: TableFile) -> None:
    """Begin with a new table: choices and work under way for another one no longer hold."""
    _cancel_job()
    if workspace().files not in ((), files):
        forget_results()
    st.session_state["workspace"] = Workspace(files)


def open_saved(artifact: TableFile, min_rows: int) -> None:
    """Explore a saved run; the table at hand waits until it is closed."""
    _cancel_job()
    here = workspace()
    st.session_state["workspace"] = Workspace(
        saved=artifact,
        settings=Settings(min_rows=min(max(min_rows, LEAST_ROWS[0]), LEAST_ROWS[1])),
        behind=here if here.saved is None else here.behind,
    )


def close_saved() -> None:
    """Return to the table that was at hand."""
    st.session_state["workspace"] = workspace().behind or Workspace()


def _cancel_job() -> None:
    st.session_state.pop("job_error", None)
    if "job" in st.session_state:
        st.session_state.pop("job").job.cancel()


def setting(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the settings, on every page and after every page change."""
    return bound(
        f"setting_{name}",
        getattr(workspace().settings, name),
        lambda value: update(settings=replace(workspace().settings, **{name: value})),
    )


def role(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the roles."""
    return bound(
        f"role_{name}",
        getattr(workspace().roles, name),
        lambda value: update(roles=replace(workspace().roles, **{name: value})),
    )


def leaf_choice() -> dict[str, Any]:
    """Tie a widget to the chosen leaf."""
    return bound("leaf", workspace().leaf, choose_leaf)


def choose_leaf(leaf: int) -> None:
    """Show one leaf on every page; 0 shows all rows."""
    update(leaf=leaf)


def choice(name: str) -> dict[str, Any]:
    """Tie a widget to one field of the workspace."""
    return bound(name, getattr(workspace(), name), lambda value: update(**{name: value}))


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
