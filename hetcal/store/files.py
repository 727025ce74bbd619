"""Write files so that they are whole or not there, also when the power fails."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hetcal.errors import StoreError

OWNER_ONLY = 0o700


def make_folder(path: Path) -> Path:
    """Make a folder that only its owner can enter."""
    with told_errors(path):
        path.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    return path


def write_file(path: Path, write: bytes | Callable[[BinaryIO], object]) -> None:
    """Write bytes, or what a function writes, beside the file, then put it in its place.

    A reader sees the file before or the file after; if writing fails, the one before stays.
    """
    with told_errors(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")  # for the owner only
        try:
            with os.fdopen(handle, "wb") as file:
                if isinstance(write, bytes):
                    file.write(write)
                else:
                    write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
        _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Make the new name last; only systems whose folders can be opened need that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def told_errors(path: Path) -> Iterator[None]:
    """Say what is wrong with the disk or the folder."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
        raise StoreError(
            f"{'The disk is full' if full else 'A file cannot be written'}: '{path.name}' in "
            f"'{path.parent}' was not saved ({error.strerror or error}).",
            "Runs are kept in a folder with room that this user may write to.",
            "Delete old runs (python -m hetcal runs), or choose another folder (HETCAL_HOME).",
        ) from error


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
