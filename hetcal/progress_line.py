"""Show progress on one line of a terminal."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from hetcal.progress import Progress, silent

CLEAR = "\r\x1b[K"  # to the start of the line, and take away what stands there


@contextmanager
def progress_line(stream: TextIO) -> Iterator[Progress]:
    """Write and rewrite the line if the stream is a terminal, and clear it at the end."""
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
