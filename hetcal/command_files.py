"""The files that a command reads and writes, and what to say where it cannot."""

import errno
from pathlib import Path

import pandas as pd

from hetcal.errors import ArtifactError, HetcalError, ModelError, TableError
from hetcal.report import require_table_name, table_bytes
from hetcal.text_file import is_readable


def require_artifact(path: Path) -> None:
    """Refuse a path that leads to no file."""
    if not is_readable(path):
        raise ArtifactError(
            f"There is no artifact '{path}' that can be read.",
            "An artifact is the file artifact.zip that `run` or the Export page wrote.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def require_model(path: Path | None) -> None:
    """Refuse a path that leads to no file."""
    if path is not None and not is_readable(path):
        raise ModelError(
            f"There is no model file '{path}' that can be read.",
            "--model names a Keras model that was saved as .keras or .h5.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def require_folder(out: Path) -> None:
    """Refuse a file where a folder is to be made."""
    above = next((each for each in (out, *out.parents) if each.exists()), out)
    if above.exists() and not above.is_dir():
        raise TableError(
            f"The output '{out}' is a file."
            if above == out
            else f"The output '{out}' lies below '{above}', which is a file.",
            "The results are written into a folder.",
            "Name a folder; it is made if there is none.",
        )


def require_table_file(out: Path) -> None:
    """Refuse an output that no table can be written to, before any work is done."""
    require_table_name(out.name)
    require_file(out)


def require_file(out: Path | None) -> None:
    """Refuse an output that is a folder, or whose folder is missing."""
    if out is None:
        return
    if out.is_dir():
        raise HetcalError(
            f"The output '{out}' is a folder.",
            "The results are written into one file.",
            "Name a file in it.",
        )
    if not out.parent.is_dir():
        raise HetcalError(
            f"The output '{out}' cannot be written: there is no folder '{out.parent}'.",
            "The folder of the output must exist.",
            "Make the folder, or choose another place.",
        )


def write_results(
    out: Path, result: str, partition: str, artifact: bytes, scored: pd.DataFrame
) -> str:
    """Write what a run leaves into a folder, and return the line that says so."""
    files = {
        "result.json": result.encode(),
        "artifact.zip": artifact,
        "partition.json": partition.encode(),
        "scored.parquet": table_bytes(scored, "scored.parquet"),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    return f"Written to {out}: {', '.join(files)}"


def refusal(error: OSError) -> HetcalError:
    """Put what the system refuses into words."""
    name = f"'{error.filename}'" if error.filename else "A file"
    if error.errno == errno.ENOSPC:
        return HetcalError(
            "The disk is full.", "The results need room.", "Make room, or choose another place."
        )
    reason = error.strerror or str(error) or type(error).__name__
    return HetcalError(
        f"{name} cannot be read or written: {reason}.",
        "A command must be able to read the files that it is given, and to write its output.",
        "Check the path, and the permissions of the file and of its folder.",
    )
