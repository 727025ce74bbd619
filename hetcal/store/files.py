"""Files and folders of the store; errors say what is wrong with its disk."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hetcal.errors import StoreError
from hetcal.files import OWNER_ONLY, Content, write_file


def make_folder(path: Path) -> Path:
    """Make a folder that only its owner can enter."""
    with told_errors(path):
        path.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    return path


def keep_file(path: Path, content: Content) -> None:
    """Write a file of the store, see `hetcal.files`."""
    with told_errors(path):
        write_file(path, content)


@contextmanager
def told_errors(path: Path) -> Iterator[None]:
    """Say what is wrong with the disk or the folder."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(
            f"{'The disk is full' if _is_full(error) else 'A file cannot be written'}: "
            f"'{path.name}' in '{path.parent}' was not saved ({why}).",
            "Runs are kept in a folder with room that this user may write to.",
            "Delete old runs (python -m hetcal runs), or choose another folder (HETCAL_HOME).",
        ) from error


def _is_full(error: OSError | sqlite3.OperationalError) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode == sqlite3.SQLITE_FULL
    return error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def in_bytes(size: int) -> str:
    """Write a size in a unit that suits it.

    Examples
    --------
    >>> in_bytes(900), in_bytes(2_500_000), in_bytes(20 * 10**9)
    ('1 kB', '2.5 MB', '20.0 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{max(size / 1e3, 1):.0f} kB"
