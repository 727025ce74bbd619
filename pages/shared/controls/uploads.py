"""Files from the user: tables and partitions. Nothing is replaced before a file was read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.data.places import below, open_folder
from hetcal.data.raw_columns import roles_with_raw
from hetcal.data.splits import ROLES
from hetcal.errors import HetcalError
from hetcal.partitions.partition import Partition
from hetcal.store.store import StoredRun
from hetcal.store.workspace import BESIDE, EMBEDDINGS, RAW_TABLE, UNDONE
from pages.shared.controls.data import assume_roles
from pages.shared.controls.dialect import dialect_controls
from pages.shared.display.messages import plain, show_error
from pages.shared.display.progress import show_job, shown_progress
from pages.shared.flow.cache import forget_results
from pages.shared.flow.compute import source_of
from pages.shared.flow.flow import Flow, current_flow
from pages.shared.jobs import Unfinished
from pages.shared.links import run_again
from pages.shared.state import (
    TableFile,
    Workspace,
    accepted,
    bound,
    current_run,
    is_draft,
    keep_facts,
    store,
    told_next,
    update,
    workspace,
)

LONGEST_TEXT = 4 * 2**20
ASKED = {
    RAW_TABLE: (
        "Second table with the raw columns",
        None,
        "The partition and its rules read them in place of columns that were scaled or encoded "
        "for the model. Rows are joined by a column that names them in both tables, or by order.",
    ),
    UNDONE: (
        "How columns were scaled (JSON or CSV)",
        ["json", "csv"],
        'Such as {"age": {"mean": 39, "scale": 10.5}}: the partition and its rules then read age '
        "as it was before.",
    ),
    EMBEDDINGS: (
        "Own embeddings (.npy, .npz or Parquet)",
        ["npy", "npz", "parquet"],
        "A row for each row of the table. They become columns embedding_0, embedding_1, … that a "
        "partition may read.",
    ),
}
"""What may stand beside a table: the label, the file types and the help of its uploader."""


@dataclass(frozen=True)
class Draft:
    """A table that was given and is not read yet: of a new run, or of another file for a role."""

    run: StoredRun
    files: tuple[TableFile, ...]


def choose_table() -> None:
    """Let the user choose a table: one file, one file per role, or a path."""
    _offer_ways()
    draft = st.session_state.get("draft")
    if draft is not None:
        _read(draft)


def _offer_ways() -> None:
    folder = open_folder()
    paths = [] if folder is None else ["Path on this machine"]
    kinds = ["One file", "One file per role", *paths]
    kind = st.segmented_control("Where is the table?", kinds, default=kinds[0], required=True)
    if kind == "One file":
        # Every file type is accepted, and reading explains what is wrong with it. A browser would
        # reject a file without telling the page, which would still show the table before it.
        st.file_uploader(
            "Table (CSV, TSV or Parquet, also gzipped)", key="data_file", on_change=_file_uploaded
        )
    elif kind == "One file per role":
        st.caption("CSV, TSV or Parquet, also gzipped, with the same columns in every file.")
        for column, role in zip(st.columns(4), ROLES, strict=True):
            column.file_uploader(
                f"{role.capitalize()} rows",
                key=f"data_{role}",
                on_change=_role_uploaded,
                args=(role,),
            )
    else:
        st.text_input(
            f"Path of a file or folder in {plain(str(folder))}",
            key="data_path",
            placeholder="customers.parquet",
            on_change=_path_given,
            help="A folder holds parts of one table, or one file per role: train.csv, test.csv …",
        )
        if "refused_path" in st.session_state:
            show_error(st.session_state["refused_path"])
    if workspace().files:
        with st.expander("More columns for the partition", icon=":material/table_chart:"):
            _offer_beside()


def _offer_beside() -> None:
    """Let the user give what stands beside the table, and say what is there."""
    for column, (role, (label, kinds, help_)) in zip(
        st.columns(len(ASKED)), ASKED.items(), strict=True
    ):
        with column:
            st.file_uploader(
                label,
                kinds,
                help=help_,
                key=f"data_{role}",
                on_change=_beside_uploaded,
                args=(role,),
            )
            used = next((each for each in workspace().files if each.role == role), None)
            if used is None:
                continue
            if role == RAW_TABLE:
                _key_control(used)
            st.button(
                f"Leave {plain(used.name)} out",
                key=f"data_without_{role}",
                icon=":material/remove_circle_outline:",
                on_click=_read_beside,
                args=(role, None),
            )


def _key_control(raw: TableFile) -> None:
    """Let the user say which column joins the second table."""

    def store(key: str | None) -> None:
        _read_beside(RAW_TABLE, replace(raw, key=key))

    st.selectbox(
        "Rows are joined by",
        list(current_flow().source.frame.columns),
        None,
        placeholder="found",
        help="Without a choice: a column that names the rows in both tables, or their order.",
        **bound("raw_key", raw.key, store),
    )


def loaded_partition() -> None:
    """Let the user load a partition that was saved as JSON."""
    file = st.file_uploader("Partition file (JSON)", ["json"], key="partition_file")
    if file is None:
        return
    try:
        partition = Partition.from_json(text_of(file))
    except HetcalError as error:
        show_error(error)
        return
    update(partition=partition)
    run_again()


def text_of(file: Any) -> str:
    """Return a text that is read at once; a long one would hold up all who use the server."""
    if file.size > LONGEST_TEXT:
        raise HetcalError(
            f"'{file.name}' has {file.size / 2**20:,.1f} MB.",
            f"Such a file may have {LONGEST_TEXT // 2**20} MB here.",
            "Choose another file, or give this one to the command line: python -m hetcal run.",
        )
    return str(file.getvalue().decode("utf-8-sig", "replace"))


def _read(draft: Draft) -> None:
    """Read a table that was given; only one that can be read takes the place of the one before."""
    here = workspace()
    same_rows = here.roles is not None and _rows(here.files) == _rows(draft.files)
    try:
        with shown_progress() as progress:
            source = Flow(Workspace(draft.files), progress, draft.run).source
            before = current_flow().source if same_rows else None
    except Unfinished as unfinished:
        show_job(unfinished.job)
        return
    except HetcalError as error:
        show_error(error)
        dialect_controls(draft.files, _change_draft, expanded=True)
        if current_run() is not None:
            st.caption(
                f"Nothing was replaced: the run **{plain(current_run().name)}** is as it was."
            )
            st.button("Discard the file", icon=":material/close:", on_click=discard_draft)
        return
    del st.session_state["draft"]
    forget_results(source_of)
    source_of.clear(here.files, ())
    with told_next():
        if is_draft(draft.run):
            accepted(draft.run, Workspace(draft.files), rows=len(source.frame))
        elif before is not None:
            roles = roles_with_raw(source, here.roles, before)
            update(files=draft.files, roles=roles, partition=None)
        else:
            update(files=draft.files, roles=None, guessed=(), scoring=None, partition=None)
            keep_facts(rows=len(source.frame))
        assume_roles(source)
    run_again()


def _rows(files: tuple[TableFile, ...]) -> list[TableFile]:
    return [each for each in files if each.role not in BESIDE]


def discard_draft() -> None:
    """Forget a table that was given but not accepted."""
    draft = st.session_state.pop("draft", None)
    if draft is not None and is_draft(draft.run):
        store().delete(draft.run.id)


def read_otherwise(files: tuple[TableFile, ...]) -> None:
    """Read the table of the run in another way, if it can be read so."""
    st.session_state["draft"] = Draft(current_run(), files)


def _begin_draft(name: str, keep: Callable[[StoredRun], TableFile]) -> None:
    discard_draft()
    with told_next():
        run = store().new(name)
        st.session_state["draft"] = Draft(run, (keep(run),))


def _change_draft(files: tuple[TableFile, ...]) -> None:
    st.session_state["draft"] = replace(st.session_state["draft"], files=files)


def _table_file(run: StoredRun, uploaded: Any, role: str | None = None) -> TableFile:
    path = run.keep_file(uploaded.getvalue())
    return TableFile(path, uploaded.name, path.name, role)


def _file_uploaded() -> None:
    uploaded = st.session_state["data_file"]
    if uploaded is None:
        discard_draft()
    else:
        _begin_draft(uploaded.name, lambda run: _table_file(run, uploaded))


def _role_uploaded(role: str) -> None:
    """Add a file to those of the other roles: their uploaders forget them on another page."""
    uploaded, run = st.session_state[f"data_{role}"], current_run()
    others = tuple(each for each in workspace().files if each.role not in (None, role, *BESIDE))
    if uploaded is None:
        discard_draft()
    elif others:
        discard_draft()
        with told_next():
            st.session_state["draft"] = Draft(run, (*others, _table_file(run, uploaded, role)))
    else:
        _begin_draft(uploaded.name, lambda new: _table_file(new, uploaded, role))


def _beside_uploaded(role: str) -> None:
    uploaded, run = st.session_state[f"data_{role}"], current_run()
    if uploaded is None:
        discard_draft()
        return
    with told_next():
        _read_beside(role, _table_file(run, uploaded, role))


def _read_beside(role: str, file: TableFile | None) -> None:
    """Read the table again, with this file beside it in place of the one before, or with none."""
    others = tuple(each for each in workspace().files if each.role != role)
    discard_draft()
    st.session_state["draft"] = Draft(current_run(), others if file is None else (*others, file))


def _path_given() -> None:
    text, folder = st.session_state["data_path"].strip(), open_folder()
    st.session_state.pop("refused_path", None)
    if not text or folder is None:
        return
    try:
        path = below(folder, text)
    except HetcalError as error:
        discard_draft()
        st.session_state["refused_path"] = error
        return
    file = TableFile(path, path.name, f"{path} {_stamp(path)}")
    _begin_draft(path.name, lambda run: file)


def _stamp(path: Path) -> str:
    found = path.stat()
    return f"{found.st_mtime_ns} {found.st_size}"
