"""Read delimited text into columns of text; every row must have all its fields."""

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from hetcal.data.budget import budget, refuse_above_budget, refuse_too_wide
from hetcal.data.columns import counted
from hetcal.errors import TableError

SAMPLE_BYTES = 64 * 1024
FIELD_BYTES = 16  # of memory for each field beside its text: where it is, and its number


class _Metered(io.RawIOBase):
    """Reads the (unpacked) bytes of a file until its table would take more than the budget."""

    def __init__(self, path: Path, name: str, delimiter: str) -> None:
        self._path, self._name = path, name
        self._ends = [delimiter.encode(errors="replace"), b"\n"]
        self._stored = path.open("rb")  # what is on disk; a gzip unpacks to more
        self._bytes = gzip.GzipFile(fileobj=self._stored) if is_gzip(path) else self._stored
        self._taken, self._columns, self._in_header = 0, 1, True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._bytes.read(len(buffer))
        self._taken += len(content) + FIELD_BYTES * sum(map(content.count, self._ends))
        if self._taken > budget():
            size = self._path.stat().st_size
            whole = self._taken * size / min(self._stored.tell(), size)
            refuse_above_budget(whole, self._name, f"{size / 1e6:,.1f} MB on disk")
        if self._in_header:
            header, end, _ = content.partition(b"\n")
            self._columns += header.count(self._ends[0])
            self._in_header = not end
            refuse_too_wide(self._columns, self._name)
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._bytes.close()
        self._stored.close()
        super().close()


def is_readable(path: Path) -> bool:
    """Return whether a path leads to a readable file; no path raises an error."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def is_gzip(path: Path) -> bool:
    """Return whether a file is compressed with gzip, by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def is_simple(path: Path) -> bool:
    """Return whether a file is text that is not packed, with a first line of usual length."""
    with path.open("rb") as file:
        head = file.read(SAMPLE_BYTES)
    packed = head.startswith((b"PAR1", b"\x1f\x8b", b"PK"))
    return not packed and (len(head) < SAMPLE_BYTES or b"\n" in head)


def open_text(path: Path, name: str, delimiter: str = ",") -> BinaryIO:
    """Open a plain or gzip-compressed file for reading its (unpacked) bytes, within the budget."""
    size = path.stat().st_size
    refuse_above_budget(size, name, f"{size / 1e6:,.1f} MB on disk")
    return io.BufferedReader(_Metered(path, name, delimiter), SAMPLE_BYTES)


