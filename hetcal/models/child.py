"""A child process with limits, in a directory of its own: models never run in the app.

What it wrote is read as untrusted input: a model may have taken the child over.
"""

import io
import json
import math
import os
import signal
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from hetcal.arrays import Singles
from hetcal.errors import ModelError
from hetcal.models.process import missing_packages, serve
from hetcal.models.sandbox import GIB, Limits

Command = Literal["score", "serve", "train", "decode"]
Report = Callable[[dict[str, Any]], None]  # what a child says while it works

OUT_OF_TIME = {-getattr(signal, name, 0) for name in ("SIGALRM", "SIGXCPU")} - {0}

MOST_TEXT = 16 * 2**20
"""Bytes of messages, or of a JSON file, that are read."""

LONGEST_SENTENCE = 600
BATCH = 1024  # rows that a model scores at a time
SMALLER = "Use a smaller model or fewer rows, or use a score column instead."
# Neither a link to another file nor a pipe that never ends may be opened.
_FLAGS = os.O_RDONLY
for _name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"):
    _FLAGS |= getattr(os, _name, 0)


def require_keras(*packages: str) -> None:
    """Refuse to go on where Keras, TensorFlow or one of `packages` is not installed."""
    missing = missing_packages(*packages)
    if missing:
        raise ModelError(
            f"The package '{missing[0]}' is not installed.",
            "Keras and TensorFlow are needed to use or train a model.",
            'Install them with pip install -e ".[keras]", or use a score column instead.',
        )


class Child:
    """One running command; it owns its directory and removes it at the end.

    The command, its settings, its limits and the names of its input files are in `request.json`.
    The child reports in JSON lines and writes its results as files into the same directory. It
    ends when this object or the app ends.
    """

    def __init__(
        self, command: Command, request: Mapping[str, Any], directory: Path, limits: Limits
    ) -> None:
        self._limits = limits
        self.cancelled = False
        self._late = False
        require_keras()
        whole = {"command": command, "limits": asdict(limits), **request}
        (directory / "request.json").write_text(json.dumps(whole), encoding="utf-8")
        self._process = serve(directory)
        self._deadline = time.monotonic() + limits.seconds  # the wait for room is not the model's
        self.directory = self._process.directory

    @property
    def running(self) -> bool:
        """Whether the child still works; one that is out of time is ended here."""
        if self._process.code is not None:
            return False
        if time.monotonic() > self._deadline:
            self._late = True
            self._process.kill()
            return False
        return True

    def messages(self) -> list[dict[str, Any]]:
        """Everything the child has reported so far; what is not a JSON object is left out."""
        return read_messages(self.directory / "messages")

    def again(self) -> None:
        """Let a child that stays carry out the next request."""
        self._process.begin()

    def ask_to_stop(self) -> None:
        """Ask the child to end soon and to keep what it has."""
        self.cancelled = True
        (self.directory / "cancel").touch()

    def stop(self) -> None:
        """End the child and everything it started, at once."""
        self.cancelled = True
        self._process.kill()

    def finish(self) -> Path:
        """Wait for the end; return the directory with the results, or raise what went wrong."""
        while self.running:
            self._process.wait(max(0.01, self._deadline - time.monotonic()))
        code = self._process.code
        error = reported_error(self.messages())
        if error is not None:
            raise error
        if code != 0:
            raise self._explain(code)
        return self.directory

    def close(self) -> None:
        """End the child and remove its directory."""
        self._process.end()

    def _explain(self, code: int | None) -> ModelError:
        if self.cancelled:
            return ModelError(
                "The job was cancelled.",
                "A model must run to its end to give a result.",
                "Start it again.",
            )
        if self._late or code in OUT_OF_TIME:
            return ModelError(
                f"The model did not finish within {self._limits.seconds:,} s.",
                "A model must finish within its time limit.",
                SMALLER,
            )
        return ModelError(
            "The process that ran the model ended unexpectedly.",
            f"It may use at most {self._limits.memory / GIB:.1f} GiB of memory.",
            SMALLER,
        )


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Read the whole lines of a file that are JSON objects; others are left out."""
    try:
        with _open(path) as file:
            return parsed_lines(file.read(MOST_TEXT))
    except OSError:
        return []


def parsed_lines(text: bytes) -> list[dict[str, Any]]:
    """Return the whole lines that are JSON objects; others are left out."""
    messages = map(_parsed, text.split(b"\n")[:-1])
    return [message for message in messages if isinstance(message, dict)]


def reported_error(messages: Iterable[dict[str, Any]]) -> ModelError | None:
    """Return the first error among messages that has its three sentences."""
    for message in messages:
        error = message.get("error")
        if isinstance(error, dict):
            sentences = [error.get(part) for part in ("wrong", "needed", "remedy")]
            if all(isinstance(each, str) for each in sentences):
                return ModelError(*(str(each)[:LONGEST_SENTENCE] for each in sentences))
    return None


def numbers_of(content: object, names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the named numbers of a JSON object; None unless it has all of them."""
    if not isinstance(content, dict):
        return None
    values: list[Any] = [content.get(name) for name in names]
    if not all(isinstance(each, float) or type(each) is int for each in values):
        return None
    try:
        return tuple(map(float, values))
    except OverflowError:
        return None


def last_numbers(messages: Iterable[dict[str, Any]], names: Sequence[str]) -> list[float] | None:
    """Return the named numbers of the latest message that has them, all finite."""
    found = [each for message in messages if (each := numbers_of(message, names))]
    sound = [each for each in found if all(map(math.isfinite, each))]
    return list(sound[-1]) if sound else None


def read_bytes(path: Path, most: int) -> bytes:
    """Read a result file of at most `most` bytes."""
    try:
        with _open(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unusable(f"the file '{path.name}' is missing") from error
    if len(content) > most:
        raise unusable(f"the file '{path.name}' is too large")
    return content


def read_object(path: Path) -> dict[str, Any]:
    """Read a result file that holds one JSON object."""
    content = _parsed(read_bytes(path, MOST_TEXT))
    if not isinstance(content, dict):
        raise unusable(f"the file '{path.name}' is not a JSON object")
    return content


def read_outputs(path: Path, rows: int, units: Sequence[int] = (1, 2)) -> Singles:
    """Read a model's output: single precision, of shape (rows, one of `units`).

    What the file has to begin with is known, so nothing in it is interpreted.
    """
    headers = {each: _header(rows, each) for each in units}
    content = read_bytes(path, max(len(headers[each]) + 4 * each * rows for each in units))
    for each, header in headers.items():
        if content.startswith(header) and len(content) == len(header) + 4 * each * rows:
            values = np.frombuffer(content, np.float32, offset=len(header))
            return values.reshape(rows, each)
    listed = " or ".join(map(str, units))
    raise unusable(f"the file '{path.name}' does not hold {listed} numbers for each row")


def unusable(why: str) -> ModelError:
    """Return the error for a result file that is not as requested."""
    return ModelError(
        f"The process that ran the model left no usable result: {why}.",
        "A model must load, run and finish normally.",
        "Start it again; if this happens again, use another model or a score column.",
    )


def _open(path: Path) -> BinaryIO:
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("not a plain file")
    return file


def _parsed(text: bytes) -> object:
    """Return the content of JSON text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _header(rows: int, units: int) -> bytes:
    descr = np.lib.format.dtype_to_descr(np.dtype(np.float32))
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": (rows, units)}
    )
    return file.getvalue()
