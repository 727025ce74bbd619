"""How a delimited text file is written: its delimiter, encoding and decimal mark."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hetcal.text_file import SAMPLE_BYTES, is_gzip, not_text, read_sample

DELIMITERS = (",", ";", "\t", "|")
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a compressed Parquet file",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"%PDF": "a PDF document",
}
_JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{])")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is read.

    Parameters
    ----------
    delimiter : str
        The one character between two fields.
    encoding : str
        Any encoding that Python knows, with or without a byte-order mark.
    decimal : str
        The decimal mark, "." or ",".
    gzip : bool
        Whether the file is compressed; only reported, since its first bytes decide.
    header : bool
        Whether the first row holds the column names.
    skip_bad_rows : bool
        Leave out rows with too many or too few fields instead of refusing the file.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    gzip: bool = False
    header: bool = True
    skip_bad_rows: bool = False


def detect_dialect(path: Path, *, name: str | None = None) -> Dialect:
    """Guess how a text file, plain or gzip, is written from its first 64 KB.

    A file that is empty or not text is refused under `name`, by default its own.
    """
    name = name or path.name
    sample = read_sample(path, name)
    encoding = _encoding(sample, name)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
    lines = text.lstrip("\ufeff").splitlines(keepends=True)
    if len(lines) > 1 and len(sample) == SAMPLE_BYTES:
        lines = lines[:-1]  # the last line of a full sample is incomplete
    delimiter = _delimiter(lines)
    decimal = "," if delimiter != "," and _has_decimal_comma(lines, delimiter) else "."
    return Dialect(delimiter, encoding, decimal, gzip=is_gzip(path))


def _encoding(sample: bytes, name: str) -> str:
    for magic, what in _FOREIGN.items():
        if sample.startswith(magic):
            raise not_text(name, what)
    if _JSON.match(sample.removeprefix(codecs.BOM_UTF8)):
        raise not_text(name, "JSON")
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\x00" in sample:
        return _unmarked_utf16(sample, name)
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _unmarked_utf16(sample: bytes, name: str) -> str:
    """Recognise UTF-16 without a byte-order mark: Western text has every other byte zero."""
    half = len(sample) / 2
    even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if max(even, odd) > 0.5 and min(even, odd) < 0.05:
        return "utf-16-le" if odd > even else "utf-16-be"
    raise not_text(name, "a binary file (it contains zero bytes)")


def _fields(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter))
    except csv.Error:  # a stray quote can make one field of the whole sample
        rows = [line.rstrip("\r\n").split(delimiter) for line in lines]
    return [row for row in rows if row]


def _agreement(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of rows with as many fields as the first, and that number."""
    counts = [len(row) for row in _fields(lines, delimiter)]
    if not counts or counts[0] == 1:
        return 0.0, 1
    return counts.count(counts[0]) / len(counts), counts[0]


def _delimiter(lines: Sequence[str]) -> str:
    found = {delimiter: _agreement(lines, delimiter) for delimiter in DELIMITERS}
    others = [delimiter for delimiter in DELIMITERS[1:] if found[delimiter][0] == 1.0]
    if others and not re.search(r"(?<!\d),|,(?!\d)", lines[0]):
        found[","] = (0.0, 1)  # every comma is between two digits: a decimal comma
    return max(DELIMITERS, key=lambda delimiter: found[delimiter])


def _has_decimal_comma(lines: Sequence[str], delimiter: str) -> bool:
    fields = [field.strip() for row in _fields(lines, delimiter) for field in row]
    commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in fields)
    return commas > sum(_DECIMAL_POINT.fullmatch(field) is not None for field in fields)