def _read_sample(path: Path, name: str) -> bytes:
    """Return the first (unpacked) bytes of a file, refusing an empty one."""
    try:
        with open_text(path, name) as file:
            sample = file.read(SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _broken_gzip(name) from error
    if not sample.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00"):
        raise TableError(
            f"'{name}' is empty.",
            "A table needs a row of column names and at least one row of values.",
            "Choose another file, or export this one again.",
        )
    return sample


def _broken_gzip(name: str) -> TableError:
    return TableError(
        f"'{name}' is a gzip file that is damaged or cut off.",
        "A compressed table must unpack without errors.",
        "Copy or download the file again.",
    )


def _not_text(name: str, what: str) -> TableError:
    return TableError(
        f"'{name}' is {what}, not a table in text form.",
        "A table must be CSV or TSV (plain or gzip) or Parquet.",
        "Save the table in one of these formats and choose that file.",
    )


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
    """How a delimited text file is read."""

    delimiter: str = ","  # one character
    encoding: str = "utf-8"  # any that Python knows, with or without a byte-order mark
    decimal: str = "."  # the decimal mark, "." or ","
    gzip: bool = False  # only reported: the first bytes of the file decide
    header: bool = True  # whether the first row holds the column names
    skip_bad_rows: bool = False  # leave out rows with too many or too few fields


def detect_dialect(path: Path, *, name: str | None = None) -> Dialect:
    """Guess how a text file, plain or gzip, is written from its first 64 KB.

    A file that is empty or not text is refused under `name`, by default its own.
    """
    name = name or path.name
    sample = _read_sample(path, name)
    encoding = _encoding(sample, name)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
    lines = text.lstrip("\ufeff").splitlines(keepends=True)
    if len(lines) > 1 and len(sample) == SAMPLE_BYTES:
        lines = lines[:-1]  # the last line of a full sample is incomplete
    delimiter = _delimiter(lines)
    decimal = "," if delimiter != "," and _has_decimal_comma(lines, delimiter) else "."
    return Dialect(delimiter, encoding, decimal, gzip=is_gzip(path))


def _encoding(sample: bytes, name: str) -> str:
    foreign = [what for magic, what in _FOREIGN.items() if sample.startswith(magic)]
    if foreign or _JSON.match(sample.removeprefix(codecs.BOM_UTF8)):
        raise _not_text(name, foreign[0] if foreign else "JSON")
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # before its beginning
        return "utf-32"
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
    raise _not_text(name, "a binary file (it contains zero bytes)")


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


_KEPT_BAD_ROWS = 1000


@dataclass
class _BadRows:
    """Rows with too many or too few fields, as the parser meets them."""

    count: int = 0
    fields: set[int] = field(default_factory=set)
    texts: dict[str, int] = field(default_factory=dict)

    def __call__(self, row: Any) -> str:
        self.count += 1
        self.fields.add(row.actual_columns)
        if len(self.texts) < _KEPT_BAD_ROWS:
            self.texts[row.text] = row.actual_columns
        return "skip"


def read_delimited(path: Path, dialect: Dialect, name: str) -> tuple[pa.Table, list[str]]:
    """Read a text file as columns of text, null where a field is empty; also return notes."""
    _check_dialect(dialect)
    bad = _BadRows()
    with _readable_errors(dialect, name), open_text(path, name, dialect.delimiter) as file:
        fields = _split_fields(file, dialect, bad)
    names, notes = _column_names(fields, dialect, name)
    rows = fields.slice(1) if dialect.header else fields
    if bad.count:
        notes.append(_skipped(bad, rows, path, dialect, name))
    if not rows.num_rows:
        raise _no_rows(name)
    return rows.rename_columns(names), notes


def _split_fields(file: BinaryIO, dialect: Dialect, bad: _BadRows) -> pa.Table:
    """Parse all rows, including the header, into columns of text."""
    import pyarrow.csv as pacsv

    return pacsv.read_csv(
        file,
        pacsv.ReadOptions(
            autogenerate_column_names=True, encoding=dialect.encoding, block_size=1 << 22
        ),
        pacsv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=bad
        ),
        pacsv.ConvertOptions(
            default_column_type=pa.large_string(), null_values=[""], strings_can_be_null=True
        ),
    )


def _check_dialect(dialect: Dialect) -> None:
    if len(dialect.delimiter) != 1 or dialect.delimiter in '"\r\n':
        raise TableError(
            f"The delimiter {dialect.delimiter!r} cannot be used.",
            "The delimiter must be one character other than a quote or a line end.",
            "Choose comma, semicolon, tab or bar (--delimiter on the command line).",
        )
    if dialect.decimal not in (".", ","):
        raise TableError(
            f"The decimal mark {dialect.decimal!r} cannot be used.",
            "The decimal mark must be a point or a comma.",
            "Choose '.' or ','.",
        )


def _column_names(fields: pa.Table, dialect: Dialect, name: str) -> tuple[list[str], list[str]]:
    """Take the column names from the first row; spaces are trimmed, missing names added."""
    if not dialect.header:
        return [f"column {i}" for i in range(1, fields.num_columns + 1)], []
    written = [column[0].as_py() or "" for column in fields.columns]
    if len(written) == 1:
        _check_one_column(written[0], dialect, name)
    names = [text.strip() or f"column {i}" for i, text in enumerate(written, start=1)]
    notes = [
        f"The column name '{text}' is used without the spaces around it."
        for text in written
        if text.strip() and text != text.strip()
    ]
    notes += [
        f"Column {i} has no name and is called 'column {i}'."
        for i, text in enumerate(written, start=1)
        if not text.strip()
    ]
    numbers = [text for text in names if _is_number(text)]
    if 2 * len(numbers) >= len(names):
        notes.append(
            f"The first row of '{name}' looks like values, not names ('{numbers[0]}'). "
            "If so, untick 'First row holds the column names' (--no-header on the command line)."
        )
    return names, notes


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _check_one_column(header: str, dialect: Dialect, name: str) -> None:
    for other in DELIMITERS:
        if other != dialect.delimiter and other in header:
            raise TableError(
                f"With delimiter {dialect.delimiter!r} the file '{name}' has a single column, "
                f"named '{header}'.",
                f"The delimiter must be the character between the columns, here perhaps {other!r}.",
                "Choose another delimiter (--delimiter on the command line).",
            )


