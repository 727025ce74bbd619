"""Files from the user: tables and partitions."""

import os
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.data.splits import ROLES
from hetcal.errors import HetcalError
from hetcal.partitions.partition import Partition
from pages.shared.display.messages import show_error
from pages.shared.state import TableFile, keep_file, start, update, workspace

LOCAL_ADDRESSES = ("localhost", "127.0.0.1", "::1")


def choose_table() -> None:
    """Let the user choose a table: one file, one file per role, or a path."""
    paths = ["Path on this machine"] if paths_allowed() else []
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
            "Path of a file or folder",
            key="data_path",
            placeholder="/data/customers.parquet",
            on_change=_path_given,
            help="A folder holds parts of one table, or one file per role: train.csv, test.csv …",
        )


def paths_allowed() -> bool:
    """Whether paths may be read: on a local server, or where the environment allows it."""
    return (
        st.get_option("server.address") in LOCAL_ADDRESSES
        or os.environ.get("HETCAL_ALLOW_PATHS") == "1"
    )


def loaded_partition() -> None:
    """Let the user load a partition that was saved as JSON."""
    file = st.file_uploader("Partition file (JSON)", ["json"], key="partition_file")
    if file is None:
        return
    try:
        partition = Partition.from_json(file.getvalue().decode("utf-8", "replace"))
    except HetcalError as error:
        show_error(error)
        return
    update(partition=partition)
    st.rerun()


def _table_file(uploaded: Any, role: str | None = None) -> TableFile:
    path = keep_file(uploaded.getvalue())
    return TableFile(path, uploaded.name, path.name, role)


def _file_uploaded() -> None:
    uploaded = st.session_state["data_file"]
    if uploaded is not None:
        start(_table_file(uploaded))


def _role_uploaded(role: str) -> None:
    """Keep the other roles' files: their uploaders forget them when the page changes."""
    uploaded = st.session_state[f"data_{role}"]
    given = () if uploaded is None else (_table_file(uploaded, role),)
    start(*(file for file in workspace().files if file.role not in (None, role)), *given)


def _path_given() -> None:
    text = st.session_state["data_path"].strip()
    if not text:
        return
    path = Path(os.path.expanduser(text))
    start(TableFile(path, path.name, f"{path} {_stamp(path)}"))


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except (OSError, ValueError):
        # Reading the file says what is wrong with the path.
        return "missing"
    return f"{found.st_mtime_ns} {found.st_size}"
