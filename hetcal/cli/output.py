"""What the command line writes to the screen."""

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from hetcal.progress import Progress, TimeLeft, silent

CLEAR = "\r\x1b[K"  # go to the start of the line, and clear it


def say(text: str, stream: TextIO | None = None) -> None:
    """Write a line; characters that the stream cannot encode are escaped."""
    stream = stream or sys.stdout
    coding = stream.encoding or "utf-8"
    stream.write(text.encode(coding, "backslashreplace").decode(coding) + "\n")


def say_notes(notes: Iterable[str]) -> None:
    """Write notes to the stream of errors."""
    for note in notes:
        say(f"note: {note}", sys.stderr)


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
