"""The session's own folder, where uploads are kept under their digest."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import streamlit as st


@st.cache_resource(scope="session", on_release=shutil.rmtree, show_spinner=False)
def session_folder() -> Path:
    """Make a folder for this session's files; it goes when the session goes."""
    return Path(tempfile.mkdtemp(prefix="hetcal-session-"))


def keep(content: bytes, suffix: str = "") -> Path:
    """Keep bytes in the session's folder, named by their digest."""
    path = session_folder() / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not path.exists():
        path.write_bytes(content)
    return path
