"""Read one file into a table, with notes on what was decided on the way."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa

from hetcal.data.budget import refuse_above_budget
from hetcal.data.columns import Kinds, as_text, check_names, column_kind, counted
from hetcal.data.parquet import read_parquet
from hetcal.data.splits import ROLES, role_named
from hetcal.data.text import (
    Dialect,
    WrongEncodingError,
    detect_dialect,
    is_gzip,
    is_parquet,
    is_readable,
    read_delimited,
)
from hetcal.data.types import as_kinds, known_column
from hetcal.digests import file_digest
from hetcal.errors import TableError
from hetcal.progress import Progress, between, silent

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
    """Read a CSV, TSV (plain or gzip) or Parquet file; its content decides the format.

    Parameters
    ----------
    dialect : Dialect, optional
        How to read text; detected when not given, ignored for Parquet.
    name : str, optional
        What the user calls the file, for messages; the file's own name otherwise.
    kinds : mapping, optional
        Columns that are known to hold numbers or categories, whatever values this file
        has; a category keeps the text of the file.
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
        check_names(list(frame.columns), f"'{name}'")
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
        hint = ", or untick 'First row holds the column names' (--no-header on the command line)"
        check_names(table.column_names, f"'{name}'", hint if used.header else "")
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


MOST_LISTED = 20  # files that a note names
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what a folder is named by for rows without a value
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".csv.gz", ".tsv.gz", ".txt.gz")


@dataclass(frozen=True)
class Source:
    """The rows of one or more files as one table."""

    frame: pd.DataFrame  # all rows, in file order
    digest: str  # SHA-256 of the files' bytes and of how they were read
    notes: tuple[str, ...]  # what was decided or repaired
    split_column: str | None  # added to hold each row's role, for one file per role
    raw: tuple[str, ...] = ()  # columns that were added for partitions, see `raw_columns`,
    prepared: tuple[str, ...] = ()  # and those that they do not read, unless they are told to


def one_file(reading: Reading) -> Source:
    """Use a single file."""
    return Source(reading.frame, _digest({"": reading}), reading.notes, None)


def file_per_role(readings: Mapping[str, Reading]) -> Source:
    """Join one file per role, all with the same columns, and add a column that holds the role.

    `readings` maps "train", "validation", "calibration" or "test" to the file that was read.
    """
    ordered = {role: readings[role] for role in ROLES if role in readings}
    source = _joined(ordered, "the {} file")
    column = "split" if "split" not in source.frame.columns else "split (file)"
    roles = np.repeat(list(ordered), [len(reading.frame) for reading in ordered.values()])
    frame = source.frame.assign(**{column: pd.Series(roles, dtype="str")})
    return replace(source, frame=frame, split_column=column)


def from_path(
    path: Path,
    dialect: Dialect | None = None,
    kinds: Kinds | None = None,
    progress: Progress = silent,
) -> Source:
    """Use a file or a folder; the other parameters are those of `read_file`.

    Files in a folder that are named train, validation (val), calibration (cal) or test are one
    file per role; otherwise all tables of the folder are parts of one.
    """
    path = Path(os.path.expanduser(path))
    if not os.path.isdir(path):
        return one_file(read_file(path, dialect, kinds=kinds, progress=progress))
    files = table_files(path)
    if not files:
        raise TableError(
            f"The folder '{path}' contains no tables.",
            f"A folder must contain files that end in {', '.join(ENDINGS)}.",
            "Check the path, or give the path of a single file.",
        )
    by_role = _files_by_role(files)
    if len(by_role) > 1:
        source = file_per_role(_read_all(by_role, dialect, kinds, progress))
        unused = ", ".join(f"'{file.name}'" for file in files if file not in by_role.values())
        note = f"Files that do not name a role were left out: {unused}."
        return replace(source, notes=(*source.notes, note)) if unused else source
    named = {file.relative_to(path).as_posix(): file for file in files}
    readings = _read_all(named, dialect, kinds, progress)
    if list(named) == [files[0].name]:
        return one_file(*readings.values())
    source = _with_folders(_joined(readings, "'{}'"), readings, kinds or {})
    listed = ", ".join(list(readings)[:MOST_LISTED]) + (", …" if len(files) > MOST_LISTED else "")
    note = f"{counted(len(readings), 'file')} were joined into one table: {listed}."
    return replace(source, notes=(note, *source.notes))


