"""Open an artifact that may come from a stranger."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hetcal.artifacts import FORMAT, MAPS, SCHEME, Artifact, SavedCells, sketch_entry
from hetcal.columns import FeatureKind
from hetcal.errors import ArtifactError, HetcalError
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.model_file import inspect_model
from hetcal.model_scores import InputColumns
from hetcal.partition import Partition
from hetcal.role_cells import PASSED, RoleSketches
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring
from hetcal.sketch import Sketch
from hetcal.sketch_file import read_sketch
from hetcal.strict_json import MAX_TEXT, Fields, JsonError, parse_object
from hetcal.version import __version__

MODEL_ENTRIES = ("model.keras", "model.h5")
LARGEST_MODEL = 2**30
LARGEST_SKETCH = 2**28
# What `zipfile` raises on damaged files.
NOT_A_ZIP = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, OverflowError),
    *(NotImplementedError, RuntimeError, ValueError),
)


def open_artifact(data: bytes, directory: Path) -> Artifact:
    """Open an artifact; a model in it is unpacked into `directory`.

    Raises
    ------
    ArtifactError
        When the bytes are not an artifact, or one that this version cannot read.
    """
    with _explained(), zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest = parse_object(_entry(archive, "manifest.json", MAX_TEXT))
        _refuse_other_formats(manifest)
        metrics = parse_object(_entry(archive, "metrics.json", MAX_TEXT))
        partition = Partition.from_json(_entry(archive, "partition.json", MAX_TEXT))
        calibrator = LeafCalibrator.from_json(_entry(archive, "calibrators.json", MAX_TEXT))
        _require_leaves(calibrator, partition)
        old = manifest.integer("format", 0, 2**31) == 1
        return Artifact(
            version=manifest.text("hetcal"),
            scoring=_scoring(manifest, archive, directory),
            partition=partition,
            calibrator=calibrator,
            auc_before=metrics.fields("before").number("auc", 0, 1),
            auc_after=metrics.fields("after").number("auc", 0, 1),
            test_rows=metrics.fields("rows").integer("test", 1, 2**62),
            kinds=_kinds(manifest.fields("kinds")),
            cells=None if old else _cells(archive, partition),
            scheme=_scheme(archive),
        )


def _scheme(archive: zipfile.ZipFile) -> Scheme | None:
    if SCHEME not in archive.namelist():
        return None
    return Scheme.from_json(_entry(archive, SCHEME, MAX_TEXT))


def _require_leaves(calibrator: LeafCalibrator, partition: Partition) -> None:
    if [each.leaf for each in calibrator.maps_] != [each.id for each in partition.leaves]:
        raise JsonError("its maps are not those of its leaves")


def _cells(archive: zipfile.ZipFile, partition: Partition) -> SavedCells:
    calibrator = LeafCalibrator.from_json(_entry(archive, MAPS, MAX_TEXT))
    _require_leaves(calibrator, partition)
    sketches = RoleSketches(*(_sketch(archive, role, partition) for role in PASSED))
    if len({sketches.train.grid, sketches.calibration.grid, sketches.test.grid}) > 1:
        raise JsonError("its sketches do not have the same bins")
    return SavedCells(sketches, calibrator)


def _sketch(archive: zipfile.ZipFile, role: str, partition: Partition) -> Sketch:
    content = _entry(archive, sketch_entry(role), LARGEST_SKETCH)
    sketch = read_sketch(content)
    if list(sketch.leaves) != [each.id for each in partition.leaves]:
        raise JsonError(f"its sketch of the {role} rows is not of its leaves")
    cells = sketch.cells()
    if role != "train" and np.unique(cells.y).size < 2:
        raise JsonError(f"its sketch of the {role} rows does not hold both classes")
    return sketch


def _scoring(manifest: Fields, archive: zipfile.ZipFile, directory: Path) -> Scoring:
    scoring = manifest.fields("scoring")
    if "column" in scoring:
        kind = scoring.text("kind")
        if kind not in ("logit", "probability"):
            raise JsonError(f"the kind of its scores is {kind!r}")
        return ColumnScoring(scoring.text("column"), kind)  # type: ignore[arg-type]
    entry = scoring.text("model")
    if entry not in MODEL_ENTRIES:
        raise JsonError("its model has a name of its own")
    content = _entry(archive, entry, LARGEST_MODEL)
    digest = hashlib.sha256(content).hexdigest()
    if digest != manifest.fields("digests").text("model"):
        raise JsonError("its model is not the one it was saved with")
    path = directory / f"{digest}{Path(entry).suffix}"
    path.write_bytes(content)
    inputs = tuple(
        (each.text("input"), each.texts("columns")) for each in scoring.objects("inputs")
    )
    return ModelScoring(
        inspect_model(path, name=entry),
        InputColumns(inputs),
        None if scoring.is_null("output") else scoring.text("output"),
        scoring.integer("positive_unit", 0, 1),
        scoring.text("layer") if "layer" in scoring else None,
    )


def _kinds(fields: Fields) -> dict[str, FeatureKind]:
    kinds = {name: fields.text(name) for name in fields.names}
    if not set(kinds.values()) <= {"number", "category"}:
        raise JsonError("the kind of a column is neither number nor category")
    return kinds  # type: ignore[return-value]


def _entry(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    # The size in the zip's index may lie, so no more than the limit is unpacked.
    with archive.open(name) as entry:
        content = entry.read(limit + 1)
    if len(content) > limit:
        raise JsonError(f"its entry {name!r} is larger than {limit // 2**20:,} MB")
    return content


def _refuse_other_formats(manifest: Fields) -> None:
    found = manifest.integer("format", 0, 2**31)
    if not 1 <= found <= FORMAT:
        raise ArtifactError(
            f"The artifact has format number {found}.",
            f"This version of hetcal ({__version__}) reads formats 1 to {FORMAT}.",
            "Open it with the version that wrote it, or run the calibration again.",
        )


@contextmanager
def _explained() -> Iterator[None]:
    """Say in words what is wrong with a file that is not an artifact."""
    try:
        yield
    except HetcalError:
        raise
    except JsonError as error:
        raise _refusal(str(error)) from error
    except NOT_A_ZIP as error:
        raise _refusal("it is not a zip with the right entries") from error


def _refusal(why: str) -> ArtifactError:
    return ArtifactError(
        f"This file is not an artifact of hetcal, or it is damaged: {why}.",
        "An artifact is the zip that the Export page or `python -m hetcal run` wrote.",
        "Choose that file, or download it again.",
    )