@contextmanager
def _readable_errors(dialect: Dialect, name: str) -> Iterator[None]:
    """Turn the parser's errors into table errors."""
    try:
        yield
    except LookupError as error:
        raise TableError(
            f"The encoding '{dialect.encoding}' is unknown.",
            "The encoding must be one that Python knows.",
            "Choose utf-8, utf-16 or cp1252.",
        ) from error
    except UnicodeError as error:
        raise _wrong_encoding(dialect, name) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _broken_gzip(name) from error
    except pa.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise _wrong_encoding(dialect, name) from error
        if "Empty CSV file" in str(error):  # one line without an end
            raise _no_rows(name) from error
        raise TableError(
            f"'{name}' could not be read as text with delimiter {dialect.delimiter!r} "
            f"({str(error).splitlines()[0].rstrip('.')}).",
            "Every row must have the same number of fields and every quote must be closed.",
            "Choose another delimiter (--delimiter on the command line), or export the table "
            "again.",
        ) from error


def _no_rows(name: str) -> TableError:
    return TableError(
        f"'{name}' has a row of column names but no rows of values.",
        "A table needs at least one row of values.",
        "Choose another file, or export this one again.",
    )


class WrongEncodingError(TableError):
    """The bytes of a file are not text in the chosen encoding."""


def _wrong_encoding(dialect: Dialect, name: str) -> WrongEncodingError:
    return WrongEncodingError(
        f"'{name}' contains bytes that are not text in the encoding '{dialect.encoding}'.",
        "The encoding must be the one the file was written in.",
        "Choose another encoding, for instance cp1252 (Western Windows) or utf-16 (--encoding on "
        "the command line).",
    )


def _skipped(bad: _BadRows, rows: pa.Table, path: Path, dialect: Dialect, name: str) -> str:
    """Return the note on skipped rows, or refuse them."""
    columns = rows.num_columns
    if not rows.num_rows and len(bad.fields) == 1:
        raise TableError(
            f"Every row of '{name}' has {counted(bad.fields.pop(), 'field')}, but its first row "
            f"names {counted(columns, 'column')}.",
            "Every column needs a name, every row as many fields as there are names, and every "
            "quote an end.",
            "Add the missing name (often that of a first column of row numbers), "
            "remove the extra delimiter from the rows, or close the quote.",
        )
    line, text = _first_bad_line(bad, path, dialect, name)
    if dialect.skip_bad_rows:
        rows_are = "row was" if bad.count == 1 else "rows were"
        return (
            f"{bad.count:,} {rows_are} left out because the number of fields is not {columns}; "
            f"the first is line {line:,}."
        )
    found = bad.texts[text]
    raise TableError(
        f"Line {line:,} of '{name}' has {counted(found, 'field')} instead of {columns}"
        f"{f' ({bad.count:,} such rows in all)' if bad.count > 1 else ''}.",
        "Every row must have as many fields as there are columns.",
        "Correct the file, or tick 'skip bad rows' (--skip-bad-rows on the command line) to leave "
        "such rows out.",
    )


def _first_bad_line(bad: _BadRows, path: Path, dialect: Dialect, name: str) -> tuple[int, str]:
    """Find the line of the first bad row: the parser reports its text but not its place."""
    starts = {text.split("\n")[0].rstrip("\r"): text for text in reversed(bad.texts)}
    with open_text(path, name) as file, io.TextIOWrapper(file, dialect.encoding) as lines:
        for number, line in enumerate(lines, start=1):
            text = starts.get(line.rstrip("\r\n").removeprefix("\ufeff"))
            if text is not None:
                return number, text
    return 1, next(iter(bad.texts))
