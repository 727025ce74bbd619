"""A child process with limits, in a directory of its own: models never run in the app."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hetcal.child_output import read_messages, told_error
from hetcal.errors import ModelError

Command = Literal["score", "train"]

GIB = 2**30
_PACKAGE = Path(__file__).resolve().parent
# The package is put together by hand: its __init__ would import far more than a child needs.
_BOOTSTRAP = """
import sys, types
package = types.ModuleType("hetcal")
package.__path__ = [sys.argv[1]]
sys.modules["hetcal"] = package
from hetcal.model_worker import main
main()
"""
_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "PATHEXT",
    "NUMBER_OF_PROCESSORS",
)
_OUT_OF_TIME = {-getattr(signal, name, 0) for name in ("SIGALRM", "SIGXCPU")} - {0}


@dataclass(frozen=True)
class Limits:
    """What a child may use.

    Parameters
    ----------
    seconds : int
        Wall-clock time, and processor time, since a child has one busy thread.
    memory : int
        Bytes of address space; TensorFlow alone takes about 2.5 GiB.
    file_bytes : int
        Largest file it may write.
    files : int
        Files open at a time.
    """

    seconds: int = 1800
    memory: int = 4 * GIB
    file_bytes: int = 1 * GIB
    files: int = 256


def new_directory() -> Path:
    """Make a directory that only this user can read."""
    return Path(tempfile.mkdtemp(prefix="hetcal-"))


class Child:
    """One running command; it owns its directory and removes it when it is let go.

    The command, its limits and the names of its input files stand in
    `request.json`. The child reports in JSON lines and writes its results as
    files into the same directory. It ends when this object or the app ends.

    Parameters
    ----------
    command : {"score", "train"}
        What to do.
    request : mapping
        The command's settings, as plain JSON.
    directory : Path
        From `new_directory`, with the input files already inside.
    limits : Limits
        What the child may use.
    """

    def __init__(
        self, command: Command, request: Mapping[str, Any], directory: Path, limits: Limits
    ) -> None:
        self.directory = directory
        self._limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self._cancelled = False
        self._late = False
        whole = {"command": command, "limits": asdict(limits), **request}
        (directory / "request.json").write_text(json.dumps(whole), encoding="utf-8")
        self._process = _start(directory)
        self._dispose = weakref.finalize(self, _end, self._process, directory)

    @property
    def running(self) -> bool:
        """Whether the child still works; one that is out of time is ended here."""
        if self._process.poll() is not None:
            return False
        if time.monotonic() > self._deadline:
            self._late = True
            _kill(self._process)
            return False
        return True

    @property
    def cancelled(self) -> bool:
        """Whether the person has asked it to stop."""
        return self._cancelled

    def messages(self) -> list[dict[str, Any]]:
        """Everything the child has reported so far; what is not a JSON object is left out."""
        return read_messages(self.directory / "messages")

    def ask_to_stop(self) -> None:
        """Ask the child to end soon and to keep what it has."""
        self._cancelled = True
        (self.directory / "cancel").touch()

    def stop(self) -> None:
        """End the child and everything it started, at once."""
        self._cancelled = True
        _kill(self._process)

    def finish(self) -> Path:
        """Wait for the end; give the directory with the results, or say what went wrong."""
        while self.running:
            try:
                self._process.wait(timeout=max(0.01, self._deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue
        code = self._process.wait()
        said = told_error(self.messages())
        if said is not None:
            raise said
        if code != 0:
            raise self._explain(code)
        return self.directory

    def close(self) -> None:
        """End the child and remove its directory."""
        self._dispose()

    def _explain(self, code: int) -> ModelError:
        if self._cancelled:
            return ModelError(
                "The work was cancelled.",
                "No result is there.",
                "Start it again when you want it.",
            )
        if self._late or code in _OUT_OF_TIME:
            return ModelError(
                f"The model did not finish within {self._limits.seconds:,} s.",
                "A model must finish within its time limit.",
                "Use fewer rows or a smaller model, or use a score column instead.",
            )
        return ModelError(
            "The process that ran the model ended unexpectedly.",
            f"It may use at most {self._limits.memory / GIB:.1f} GiB of memory.",
            "Use a smaller model or fewer rows, or use a score column instead.",
        )


def _start(directory: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", _BOOTSTRAP, str(_PACKAGE)]
    with (directory / "messages").open("wb") as out, (directory / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # its end tells the child that the app is gone
            stdout=out,
            stderr=log,
            cwd=directory,
            env=_environment(directory),
            start_new_session=True,
        )


def _environment(directory: Path) -> dict[str, str]:
    private = dict.fromkeys(("HOME", "USERPROFILE", "KERAS_HOME", "TMPDIR", "TEMP"), str(directory))
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **private,
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    _kill(process)
    if process.stdin is not None:
        process.stdin.close()
    shutil.rmtree(directory, ignore_errors=True)
