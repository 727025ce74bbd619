"""What the command line writes to the screen, and the options of a run as a file."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from hetcal.choices import SCALES
from hetcal.errors import without_controls
from hetcal.progress import Progress, TimeLeft, silent
from hetcal.runs.settings import PARTITIONS
from hetcal.version import __version__

CLEAR = "\r\x1b[K"  # go to the start of the line, and clear it


def say(text: str, stream: TextIO | None = None) -> None:
    """Write lines; what the stream cannot encode, or would obey, is escaped."""
    stream = stream or sys.stdout
    stream.write(_shown(text, stream, "backslashreplace") + "\n")


def _shown(text: str, stream: TextIO, otherwise: str) -> str:
    """Make text that a stream can encode, and that a terminal shows and does not obey."""
    coding = stream.encoding or "utf-8"
    return without_controls(text).encode(coding, otherwise).decode(coding)


def say_notes(notes: Iterable[str]) -> None:
    """Write notes to the stream of errors; on a terminal, in place of the line of progress."""
    for note in notes:
        if sys.stderr.isatty():
            sys.stderr.write(CLEAR)
        say(f"note: {note}", sys.stderr)


@contextmanager
def progress_line(stream: TextIO) -> Iterator[Progress]:
    """Say what is done and the time left if the stream is a terminal, and nothing at the end."""
    if not stream.isatty():
        yield silent
        return
    time_left = TimeLeft()
    interrupts: list[int] = []

    def interrupted(number: int, frame: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    def tell(done: float, doing: str) -> None:
        if interrupts:  # one that came during an import, or in a library's callback, is lost
            raise KeyboardInterrupt
        text = f"{done:4.0%} {doing} … {time_left.after(done)}".rstrip()
        text = _shown(text, stream, "replace")[: shutil.get_terminal_size().columns - 1]
        stream.write(CLEAR + text)
        stream.flush()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield tell
    finally:
        signal.signal(signal.SIGINT, before)
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
        if name == "array" and isinstance(value, tuple):
            shown = tuple(array_in(each, lambda file: _relative(file, folder)) for each in value)
        lines.append(f"{name.replace('_', '-')} = {_toml(shown)}")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def is_path(name: str, value: object) -> bool:
    """Return whether the value of an option of `run` is a path."""
    words = {"partition": PARTITIONS, "scale": SCALES}
    paths = ("table", "model", "embeddings", "raw", "undo_scale", "images", "out", "sign")
    return name in paths or (name in words and value not in words[name])


def array_in(text: str, place: Callable[[Path], str]) -> str:
    """Write the file of an array, after the name of its input if there is one, in another place.

    >>> array_in("image=a.npy", lambda file: f"data/{file}"), array_in("a.npy", str)
    ('image=data/a.npy', 'a.npy')
    """
    name, named, file = text.rpartition("=")
    return f"{name}{named}{place(Path(file))}"


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
