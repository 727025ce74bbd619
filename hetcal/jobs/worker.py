"""The process that a function is called in: one request, its progress, one answer."""

import contextlib
import os
import pickle
import shutil
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from hetcal.errors import HetcalError, JobError

NICENESS = 10  # pages that somebody waits for come first
SESSION = Path("/proc/self/autogroup")
TRIES = 10  # Linux takes one such request of the whole machine in a tenth of a second
PAUSE = 0.1  # seconds between two reports, and between two tries
REHEARSED = 400  # rows
OWN_FOLDER = "HETCAL_JOB_FOLDER"
"""The variable that names the folder of this process's temporary files, which goes with it."""


def main() -> None:
    """Load what most functions need, then serve one request."""
    # What the function prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _give_way()
    import_module("hetcal.runs.run")
    if sys.argv[2:] == ["ready"]:
        _rehearse()
    try:
        (place, given) = pickle.load(sys.stdin.buffer)
    except EOFError:
        return  # nothing was asked
    threading.Thread(target=_end_with_caller, daemon=True).start()
    _answer(answers, *_outcome(place, given, answers))


def _give_way() -> None:
    """Leave the processors to the pages where both want them."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    # Linux may divide time among sessions first; this process began one of its own.
    with contextlib.suppress(OSError):
        for _ in range(TRIES):
            with contextlib.suppress(BlockingIOError):
                SESSION.write_bytes(str(NICENESS).encode())
                return
            time.sleep(PAUSE)


def _rehearse() -> None:
    """Choose a scheme on a few rows, which loads libraries and compiled functions."""
    import numpy as np
    import pandas as pd

    from hetcal.runs.fitting import fit_roles
    from hetcal.runs.settings import Settings
    from hetcal.schemes.rows import SchemeRows

    rng = np.random.default_rng(0)
    x, score = rng.normal(size=(2, REHEARSED))
    y = (rng.normal(size=REHEARSED) < x + score).astype(np.int64)
    X = pd.DataFrame({"x": x, "kind": np.where(y + x > 0.5, "a", "b")})
    half = np.arange(REHEARSED) % 2 == 0
    training, held = (SchemeRows(X[some], y[some], score[some]) for some in (half, ~half))
    fit_roles(Settings(partition="auto"), training, held, None)


def _outcome(place: str, given: tuple[Any, ...], answers: Any) -> tuple[str, Any]:
    latest = 0.0

    def progress(done: float, doing: str) -> None:
        nonlocal latest
        if time.monotonic() - latest > PAUSE:
            latest = time.monotonic()
            _answer(answers, "progress", (done, doing))

    module, name = place.split(":")
    function: Any = import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    try:
        return "result", function(*given, progress)
    except HetcalError as error:
        return "error", error
    except MemoryError:
        return "error", JobError(
            "There is not enough memory for this work.",
            "All rows that are used have to fit into memory.",
            "Use fewer rows or columns, or a machine with more memory.",
        )


def _answer(answers: Any, kind: str, content: Any) -> None:
    pickle.dump((kind, content), answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()


def _end_with_caller() -> None:
    """End when the caller is gone: nobody would take the answer."""
    sys.stdin.buffer.read()
    shutil.rmtree(os.environ[OWN_FOLDER], ignore_errors=True)
    os._exit(1)
