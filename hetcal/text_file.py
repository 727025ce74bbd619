"""Open text files, plain or compressed, and refuse files of another kind."""

import gzip
import os
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from hetcal.errors import TableError

SAMPLE_BYTES = 64 * 1024
MAX_TEXT_BYTES = 8 * 1024**3


class _Unpacked(gzip.GzipFile):
    """A gzip file that stops unpacking at the size limit."""

    def __init__(self, path: Path, shown_name: str) -> None:
        super().__init__(path, "rb")
        self.shown_name = shown_name

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        if self.tell() > MAX_TEXT_BYTES:
            raise too_large(self.shown_name)
        return content


def too_large(name: str) -> TableError:
    """Return the error for a text file beyond the size limit."""
    return TableError(
        f"'{name}' holds more than {MAX_TEXT_BYTES / 1024**3:.0f} GB of text.",
        "A delimited text file must stay below that to fit in memory.",
        "Save the table as Parquet, or keep a sample of its rows.",
    )


def is_readable(path: Path) -> bool:
    """Return whether a path leads to a readable file; no path raises an error."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its first bytes."""
    return _begins_with(path, b"PAR1")


def is_gzip(path: Path) -> bool:
    """Return whether a file is compressed with gzip, by its first bytes."""
    return _begins_with(path, b"\x1f\x8b")


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def open_text(path: Path, name: str) -> BinaryIO:
    """Open a plain or gzip-compressed file for reading its (unpacked) bytes."""
    if is_gzip(path):
        return cast(BinaryIO, _Unpacked(path, name))
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise too_large(name)
    return path.open("rb")


def read_sample(path: Path, name: str) -> bytes:
    """Return the first (unpacked) bytes of a file, refusing an empty one."""
    try:
        with open_text(path, name) as file:
            sample = file.read(SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise broken_gzip(name) from error
    if not sample.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00"):
        raise TableError(
            f"'{name}' is empty.",
            "A table needs a row of column names and at least one row of values.",
            "Choose another file, or export this one again.",
        )
    return sample


def broken_gzip(name: str) -> TableError:
    """Return the error for a gzip file that does not unpack."""
    return TableError(
        f"'{name}' is a gzip file that is damaged or cut off.",
        "A compressed table must unpack without errors.",
        "Copy or download the file again.",
    )


def not_text(name: str, what: str) -> TableError:
    """Return the error for a file of another format."""
    return TableError(
        f"'{name}' is {what}, not a table in text form.",
        "A table must be CSV or TSV (plain or gzip) or Parquet.",
        "Save the table in one of these formats and choose that file.",
    )
