"""The artifact: one zip that scores new rows exactly as the run did. No pickle."""

import io
import platform
import zipfile
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd

from hetcal.algorithm import readable
from hetcal.columns import FeatureKind, column_kind
from hetcal.finished_run import Run
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.report import result_json, scored_rows, to_json
from hetcal.role_cells import PASSED, RoleSketches
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.sketch_file import sketch_bytes
from hetcal.version import __version__

# Raise the number when a reader of the old one would misread the file, teach
# `open_artifact` both, and keep a test that opens an artifact of the old format.
# Format 2 adds the sketches, the maps of all leaves, and schemes of many partitions.
FORMAT = 2

MAPS = "maps.json"
SCHEME = "scheme.json"
LIBRARIES = (
    *("keras", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy"),
    *("tensorflow", "tensorflow-cpu"),
)
# A zip remembers when it was written; equal runs give equal bytes only without that.
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class SavedCells:
    """What is saved of the rows.

    Parameters
    ----------
    sketches : RoleSketches
        Their scores.
    calibrator : LeafCalibrator
        The map of every leaf that can be trusted, however few its rows.
    """

    sketches: RoleSketches
    calibrator: LeafCalibrator


@dataclass(frozen=True)
class Artifact:
    """A reopened run: everything needed to score new rows.

    Parameters
    ----------
    version : str
        The version of hetcal that wrote it.
    scoring, partition, calibrator
        As in the run that was saved.
    auc_before, auc_after : float
        As measured then.
    test_rows : int
        Number of rows that they were measured on.
    kinds : dict
        Whether a column that scoring reads held numbers or categories; new rows are to be
        read alike.
    cells : SavedCells or None
        What can be explored without the rows; None in artifacts of format 1.
    scheme : Scheme or None
        What calibrates in place of the maps of the leaves.
    """

    version: str
    scoring: Scoring
    partition: Partition
    calibrator: LeafCalibrator
    auc_before: float
    auc_after: float
    test_rows: int
    kinds: dict[str, FeatureKind]
    cells: SavedCells | None = None
    scheme: Scheme | None = None


def artifact_bytes(run: Run, scoring: Scoring) -> bytes:
    """Pack a run into the bytes of a zip."""
    entries = {
        "manifest.json": to_json(_manifest(run, scoring)).encode(),
        "partition.json": run.partition.to_json().encode(),
        "calibrators.json": run.calibrator.to_json().encode(),
        "metrics.json": result_json(run).encode(),
        MAPS: run.calibrator.with_min_rows(0).to_json().encode(),
    }
    sketches = run.cells.sketched([each.id for each in run.partition.leaves])
    entries |= {sketch_entry(role): sketch_bytes(getattr(sketches, role)) for role in PASSED}
    if run.choice is not None:
        entries[SCHEME] = run.choice.scheme.to_json().encode()
    if isinstance(scoring, ModelScoring):
        entries[_model_entry(scoring)] = scoring.model.path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def sketch_entry(role: str) -> str:
    """Name the entry that holds the sketch of a role."""
    return f"{role}.sketch"


def score_with_artifact(artifact: Artifact, frame: pd.DataFrame, digest: str) -> pd.DataFrame:
    """Score every row of a table; columns as in `scored_rows`."""
    scores = score_rows(frame, artifact.scoring, digest)
    leaf = artifact.partition.apply(readable(artifact.partition, frame, scores))
    if artifact.scheme is not None:
        after = artifact.scheme.logit(scores.logit, frame)
    else:
        after = artifact.calibrator.predict_logit(scores.logit, leaf)
    return scored_rows(np.arange(len(frame)), leaf, scores.logit, after)


def _manifest(run: Run, scoring: Scoring) -> dict[str, object]:
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    return {
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": _versions(),
        "digests": {"table": run.table.digest, "model": model},
        "roles": asdict(run.table.roles),
        "settings": asdict(run.settings),
        "chosen": None if run.choice is None else run.choice.chosen,
        "scoring": _scoring_document(scoring),
        "kinds": _kinds(run, scoring),
        "rows": run.split.counts,
    }


def _scoring_document(scoring: Scoring) -> dict[str, object]:
    if isinstance(scoring, ColumnScoring):
        return {"column": scoring.column, "kind": scoring.kind}
    return {
        "model": _model_entry(scoring),
        "inputs": [{"input": name, "columns": columns} for name, columns in scoring.inputs.columns],
        "output": scoring.output,
        "positive_unit": scoring.positive_unit,
        **({} if scoring.layer is None else {"layer": scoring.layer}),
    }


def _kinds(run: Run, scoring: Scoring) -> dict[str, str]:
    layer = scoring.layer if isinstance(scoring, ModelScoring) else None
    needed = {each.name for each in run.partition.features} if layer is None else set()
    needed |= run.choice.scheme.column_names if run.choice is not None else set()
    needed |= set(scoring.inputs.needed if isinstance(scoring, ModelScoring) else [scoring.column])
    return {name: column_kind(run.table.frame[name]) for name in sorted(needed)}


def _model_entry(scoring: ModelScoring) -> str:
    return f"model.{scoring.model.format}"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # TensorFlow has two names, of which one is installed.
            continue
    return found