def _with_folders(source: Source, readings: Mapping[str, Reading], kinds: Kinds) -> Source:
    """Add the columns that folders such as `year=2024` stand for."""
    folders = [dict(map(_divided, name.split("/")[:-1])) for name in readings]
    columns = list(dict.fromkeys(column for each in folders for column in each))
    rows = [len(reading.frame) for reading in readings.values()]
    added, notes = {}, []
    for column in columns:
        texts = pa.array([each.get(column) for each in folders], pa.large_string())
        values, note = known_column(column, pa.chunked_array([texts]), ".", kinds)
        typed = pa.table([values], names=["values"]).to_pandas(date_as_object=False)["values"]
        repeated = typed.repeat(rows).reset_index(drop=True)
        if column not in source.frame:
            added[column] = repeated
        elif not _says_the_same(source.frame[column], repeated):
            check_names([*source.frame.columns, column], "The folder")
        notes += [] if note is None else [note]
    frame = pd.concat([source.frame, pd.DataFrame(added)], axis=1) if added else source.frame
    return replace(source, frame=frame, notes=(*source.notes, *notes))


def _says_the_same(inside: pd.Series, named: pd.Series) -> bool:
    """Whether a column of the files holds the values that their folders are named by, too."""
    return bool(as_text(inside).fillna("").equals(as_text(named).fillna("")))


def _divided(folder: str) -> tuple[str, str | None]:
    """Return the column and the value that the name of a folder stands for."""
    column, _, value = folder.partition("=")
    return unquote(column), None if value == NO_VALUE else unquote(value)


def table_files(path: Path) -> list[Path]:
    """Return the tables of a folder in the order of their names; of a file, the file.

    Those of folders such as `year=2024/kind=a` are parts of the table, too.
    """
    if not os.path.isdir(path):
        return [path]
    found = sorted(each for each in path.iterdir() if each.name[0] not in "._")
    tables = [each for each in found if each.name.lower().endswith(ENDINGS) and each.is_file()]
    inside = [each for each in found if "=" in each.name[1:] and each.is_dir()]
    return tables + [file for each in inside for file in table_files(each)]


def _read_all(
    files: Mapping[str, Path], dialect: Dialect | None, kinds: Kinds | None, progress: Progress
) -> dict[str, Reading]:
    readings, taken = {}, 0
    for i, (name, file) in enumerate(files.items()):
        part = between(progress, i / len(files), (i + 1) / len(files))
        readings[name] = read_file(file, dialect, kinds=kinds, progress=part)
        taken += int(readings[name].frame.memory_usage(index=False).sum())
        refuse_above_budget(taken * len(files) / (i + 1), file.parent.name, f"{len(files)} files")
    return readings


def _files_by_role(files: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in files:
        role = role_named(file.name.split(".")[0])
        if role is None:
            continue
        if role in found:
            raise TableError(
                f"The files '{found[role].name}' and '{file.name}' both name the {role} rows.",
                "A folder may contain one file per role.",
                "Rename or remove one of them.",
            )
        found[role] = file
    return found


def _digest(readings: Mapping[str, Reading]) -> str:
    """Identify the content and how it was read: another delimiter makes another table."""
    parts = [
        f"{name}\n{r.digest}\n{r.dialect!r}\n{sorted(r.kinds.items())}"
        for name, r in readings.items()
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _joined(readings: Mapping[str, Reading], shown_as: str) -> Source:
    """Put files with the same columns one under the other; `shown_as` names them in errors."""
    frames = {shown_as.format(name): reading.frame for name, reading in readings.items()}
    first_name, first = next(iter(frames.items()))
    for name, frame in frames.items():
        _check_columns(first_name, first.columns, name, frame.columns)
    mixed = [column for column in first.columns if _is_mixed(frames.values(), column)]
    # Numbers and dates would not give back the text that they were read from.
    texts = (reading.with_text(mixed) if mixed else reading for reading in readings.values())
    aligned = [reading.frame[list(first.columns)] for reading in texts]
    notes = [f"{name}: {note}" for name, reading in readings.items() for note in reading.notes]
    notes += [
        f"Column '{column}' holds text in one file and other values in another; it is used as text."
        for column in mixed
    ]
    return Source(pd.concat(aligned, ignore_index=True), _digest(readings), tuple(notes), None)


def _check_columns(first_name: str, first: pd.Index, name: str, columns: pd.Index) -> None:
    for whole, inside, missing, lacking in (
        (first, columns, name, first_name),
        (columns, first, first_name, name),
    ):
        absent = [column for column in whole if column not in inside]
        if absent:
            listed = ", ".join(f"'{column}'" for column in absent[:5])
            raise TableError(
                f"{missing[0].upper()}{missing[1:]} lacks columns that {lacking} has ({listed}"
                f"{', …' if len(absent) > 5 else ''}).",
                "All files must have the same columns.",
                "Add these columns to the one or remove them from the other.",
            )


def _is_mixed(frames: Iterable[pd.DataFrame], column: str) -> bool:
    kinds = {column_kind(frame[column]) for frame in frames if frame[column].notna().any()}
    empty = {column_kind(frame[column]) for frame in frames if not frame[column].notna().any()}
    return len(kinds) > 1 or (kinds == {"category"} and bool(empty - kinds))
