"""Read one file into a table, with notes on what was decided on the way."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa

from hetcal.columns import Kinds
from hetcal.delimited import WrongEncodingError, read_delimited
from hetcal.dialect import Dialect, detect_dialect
from hetcal.digests import file_digest
from hetcal.errors import TableError
from hetcal.parquet import read_parquet
from hetcal.progress import Progress, between, silent
from hetcal.text_columns import as_kinds, known_column
from hetcal.text_file import is_gzip, is_parquet, is_readable

__all__ = ["Dialect", "Reading", "detect_dialect", "is_parquet", "is_readable", "read_file"]

HASHING = 0.7  # share of the time after which a large file has been read and is hashed


@dataclass(frozen=True)
class Reading:
    """A file that was read."""

    frame: pd.DataFrame  # the rows in file order; text columns have pandas' `str` type
    digest: str  # SHA-256 of the file's bytes
    dialect: Dialect | None  # how the text was read; None for Parquet
    notes: tuple[str, ...]  # what was decided or repaired, naming the column
    path: Path
    name: str  # what the user calls the file
    kinds: Kinds = field(default_factory=dict)  # those that were given

    def with_text(self, columns: Iterable[str]) -> "Reading":
        """Read the file again with these columns as text."""
        text: Kinds = dict.fromkeys(columns, "category")
        return read_file(self.path, self.dialect, name=self.name, kinds={**self.kinds, **text})


def read_file(
    path: Path,
    dialect: Dialect | None = None,
    *,
    name: str | None = None,
    kinds: Kinds | None = None,
    progress: Progress = silent,
) -> Reading:
    """Read a CSV, TSV (plain or gzip) or Parquet file.

    Parameters
    ----------
    path : Path
        The file. Its content decides the format, never its extension.
    dialect : Dialect, optional
        How to read text; detected when not given, ignored for Parquet.
    name : str, optional
        What the user calls the file, for messages; the file's own name otherwise.
    kinds : mapping, optional
        Columns that are known to hold numbers or categories, whatever values this file
        has; a category keeps the text of the file.
    progress : callable, optional
        Called with the share that has been read.

    Raises
    ------
    TableError
        When the file is not a table.
    """
    name, kinds = name or path.name, kinds or {}
    if not is_readable(path):
        raise TableError(
            f"There is no file '{path}' that can be read.",
            "The path must lead to a file on the machine that runs hetcal.",
            "Check the spelling of the path and the permissions of the file.",
        )
    reading = between(progress, 0.0, HASHING)
    if is_parquet(path):
        dialect = None
        frame, notes = read_parquet(path, name, reading)
        _check_names(list(frame.columns), name, "")
    else:
        reading(0.0, "Reading the text")
        dialect, table, notes = _read_text(path, dialect, name)
        columns = [known_column(c, table[c], dialect.decimal, kinds) for c in table.column_names]
        notes += [column.note for column in columns if column.note is not None]
        table = pa.table([c.values for c in columns], names=table.column_names)
        frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    frame, more = as_kinds(frame, kinds)
    digest = file_digest(path, between(progress, HASHING, 1.0))
    return Reading(frame, digest, dialect, (*notes, *more), path, name, kinds)


def _read_text(path: Path, given: Dialect | None, name: str) -> tuple[Dialect, pa.Table, list[str]]:
    """Read columns of text; also return the dialect that was used, and notes."""
    try:
        used = _dialect_for(path, given, name)
        try:
            table, notes = read_delimited(path, used, name)
        except WrongEncodingError:
            if given is not None or used.encoding != "utf-8":
                raise
            # The first 64 KB were plain ASCII; a letter further on shows the encoding.
            used = replace(used, encoding="cp1252")
            table, notes = read_delimited(path, used, name)
        hint = ", or untick 'First row holds the names' (--no-header on the command line)"
        _check_names(table.column_names, name, hint if used.header else "")
    except TableError as error:
        if not name.lower().endswith(".parquet"):
            raise
        raise TableError(
            f"'{name}' is neither a Parquet file, despite its name, nor a table in text form.",
            "A Parquet file begins with the letters PAR1.",
            "Export the table again as Parquet or as CSV.",
        ) from error
    return used, table, notes + (_detection_notes(used, name) if given is None else [])


def _dialect_for(path: Path, given: Dialect | None, name: str) -> Dialect:
    """Use the given dialect, or detect it; either way refuse a file that is not text."""
    if given is None:
        return detect_dialect(path, name=name)
    if not given.encoding.lower().startswith(("utf-16", "utf-32")):  # these have zero bytes
        detect_dialect(path, name=name)
    return replace(given, gzip=is_gzip(path))


def _check_names(names: Sequence[str], name: str, hint: str) -> None:
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"'{name}' has more than one column named '{twice[0]}'"
            f"{f' (and {len(twice) - 1} more repeated names)' if len(twice) > 1 else ''}.",
            "Every column needs a name of its own.",
            f"Rename or remove one of them{hint}.",
        )


def _detection_notes(dialect: Dialect, name: str) -> list[str]:
    notes = []
    if dialect.encoding in ("cp1252", "latin-1"):
        notes.append(
            f"'{name}' is not UTF-8 and was read as {dialect.encoding} (Western); "
            "check the accented letters."
        )
    if dialect.decimal == ",":
        notes.append(f"Numbers in '{name}' were read with a decimal comma.")
    return notes
