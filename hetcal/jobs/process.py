"""Call a function in a process of its own, which ends with this one."""

import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from hetcal.errors import JobError
from hetcal.jobs.worker import OWN_FOLDER
from hetcal.progress import Progress
from hetcal.spare import Spare

# Only hetcal itself is taken from its folder, wherever the caller is.
_BOOTSTRAP = """
import sys
sys.path.insert(0, sys.argv[1])
from hetcal.jobs.worker import main
main()
"""

# What removes the temporary files of each process, which cannot do so once it is killed.
_folders: "weakref.WeakKeyDictionary[subprocess.Popen[bytes], Callable[[], object]]" = (
    weakref.WeakKeyDictionary()
)


class Cancelled(Exception):  # noqa: N818 - it is no error
    """The work was stopped because nobody needs it any more."""


class Call:
    """One call of a function in a process of its own; calling this waits for its result.

    Parameters
    ----------
    function : callable
        Found by the process under its module and name; its last argument is a `Progress`.
    *given
        Its other arguments, which are pickled.
    """

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self._request = f"{function.__module__}:{function.__qualname__}", given
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, progress: Progress) -> Any:
        """Call the function, and return what it returns or raise what it raises."""
        if self._stopped:
            raise Cancelled
        self._process = process = _spare.take() or _start()
        if self._stopped:  # while the process was begun
            process.kill()
        try:
            return self._answer(process, progress)
        finally:
            end_process(process)
            _spare.prepare()

    def stop(self) -> None:
        """End the process at once; the call raises `Cancelled`."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _answer(self, process: subprocess.Popen[bytes], progress: Progress) -> Any:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process has no pipes")
        try:
            pickle.dump(self._request, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            while True:
                kind, content = pickle.load(process.stdout)
                if kind == "progress":
                    progress(*content)
                elif kind == "result":
                    return content
                else:
                    raise content
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            if self._stopped:
                raise Cancelled from error
            raise JobError(
                "The process that did this work ended unexpectedly.",
                "It may have run out of memory or time, or have been ended from outside.",
                "Start it again; with a very large table, use fewer rows or columns.",
            ) from error


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process, close its pipes and remove what it has put aside."""
    process.kill()
    process.wait()
    _folders.pop(process)()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what it was still to read is of no use
                pipe.close()


def _start(*how: str) -> subprocess.Popen[bytes]:
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = tempfile.mkdtemp(prefix="hetcal-job-")
    process = subprocess.Popen(
        [sys.executable, "-c", _BOOTSTRAP, folder, *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **dict.fromkeys((OWN_FOLDER, "TMPDIR", "TEMP"), own)},
        start_new_session=True,  # what ends the caller by the keyboard is told to it alone
    )
    _folders[process] = weakref.finalize(process, shutil.rmtree, own, ignore_errors=True)
    return process


# It has loaded hetcal: most of the time of a short call is loading.
_spare = Spare(lambda: _start("ready"), lambda waits: waits.poll() is not None, end_process)
keep_ready, end_ready = _spare.keep, _spare.close
