"""Paths that a visitor of the pages may have read: plain files below one folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hetcal.errors import TableError

VARIABLE = "HETCAL_PATHS"
_SYSTEM = tuple(map(Path, ("/proc", "/sys", "/dev")))  # their files are no data


def open_folder() -> Path | None:
    """Return the folder below which paths may be read; None unless `HETCAL_PATHS` names one."""
    named = os.environ.get(VARIABLE)
    folder = os.path.realpath(os.path.expanduser(named)) if named else ""
    return Path(folder) if os.path.isdir(folder) else None


def below(folder: Path, text: str) -> Path:
    """Return the file or folder that a text names, as it is without links, or refuse it."""
    try:
        path = Path(os.path.realpath(folder / text))
        inside = all(_is_inside(each, folder) for each in _all_below(path))
    except (OSError, ValueError):  # too long, or with a character that no name has
        inside = False
    if not inside:
        raise TableError(
            f"There is no file or folder '{text[:200]}' that may be read.",
            f"Tables are read from the folder '{folder}': plain files, and no links out of it.",
            "Check the spelling of the path, or upload the table.",
        )
    return path


def _all_below(path: Path) -> Iterator[Path]:
    yield path
    for place, folders, files in os.walk(path):
        yield from (Path(place, name) for name in (*folders, *files))


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads to a plain file or folder inside, and that is no part of the system."""
    real = Path(os.path.realpath(path))
    mode = os.stat(real).st_mode
    return (
        real.is_relative_to(folder)
        and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
        and not any(real.is_relative_to(each) for each in _SYSTEM)
    )
