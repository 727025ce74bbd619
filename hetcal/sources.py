"""Where the rows come from: one file, one file per role, or a folder."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.columns import Kinds, column_kind
from hetcal.errors import TableError
from hetcal.progress import Progress, between, silent
from hetcal.reading import Dialect, Reading, read_file
from hetcal.splits import ROLES, role_named

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".csv.gz", ".tsv.gz", ".txt.gz")


@dataclass(frozen=True)
class Source:
    """The rows of one or more files as one table.

    Parameters
    ----------
    frame : DataFrame
        All rows, in file order.
    digest : str
        SHA-256 that stands for the files' bytes and the way they were read.
    notes : tuple of str
        What was decided or repaired.
    split_column : str or None
        The column that was added to hold each row's role, for one file per role.
    """

    frame: pd.DataFrame
    digest: str
    notes: tuple[str, ...]
    split_column: str | None


def one_file(reading: Reading) -> Source:
    """Use a single file."""
    return Source(reading.frame, _digest({"": reading}), reading.notes, None)


def file_per_role(readings: Mapping[str, Reading]) -> Source:
    """Join one file per role and add a column that holds the role.

    Parameters
    ----------
    readings : mapping
        Role ("train", "validation", "calibration", "test") to the file that was read.

    Raises
    ------
    TableError
        When the files have different columns.
    """
    ordered = {role: readings[role] for role in ROLES if role in readings}
    frame, notes = _joined({f"the {role} file": reading for role, reading in ordered.items()})
    column = "split" if "split" not in frame.columns else "split (file)"
    roles = np.repeat(list(ordered), [len(reading.frame) for reading in ordered.values()])
    frame = frame.assign(**{column: pd.Series(roles, dtype="str")})
    told = [f"{role}: {note}" for role, reading in ordered.items() for note in reading.notes]
    return Source(frame, _digest(ordered), (*told, *notes), column)


def from_path(
    path: Path,
    dialect: Dialect | None = None,
    kinds: Kinds | None = None,
    progress: Progress = silent,
) -> Source:
    """Use a file or a folder.

    Files in a folder that are named train, validation (val), calibration (cal) or
    test are one file per role; otherwise all its tables are parts of one.

    Parameters
    ----------
    path : Path
        The file or folder.
    dialect, kinds, progress
        As in `read_file`.

    Raises
    ------
    TableError
        When there is nothing to read, or the files do not fit together.
    """
    path = Path(os.path.expanduser(path))
    if not os.path.isdir(path):
        return one_file(read_file(path, dialect, kinds=kinds, progress=progress))
    files = table_files(path)
    if not files:
        raise TableError(
            f"The folder '{path}' holds no tables.",
            f"A folder must hold files that end in {', '.join(ENDINGS)}.",
            "Check the path, or give the path of a single file.",
        )
    by_role = _files_by_role(files)
    if len(by_role) > 1:
        readings = _read_all(by_role, dialect, kinds, progress)
        return _with_notes(file_per_role(readings), _unused_note(files, by_role.values()))
    return _parts(_read_all({file.name: file for file in files}, dialect, kinds, progress))


def table_files(path: Path) -> list[Path]:
    """Return the tables of a folder in the order of their names; of a file, the file."""
    if not os.path.isdir(path):
        return [path]
    return sorted(
        file
        for file in path.iterdir()
        if file.is_file() and file.name.lower().endswith(ENDINGS) and file.name[0] not in "._"
    )


def _read_all(
    files: Mapping[str, Path], dialect: Dialect | None, kinds: Kinds | None, progress: Progress
) -> dict[str, Reading]:
    readings = {}
    for i, (name, file) in enumerate(files.items()):
        part = between(progress, i / len(files), (i + 1) / len(files))
        readings[name] = read_file(file, dialect, kinds=kinds, progress=part)
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
                "A folder may hold one file per role.",
                "Rename or remove one of them.",
            )
        found[role] = file
    return found


def _unused_note(files: Sequence[Path], used: Iterable[Path]) -> list[str]:
    unused = [file.name for file in files if file not in set(used)]
    listed = ", ".join(f"'{name}'" for name in unused)
    return [f"Files that name no role were left out: {listed}."] if unused else []


def _with_notes(source: Source, notes: Sequence[str]) -> Source:
    return Source(source.frame, source.digest, (*source.notes, *notes), source.split_column)


def _parts(readings: Mapping[str, Reading]) -> Source:
    """Join files that hold parts of one table."""
    if len(readings) == 1:
        return one_file(next(iter(readings.values())))
    frame, notes = _joined({f"'{name}'": reading for name, reading in readings.items()})
    told = [f"{name}: {note}" for name, reading in readings.items() for note in reading.notes]
    joined = f"{len(readings)} files were joined into one table: {', '.join(readings)}."
    return Source(frame, _digest(readings), (joined, *told, *notes), None)


def _digest(readings: Mapping[str, Reading]) -> str:
    """Stand for the content and the way it was read: another delimiter is another table."""
    parts = [
        f"{name}\n{r.digest}\n{r.dialect!r}\n{sorted(r.kinds.items())}"
        for name, r in readings.items()
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _joined(readings: Mapping[str, Reading]) -> tuple[pd.DataFrame, list[str]]:
    """Put files with the same columns one under the other."""
    frames = {name: reading.frame for name, reading in readings.items()}
    first_name, first = next(iter(frames.items()))
    for name, frame in frames.items():
        _check_columns(first_name, first.columns, name, frame.columns)
    mixed = [column for column in first.columns if _is_mixed(frames.values(), column)]
    # Numbers and dates would not give back the text that they were read from.
    texts = (reading.with_text(mixed) if mixed else reading for reading in readings.values())
    aligned = [reading.frame[list(first.columns)] for reading in texts]
    notes = [
        f"Column '{column}' holds text in one file and other values in another; it is used as text."
        for column in mixed
    ]
    return pd.concat(aligned, ignore_index=True), notes


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
