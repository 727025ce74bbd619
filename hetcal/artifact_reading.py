"""Open an artifact that may come from a stranger."""

import zipfile
from pathlib import Path

import numpy as np

from hetcal.artifact_zip import (
    opened,
    read_entry,
    read_inputs,
    read_kinds,
    read_model,
    read_object_entry,
    read_output,
    read_score_kind,
    require_format,
)
from hetcal.artifacts import (
    FORMAT,
    JOINT,
    MAPS,
    SCHEME,
    Artifact,
    SavedCells,
    SavedScheme,
    sketch_entry,
)
from hetcal.class_artifacts import ClassArtifact, read_class_artifact
from hetcal.joint_sketch_file import read_joint_sketch
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_measures import leaf_counts
from hetcal.partition import Partition
from hetcal.role_cells import PASSED, RoleSketches
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring
from hetcal.sketch import Sketch
from hetcal.sketch_file import read_sketch
from hetcal.strict_json import Fields, JsonError

LARGEST_SKETCH = 2**28


def open_artifact(data: bytes, directory: Path) -> Artifact | ClassArtifact:
    """Open an artifact; a model in it is unpacked into `directory`.

    Raises
    ------
    ArtifactError
        When the bytes are not an artifact, or one that this version cannot read.
    """
    with opened(data) as archive:
        manifest = read_object_entry(archive, "manifest.json")
        if "kind" in manifest:
            return read_class_artifact(manifest, archive, directory)
        require_format(manifest, FORMAT)
        metrics = read_object_entry(archive, "metrics.json")
        partition = Partition.from_json(read_entry(archive, "partition.json"))
        calibrator = LeafCalibrator.from_json(read_entry(archive, "calibrators.json"))
        _require_leaves(calibrator, partition)
        return Artifact(
            version=manifest.text("hetcal"),
            scoring=_scoring(manifest, archive, directory),
            partition=partition,
            calibrator=calibrator,
            auc_before=metrics.fields("before").number("auc", 0, 1),
            auc_after=metrics.fields("after").number("auc", 0, 1),
            test_rows=metrics.fields("rows").integer("test", 1, 2**62),
            kinds=read_kinds(manifest.fields("kinds")),
            cells=_cells(manifest, archive, partition),
            scheme=_scheme(archive),
        )


def _scheme(archive: zipfile.ZipFile) -> Scheme | None:
    if SCHEME not in archive.namelist():
        return None
    return Scheme.from_json(read_entry(archive, SCHEME))


def _require_leaves(calibrator: LeafCalibrator, partition: Partition) -> None:
    if [each.leaf for each in calibrator.maps_] != [each.id for each in partition.leaves]:
        raise JsonError("its maps are not those of its leaves")


def _cells(manifest: Fields, archive: zipfile.ZipFile, partition: Partition) -> SavedCells | None:
    """Read what is saved of the rows; older versions saved less than the pages need."""
    entries = archive.namelist()
    if manifest.integer("format", 0, 2**31) == 1 or (SCHEME in entries and JOINT not in entries):
        return None
    calibrator = LeafCalibrator.from_json(read_entry(archive, MAPS))
    _require_leaves(calibrator, partition)
    sketches = RoleSketches(*(_sketch(archive, role, partition) for role in PASSED))
    if len({sketches.train.grid, sketches.calibration.grid, sketches.test.grid}) > 1:
        raise JsonError("its sketches do not have the same bins")
    choice = _choice(manifest, archive, sketches.test) if SCHEME in entries else None
    roles = manifest.fields("roles")
    group = None if roles.is_null("group") else roles.text("group")
    return SavedCells(sketches, calibrator, choice, group)


def _choice(manifest: Fields, archive: zipfile.ZipFile, test: Sketch) -> SavedScheme:
    joint = read_joint_sketch(read_entry(archive, JOINT, LARGEST_SKETCH))
    cells = joint.cells[0]
    same = joint.leaves == test.leaves and all(
        np.array_equal(found, expected)
        for found, expected in zip(
            leaf_counts(cells, test.leaves), leaf_counts(test.cells(), test.leaves), strict=True
        )
    )
    if not same:
        raise JsonError("its joint sketch is not of its test rows")
    return SavedScheme(manifest.text("chosen"), manifest.text("why"), joint)


def _sketch(archive: zipfile.ZipFile, role: str, partition: Partition) -> Sketch:
    content = read_entry(archive, sketch_entry(role), LARGEST_SKETCH)
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
        return ColumnScoring(scoring.text("column"), read_score_kind(scoring))
    return ModelScoring(
        read_model(manifest, archive, directory),
        read_inputs(scoring),
        read_output(scoring),
        scoring.integer("positive_unit", 0, 1),
        scoring.text("layer") if "layer" in scoring else None,
    )
