"""What a child process wrote, read with distrust: a model may have taken the child over."""

import io
import json
import math
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hetcal.errors import ModelError

MOST_TEXT = 16 * 2**20
"""Bytes of messages, or of a JSON file, that are read."""

LONGEST_SENTENCE = 600
# Neither a link to another file nor a pipe that never ends may be opened.
_FLAGS = os.O_RDONLY
for _name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"):
    _FLAGS |= getattr(os, _name, 0)


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Read the whole lines of a file that are JSON objects; others are left out."""
    try:
        with _open(path) as file:
            lines = file.read(MOST_TEXT).split(b"\n")[:-1]
    except OSError:
        return []
    return [message for message in map(_parsed, lines) if isinstance(message, dict)]


def told_error(messages: Iterable[dict[str, Any]]) -> ModelError | None:
    """Return the first error among messages that has its three sentences."""
    for message in messages:
        said = message.get("error")
        if isinstance(said, dict):
            sentences = [said.get(part) for part in ("wrong", "needed", "remedy")]
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


def read_outputs(path: Path, rows: int, units: Sequence[int] = (1, 2)) -> NDArray[np.float32]:
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
    """Say that the child's result is not what was asked for."""
    return ModelError(
        f"The process that ran the model left no usable result: {why}.",
        "A model must load, run and end as Keras provides for.",
        "Start it again; if it happens again, use another model, or use a score column instead.",
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
