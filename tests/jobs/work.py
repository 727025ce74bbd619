"""Functions for jobs in tests: a worker finds them under their names."""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from hetcal.errors import TableError


def doubled(number, progress):
    progress(0.5, "Doubling")
    print("what is printed does not disturb the answer")  # noqa: T201
    return 2 * number


def priority(progress):
    """Return the niceness of this process, and that of its session, if Linux has one."""
    session = Path("/proc/self/autogroup")
    words = session.read_text().split() if session.exists() else ()  # empty where it is off
    return os.nice(0), words[-1] if words else None


def refused(progress):
    raise TableError("It is wrong.", "It is needed.", "Do that.")


def endless(seen, progress):
    """Write the process id to a file, then go on for ever."""
    Path(seen).write_text(str(os.getpid()))
    while True:
        progress(0.1, "Going on")
        time.sleep(0.05)


def ended_from_outside(progress):
    os._exit(3)


def many_numbers(count, progress):
    """Return so many numbers after a while, enough that keeping them takes time, too."""
    for step in range(20):
        progress(step / 20, "Counting")
        time.sleep(0.01)
    return np.arange(count)


def put_aside(progress):
    """Write a temporary file, and wait to be killed."""
    folder = Path(tempfile.gettempdir()) / "kept"
    folder.mkdir()
    (folder / "file").write_text("x")
    endless(folder / "id", progress)
