"""The artifact: one zip that scores new rows exactly as the run did. No pickle."""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcal.algorithm import Run, Settings
from hetcal.errors import ArtifactError, HetcalError
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.model_file import inspect_model
from hetcal.model_scores import InputColumns
from hetcal.partition import Partition
from hetcal.report import result_json, scored_rows, to_json
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.table import Roles
from hetcal.version import __version__

# Raise the number when a reader of the old one would misread the file, teach
# `open_artifact` both, and keep a test that opens an artifact of the old format.
FORMAT = 1

LIBRARIES = ("keras", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy")
MODEL_ENTRIES = ("model.keras", "model.h5")
LARGEST_ENTRY = 2**30
# A zip remembers when it was written; equal runs give equal bytes only without that.
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Artifact:
    """A reopened run: everything needed to score new rows.

    Parameters
    ----------
    manifest : dict
        Format number, library versions, digests and settings, as saved.
    roles, settings, scoring, partition, calibrator
        As in the run that was saved.
    result : dict
        The saved numbers of that run.
    """

    manifest: dict[str, Any]
    roles: Roles
    settings: Settings
    scoring: Scoring
    partition: Partition
    calibrator: LeafCalibrator
    result: dict[str, Any]


def artifact_bytes(run: Run, scoring: Scoring) -> bytes:
    """Pack a run into the bytes of a zip."""
    entries = {
        "manifest.json": to_json(_manifest(run, scoring)).encode(),
        "partition.json": run.partition.to_json().encode(),
        "calibrators.json": run.calibrator.to_json().encode(),
        "metrics.json": result_json(run).encode(),
    }
    if isinstance(scoring, ModelScoring):
        entries[_model_entry(scoring)] = scoring.model.path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def open_artifact(data: bytes, directory: Path) -> Artifact:
    """Open an artifact; a model in it is unpacked into `directory`."""
    with _explained(), zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest = json.loads(_entry(archive, "manifest.json"))
        _refuse_other_formats(manifest)
        return Artifact(
            manifest=manifest,
            roles=Roles(**_tuples(manifest["roles"])),
            settings=Settings(**_tuples(manifest["settings"])),
            scoring=_scoring(manifest["scoring"], archive, directory),
            partition=Partition.from_json(_entry(archive, "partition.json").decode()),
            calibrator=LeafCalibrator.from_json(_entry(archive, "calibrators.json").decode()),
            result=json.loads(_entry(archive, "metrics.json")),
        )


def score_with_artifact(artifact: Artifact, frame: pd.DataFrame, digest: str) -> pd.DataFrame:
    """Score every row of a table; columns as in `scored_rows`."""
    scores = score_rows(frame, artifact.scoring, digest)
    leaf = artifact.partition.apply(frame)
    after = artifact.calibrator.predict_logit(scores.logit, leaf)
    return scored_rows(np.arange(len(frame)), leaf, scores.logit, after)


def _manifest(run: Run, scoring: Scoring) -> dict[str, object]:
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    return {
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": {name: version(name) for name in LIBRARIES},
        "digests": {"table": run.table.digest, "model": model},
        "roles": asdict(run.table.roles),
        "settings": asdict(run.settings),
        "scoring": _scoring_document(scoring),
        "rows": run.split.counts,
    }


def _scoring_document(scoring: Scoring) -> dict[str, object]:
    if isinstance(scoring, ColumnScoring):
        return {"column": scoring.column, "kind": scoring.kind}
    return {
        "model": _model_entry(scoring),
        "inputs": scoring.inputs.columns,
        "output": scoring.output,
        "positive_unit": scoring.positive_unit,
    }


def _scoring(document: dict[str, Any], archive: zipfile.ZipFile, directory: Path) -> Scoring:
    if "column" in document:
        return ColumnScoring(document["column"], document["kind"])
    entry = document["model"]
    if entry not in MODEL_ENTRIES:
        raise KeyError(entry)
    content = _entry(archive, entry)
    path = directory / f"{hashlib.sha256(content).hexdigest()}{Path(entry).suffix}"
    path.write_bytes(content)
    inputs = tuple((name, tuple(columns)) for name, columns in document["inputs"])
    return ModelScoring(
        inspect_model(path, name=entry),
        InputColumns(inputs),
        document["output"],
        document["positive_unit"],
    )


def _model_entry(scoring: ModelScoring) -> str:
    return f"model.{scoring.model.format}"


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST_ENTRY:
        raise ArtifactError(
            f"The entry '{name}' of the artifact unpacks to more than 1 GiB.",
            "hetcal writes no artifact of that size.",
            "Use the file that hetcal wrote.",
        )
    return archive.read(name)


def _refuse_other_formats(manifest: dict[str, Any]) -> None:
    found = manifest["format"]
    if found != FORMAT:
        raise ArtifactError(
            f"The artifact has format number {found!r}.",
            f"This version of hetcal ({__version__}) reads format {FORMAT}.",
            "Open it with the version that wrote it, or run the calibration again.",
        )


def _tuples(document: dict[str, Any]) -> dict[str, Any]:
    """JSON knows lists only; the settings are made of tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in document.items()}


@contextmanager
def _explained() -> Iterator[None]:
    """Say in words what is wrong with a file that is not an artifact."""
    try:
        yield
    except HetcalError:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"This file is not an artifact of hetcal, or it is damaged ({type(error).__name__}).",
            "An artifact is the zip that the Export page or `hetcal run` wrote.",
            "Choose that file, or download it again.",
        ) from error
