"""The process that runs a model: it loads Keras, waits for its request and ends after it.

A spare one can wait with Keras loaded, so that a model begins at once. Each process serves one
request in a directory of its own: nothing of one model can reach another.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from threading import Lock

from hetcal.errors import ModelError
from hetcal.spare import Spare

# Only hetcal itself is taken from its folder: what else is there must not be found.
_BOOTSTRAP = """
import sys
sys.path.insert(0, sys.argv[1])
import hetcal
del sys.path[0]
import importlib
from hetcal.models.sandbox import shut_in
shut_in(sys.argv[3:], hetcal.__path__)
importlib.import_module(sys.argv[2]).main()
"""
_IMPORT_KERAS = """
import sys
sys.path.insert(0, sys.argv[1])
from hetcal.models.keras_internals import import_keras
import_keras()
"""
_KEPT = {"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH"}
_KEPT |= {"SYSTEMROOT", "PATHEXT", "NUMBER_OF_PROCESSORS"}  # Windows


AT_ONCE = int(os.environ.get("HETCAL_MODELS") or 4)
"""Processes that may look at or run models at the same time, of one app."""

PATIENCE = 60.0  # seconds that others wait
_PAUSE = 0.1
_turn = Lock()
_begun: "weakref.WeakSet[subprocess.Popen[bytes]]" = weakref.WeakSet()


def begun(begin: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Begin a process as soon as fewer than `AT_ONCE` are at work; say so if that takes long."""
    latest = time.monotonic() + PATIENCE
    while True:
        with _turn:
            if sum(each.poll() is None for each in list(_begun)) < AT_ONCE:
                popen = begin()
                _begun.add(popen)
                return popen
        if time.monotonic() > latest:
            raise ModelError(
                f"{AT_ONCE} other models are looked at or run already.",
                f"At most so many are at work at the same time; hetcal waited {PATIENCE:.0f} s.",
                "Try again in a few minutes.",
            )
        time.sleep(_PAUSE)


def new_directory() -> Path:
    """Make a directory that only this user can read."""
    return Path(tempfile.mkdtemp(prefix="hetcal-"))


def missing_packages(*names: str) -> list[str]:
    """Return which of Keras and TensorFlow, or of the named packages, are not installed."""
    return [name for name in names or ("keras", "tensorflow") if find_spec(name) is None]


class Process:
    """A process that loads Keras and waits for the request in its directory.

    It ends, and its directory is removed, when this object or the app ends.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.popen = _start(directory)
        self.end = weakref.finalize(self, _end, self.popen, directory, os.getpid())

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.popen.pid

    @property
    def code(self) -> int | None:
        """The code with which it ended; None as long as it runs."""
        return self.popen.poll()

    def begin(self) -> None:
        """Let it carry out `request.json` as soon as Keras is loaded."""
        stdin = self.popen.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # it has died, which whoever waits for it is told
            stdin.write(b"\n")
            stdin.flush()

    def wait(self, seconds: float) -> None:
        """Wait for its end, but not for longer than this."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)

    def kill(self) -> None:
        """End it and everything it started, at once."""
        kill(self.popen)


def keep_spare(rest: float = 0.0) -> None:
    """Let a process with Keras loaded wait from now on; when it is taken, the next one starts.

    For an app that runs models again and again. The next one starts `rest` seconds later, so that
    it does not take the processors from the model that somebody waits for. While it waits, the
    process takes about 190 MB of memory, and 310 MB of TensorFlow's files, which it shares with
    those that run a model.
    """
    if not missing_packages():
        _spare.keep(rest)


def close_spare() -> None:
    """End the process that waits, and keep none from now on."""
    _spare.close()


def serve(directory: Path) -> Process:
    """Let a process carry out the request in `directory`: the one that waits, or else a new one.

    The one that waits has its own directory, to which the files are moved.
    """
    taken: list[Process] = []

    def begin() -> subprocess.Popen[bytes]:
        taken.append(_spare.take() or Process(directory))
        return taken[0].popen

    begun(begin)
    _spare.prepare()
    (process,) = taken
    if process.directory != directory:
        for file in directory.iterdir():
            shutil.move(file, process.directory)
        directory.rmdir()
    process.begin()
    return process


def _new_spare() -> Process | None:
    """Start a process; None where there is no room for one: models then run without a spare."""
    try:
        directory = new_directory()
    except OSError:
        return None
    try:
        return Process(directory)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        return None


_spare = Spare(_new_spare, lambda waits: waits.code is not None, lambda waits: waits.end())


def command_line(module: str, *directories: Path) -> list[str]:
    """Return the command that runs `main` of a module, shut in but for `directories`."""
    return _python(_BOOTSTRAP, module, *map(str, directories))


def _python(code: str, *arguments: str) -> list[str]:
    folder = Path(sys.modules["hetcal"].__path__[0]).resolve().parent
    return [sys.executable, "-I", "-c", code, str(folder), *arguments]


@cache
def _compile_keras() -> None:
    """Import Keras once where an installer has not compiled it: who is shut in can keep nothing."""
    keras = find_spec("keras")
    if keras and keras.origin and not Path(cache_from_source(keras.origin)).exists():
        with tempfile.TemporaryDirectory() as home:
            given = environment(Path(home))
            subprocess.run(_python(_IMPORT_KERAS), env=given, capture_output=True, check=False)


def _start(directory: Path) -> subprocess.Popen[bytes]:
    _compile_keras()
    with (directory / "messages").open("wb") as out, (directory / "log").open("wb") as log:
        return subprocess.Popen(
            command_line("hetcal.models.worker", directory),
            stdin=subprocess.PIPE,  # its end tells the child that the app is gone
            stdout=out,
            stderr=log,
            cwd=directory,
            env=environment(directory),
            start_new_session=True,
        )


def environment(directory: Path) -> dict[str, str]:
    """Return what a child is told of this machine; its home is `directory`."""
    private = dict.fromkeys(("HOME", "USERPROFILE", "KERAS_HOME", "TMPDIR", "TEMP"), str(directory))
    return {
        **{name: value for name, value in os.environ.items() if name in _KEPT},
        **private,
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }


def kill(popen: subprocess.Popen[bytes]) -> None:
    """End a child and everything it started, at once."""
    if popen.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(popen.pid, signal.SIGKILL)
        else:
            popen.kill()
        popen.wait()


def _end(popen: subprocess.Popen[bytes], directory: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a copy of the app that was forked ends; the app itself still waits
    kill(popen)
    if popen.stdin is not None:
        popen.stdin.close()
    shutil.rmtree(directory, ignore_errors=True)
