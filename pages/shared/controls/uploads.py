"""Files that the user brings: tables and partitions."""

import os
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.data.splits import ROLES
from hetcal.errors import HetcalError
from hetcal.partitions.partition import Partition
from pages.shared.controls.files import keep
from pages.shared.display.messages import show_error
from pages.shared.state import TableFile, start, update, workspace

LOCAL_ADDRESSES = ("localhost", "127.0.0.1", "::1")


def choose_table() -> None:
    """Let the user bring a table: one file, one file per role, or a path."""
    ways = ["One file", "One file per role"] + (["Path on this machine"] if paths_allowed() else [])
    way = st.segmented_control("Where is the table?", ways, default=ways[0], required=True)
    if way == "One file":
        # Any file is taken: reading says what is wrong with it, while the browser would keep it
        # back without a word to the page, on which the table before it would stay.
        st.file_uploader(
            "Table (CSV, TSV or Parquet, also gzipped)", key="data_file", on_change=_file_brought
        )
    elif way == "One file per role":
        st.caption("CSV, TSV or Parquet, also gzipped, with the same columns in every file.")
        for column, role in zip(st.columns(4), ROLES, strict=True):
            column.file_uploader(
                f"{role.capitalize()} rows",
                key=f"data_{role}",
                on_change=_role_brought,
                args=(role,),
            )
    else:
        st.text_input(
            "Path of a file or folder",
            key="data_path",
            placeholder="/data/customers.parquet",
            on_change=_path_named,
            help="A folder holds parts of one table, or one file per role: train.csv, test.csv …",
        )


def paths_allowed() -> bool:
    """Paths are for the person at this machine, unless whoever serves the app says otherwise."""
    return (
        st.get_option("server.address") in LOCAL_ADDRESSES
        or os.environ.get("HETCAL_ALLOW_PATHS") == "1"
    )


def loaded_partition() -> None:
    """Let the user load a partition that was saved as JSON."""
    file = st.file_uploader("Or load a partition (JSON)", ["json"], key="partition_file")
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
    path = keep(uploaded.getvalue())
    return TableFile(path, uploaded.name, path.name, role)


def _file_brought() -> None:
    uploaded = st.session_state["data_file"]
    if uploaded is not None:
        start(_table_file(uploaded))


def _role_brought(role: str) -> None:
    """Keep the other roles' files: their uploaders forget them when the page changes."""
    uploaded = st.session_state[f"data_{role}"]
    brought = () if uploaded is None else (_table_file(uploaded, role),)
    start(*(file for file in workspace().files if file.role not in (None, role)), *brought)


def _path_named() -> None:
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
