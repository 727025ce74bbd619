"""Open an artifact that may come from a stranger."""

import zipfile
from dataclasses import replace
from pathlib import Path

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
from hetcal.artifacts import FORMAT, SCHEME, Artifact
from hetcal.class_artifacts import ClassArtifact, read_class_artifact
from hetcal.composed_maps import with_scheme
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.saved_cells import (
    JOINT,
    SavedCells,
    SavedScheme,
    read_saved_cells,
    require_both_labels,
    require_leaves,
)
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring
from hetcal.strict_json import Fields


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
        require_leaves(calibrator, partition)
        scheme, cells = _scheme(archive), _cells(manifest, archive, partition)
        if scheme is not None:  # older versions saved the maps that the leaves ask for
            calibrator = with_scheme(calibrator, scheme, partition)
        return Artifact(
            version=manifest.text("hetcal"),
            scoring=_scoring(manifest, archive, directory),
            partition=partition,
            calibrator=calibrator,
            auc_before=metrics.fields("before").number("auc", 0, 1),
            auc_after=metrics.fields("after").number("auc", 0, 1),
            test_rows=metrics.fields("rows").integer("test", 1, 2**62),
            kinds=read_kinds(manifest.fields("kinds")),
            cells=cells,
            scheme=scheme,
            choice=None if cells is None or cells.joint is None else _choice(manifest),
        )


def _scheme(archive: zipfile.ZipFile) -> Scheme | None:
    if SCHEME not in archive.namelist():
        return None
    return Scheme.from_json(read_entry(archive, SCHEME))


def _cells(manifest: Fields, archive: zipfile.ZipFile, partition: Partition) -> SavedCells | None:
    """Read what is saved of the rows; older versions saved less than the pages need."""
    entries = archive.namelist()
    if manifest.integer("format", 0, 2**31) == 1 or (SCHEME in entries and JOINT not in entries):
        return None
    cells = read_saved_cells(archive, partition, joint=SCHEME in entries)
    require_both_labels(cells, "calibration", "test")
    roles = manifest.fields("roles")
    return replace(cells, group=None if roles.is_null("group") else roles.text("group"))


def _choice(manifest: Fields) -> SavedScheme:
    return SavedScheme(manifest.text("chosen"), manifest.text("why"))


def _scoring(manifest: Fields, archive: zipfile.ZipFile, directory: Path) -> Scoring:
    scoring = manifest.fields("scoring")
    if "column" in scoring:
        return ColumnScoring((scoring.text("column"),), read_score_kind(scoring))
    return ModelScoring(
        read_model(manifest, archive, directory),
        read_inputs(scoring),
        read_output(scoring),
        scoring.integer("positive_unit", 0, 1),
        scoring.text("layer") if "layer" in scoring else None,
    )
