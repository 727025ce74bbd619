"""Tell on one line of a terminal how far a long work has come."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from hetcal.progress import Progress, silent

CLEAR = "\r\x1b[K"  # to the start of the line, and take away what stands there


@contextmanager
def progress_line(stream: TextIO) -> Iterator[Progress]:
    """Give what writes and rewrites the line, where someone is watching; at the end it goes."""
    if not stream.isatty():
        yield silent
        return

    def tell(done: float, doing: str) -> None:
        text = f"{done:4.0%} {doing} …"[: shutil.get_terminal_size().columns - 1]
        coding = stream.encoding or "utf-8"
        stream.write(CLEAR + text.encode(coding, "replace").decode(coding))
        stream.flush()

    try:
        yield tell
    finally:
        stream.write(CLEAR)
        stream.flush()
