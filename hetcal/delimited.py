"""Read delimited text into columns of text; every row must have all its fields."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from hetcal.columns import counted
from hetcal.dialect import DELIMITERS, Dialect
from hetcal.errors import TableError
from hetcal.text_file import broken_gzip, open_text

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
    """Read a text file as columns of text, null where a field is empty.

    Returns
    -------
    table : pyarrow.Table
        Strings only.
    notes : list of str
        What was repaired or should be checked.
    """
    _check_dialect(dialect)
    bad = _BadRows()
    with _readable_errors(dialect, name), open_text(path, name) as file:
        fields = _fields(file, dialect, bad)
    names, notes = _column_names(fields, dialect, name)
    rows = fields.slice(1) if dialect.header else fields
    if bad.count:
        notes.append(_skipped(bad, rows, path, dialect, name))
    if not rows.num_rows:
        raise _no_rows(name)
    return rows.rename_columns(names), notes


def _fields(file: BinaryIO, dialect: Dialect, bad: _BadRows) -> pa.Table:
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
            "If so, untick 'First row holds the names' (--no-header on the command line)."
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
        raise wrong_encoding(dialect, name) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise broken_gzip(name) from error
    except pa.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise wrong_encoding(dialect, name) from error
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


def wrong_encoding(dialect: Dialect, name: str) -> WrongEncodingError:
    """Return the error for a file that is not text in the dialect's encoding."""
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
            "Every column needs a name, and every row as many fields as there are names.",
            "Add the missing name (often that of a first column of row numbers), "
            "or remove the extra delimiter from the rows.",
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
