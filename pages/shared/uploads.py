"""Files that the user brings: tables and partitions."""

import os
from pathlib import Path
from typing import Any

import streamlit as st

from hetcal.partition import Partition
from hetcal.splits import ROLES
from pages.shared.files import keep
from pages.shared.frame import shown_errors
from pages.shared.state import TableFile, start, update

TABLE_TYPES = ["csv", "tsv", "txt", "gz", "parquet"]
LOCAL_ADDRESSES = ("localhost", "127.0.0.1", "::1")


def choose_table() -> None:
    """Let the user bring a table: one file, one file per role, or a path."""
    ways = ["One file", "One file per role"] + (["Path on this machine"] if paths_allowed() else [])
    way = st.segmented_control("Where is the table?", ways, default=ways[0], required=True)
    if way == "One file":
        st.file_uploader(
            "Table (CSV, TSV or Parquet, also gzipped)",
            TABLE_TYPES,
            key="data_file",
            on_change=_file_brought,
        )
    elif way == "One file per role":
        for column, role in zip(st.columns(4), ROLES, strict=True):
            column.file_uploader(
                f"{role.capitalize()} rows",
                TABLE_TYPES,
                key=f"data_{role}",
                on_change=_roles_brought,
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
    if file is not None:
        with shown_errors():
            partition = Partition.from_json(file.getvalue().decode("utf-8", "replace"))
        update(partition=partition)
        st.rerun()


def _table_file(uploaded: Any, role: str | None = None) -> TableFile:
    path = keep(uploaded.getvalue())
    return TableFile(path, uploaded.name, path.name, role)


def _file_brought() -> None:
    uploaded = st.session_state["data_file"]
    if uploaded is not None:
        start(_table_file(uploaded))


def _roles_brought() -> None:
    uploads = {role: st.session_state[f"data_{role}"] for role in ROLES}
    files = [_table_file(each, role) for role, each in uploads.items() if each is not None]
    if files:
        start(*files)


def _path_named() -> None:
    text = st.session_state["data_path"].strip()
    if not text:
        return
    path = Path(text).expanduser()
    found = path.stat() if path.exists() else None
    stamp = "missing" if found is None else f"{found.st_mtime_ns} {found.st_size}"
    start(TableFile(path, path.name, f"{path} {stamp}"))
