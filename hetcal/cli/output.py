"""What the command line writes to the screen, and the options of a run as a file."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from hetcal.choices import SCALES
from hetcal.progress import Progress, TimeLeft, silent
from hetcal.runs.settings import PARTITIONS
from hetcal.version import __version__

CLEAR = "\r\x1b[K"  # go to the start of the line, and clear it


def say(text: str, stream: TextIO | None = None) -> None:
    """Write a line; characters that the stream cannot encode are escaped."""
    stream = stream or sys.stdout
    coding = stream.encoding or "utf-8"
    stream.write(text.encode(coding, "backslashreplace").decode(coding) + "\n")


def say_notes(notes: Iterable[str]) -> None:
    """Write notes to the stream of errors; on a terminal, in place of the line of progress."""
    clear = CLEAR if sys.stderr.isatty() else ""
    for note in notes:
        say(f"{clear}note: {note}", sys.stderr)


@contextmanager
def progress_line(stream: TextIO) -> Iterator[Progress]:
    """Say what is done and the time left if the stream is a terminal, and nothing at the end."""
    if not stream.isatty():
        yield silent
        return
    time_left = TimeLeft()

    def tell(done: float, doing: str) -> None:
        text = f"{done:4.0%} {doing} … {time_left.after(done)}".rstrip()
        text = text[: shutil.get_terminal_size().columns - 1]
        coding = stream.encoding or "utf-8"
        stream.write(CLEAR + text.encode(coding, "replace").decode(coding))
        stream.flush()

    try:
        yield tell
    finally:
        stream.write(CLEAR)
        stream.flush()


def run_toml(given: Mapping[str, object], folder: Path) -> bytes:
    """Write the options of a run as the file `run.toml` in a folder, which repeats the run."""
    lines = [
        f"# Written by hetcal {__version__}. To repeat the run, with this file's path:",
        "# python -m hetcal run --config run.toml",
    ]
    for name, value in given.items():
        shown = _relative(Path(str(value)), folder) if is_path(name, value) else value
        lines.append(f"{name.replace('_', '-')} = {_toml(shown)}")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def is_path(name: str, value: object) -> bool:
    """Return whether the value of an option of `run` is a path."""
    words = {"partition": PARTITIONS, "scale": SCALES}
    return name in ("table", "model", "out") or (name in words and value not in words[name])


def _relative(path: Path, folder: Path) -> str:
    """Write a path as seen from a folder, so that both can move together."""
    path = path.expanduser()
    path = path.parent.resolve() / path.name  # ".." leads from where a link leads to
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return str(path)


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # JSON escapes all that TOML wants escaped, but for one character.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
