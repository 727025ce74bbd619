"""Write files so that they are whole or not there, also when the power fails."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

OWNER_ONLY = 0o700

Content = bytes | Callable[[BinaryIO], object]  # bytes, or a function that writes them


def write_file(path: Path, content: Content) -> None:
    """Write one file, see `write_files`."""
    write_files({path: content})


def write_files(files: Mapping[Path, Content]) -> None:
    """Write all files beside their places, then put each in its place.

    A reader sees a file before or the file after; if writing fails, all of those before stay. A
    new file is for its owner only, one that takes the place of another has its permissions.
    """
    with ExitStack() as undone:
        written: list[tuple[str, str]] = []
        for path, content in files.items():
            place = os.path.realpath(path)  # a link stays, and what it leads to is replaced
            if os.path.exists(place) and not os.path.isfile(place):
                with open(place, "wb") as pipe:  # or a terminal, which cannot be replaced
                    _write(pipe, content)
                continue
            handle, name = tempfile.mkstemp(dir=os.path.dirname(place), prefix=".writing-")
            undone.callback(_remove, name)
            with os.fdopen(handle, "wb") as file:
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                os.chmod(name, os.stat(place).st_mode & 0o777)
            written.append((name, place))
        for name, place in written:
            os.replace(name, place)
        for folder in {os.path.dirname(place) for _, place in written}:
            _flush_folder(folder)


def _write(file: BinaryIO, content: Content) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):  # it is in its place
        os.unlink(name)


def _flush_folder(folder: str) -> None:
    """Make the new name last; only systems whose folders can be opened need that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
