"""Open an artifact, which is untrusted input."""

import math
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
from hetcal.artifacts import CLASS_MAPS, FORMAT, LEAF_MAPS, SCHEME, SEVERAL, Artifact
from hetcal.class_calibrator import ClassCalibrator
from hetcal.composed_maps import with_scheme
from hetcal.evaluation_json import SHARE, read_class_evaluation
from hetcal.labels import MOST_CLASSES
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.saved_cells import (
    JOINT,
    SavedCells,
    SavedScheme,
    read_class_cells,
    read_saved_cells,
    require_both_labels,
    require_leaves,
)
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring
from hetcal.strict_json import Fields, JsonError


def open_artifact(data: bytes, directory: Path) -> Artifact:
    """Open an artifact; a model in it is unpacked into `directory`.

    Raises
    ------
    ArtifactError
        When the bytes are not an artifact, or one that this version cannot read.
    """
    with opened(data) as archive:
        manifest = read_object_entry(archive, "manifest.json")
        classes = _classes(manifest)
        require_format(manifest, FORMAT)
        metrics = read_object_entry(archive, "metrics.json")
        partition = Partition.from_json(read_entry(archive, "partition.json"))
        auc = "macro_auc" if classes else "auc"
        artifact = Artifact(
            version=manifest.text("hetcal"),
            scoring=_scoring(manifest, archive, directory, len(classes)),
            partition=partition,
            calibrator=_maps(archive, metrics, partition, len(classes)),
            auc_before=metrics.fields("before").number(auc, *SHARE),
            auc_after=metrics.fields("after").number(auc, *SHARE),
            test_rows=metrics.fields("rows").integer("test", 1, 2**62),
            kinds=read_kinds(manifest.fields("kinds")),
            classes=classes,
            choice=_choice(manifest),
        )
        if isinstance(artifact.calibrator, LeafCalibrator):
            return _with_scheme(artifact, artifact.calibrator, manifest, archive)
        return _with_classes(artifact, manifest, metrics, archive)


def _classes(manifest: Fields) -> tuple[str, ...]:
    if "kind" not in manifest:
        return ()
    if manifest.text("kind") != SEVERAL:
        raise JsonError("it is of a kind that is not known")
    classes = manifest.texts("classes")
    if not 2 <= len(classes) <= MOST_CLASSES or len(set(classes)) < len(classes):
        raise JsonError("its classes cannot be those of a label")
    return classes


def _maps(
    archive: zipfile.ZipFile, metrics: Fields, partition: Partition, classes: int
) -> LeafCalibrator | ClassCalibrator:
    if not classes:
        maps = LeafCalibrator.from_json(read_entry(archive, LEAF_MAPS))
        require_leaves(maps, partition)
        return maps
    several = ClassCalibrator.from_json(read_entry(archive, CLASS_MAPS))
    endless = metrics.is_null("shrinkage")
    several.shrinkage_ = math.inf if endless else metrics.number("shrinkage", 0)
    if list(several.maps_) != [each.id for each in partition.leaves]:
        raise JsonError("its maps are not those of its leaves")
    if {each.bias.size for each in (several.pooled_, *several.maps_.values())} != {classes}:
        raise JsonError("its maps are not those of its classes")
    return several


def _with_scheme(
    artifact: Artifact, maps: LeafCalibrator, manifest: Fields, archive: zipfile.ZipFile
) -> Artifact:
    """Add what is saved of two classes beyond their maps."""
    cells = _cells(manifest, archive, artifact.partition)
    artifact = replace(artifact, cells=() if cells is None else (cells,), min_rows=maps.min_rows)
    if SCHEME not in archive.namelist():
        return artifact
    scheme = Scheme.from_json(read_entry(archive, SCHEME))
    # Older versions saved the maps that the leaves ask for.
    return replace(
        artifact, calibrator=with_scheme(maps, scheme, artifact.partition), scheme=scheme
    )


def _cells(manifest: Fields, archive: zipfile.ZipFile, partition: Partition) -> SavedCells | None:
    """Read what is saved of the rows; older versions saved less than the pages need."""
    entries = archive.namelist()
    if _is_first_format(manifest) or (SCHEME in entries and JOINT not in entries):
        return None
    cells = read_saved_cells(archive, partition, joint=SCHEME in entries)
    require_both_labels(cells, "calibration", "test")
    roles = manifest.fields("roles")
    return replace(cells, group=None if roles.is_null("group") else roles.text("group"))


def _with_classes(
    artifact: Artifact, manifest: Fields, metrics: Fields, archive: zipfile.ZipFile
) -> Artifact:
    """Add what is saved of the rows of several classes; the first format held nothing of them."""
    if _is_first_format(manifest):
        return artifact
    classes, choice, divided = artifact.classes, artifact.choice, manifest.flag("divided")
    sketched = manifest.integers("sketched", 0, len(classes) - 1)
    return replace(
        artifact,
        choice=None if choice is None else replace(choice, divided=divided),
        cells=read_class_cells(archive, artifact.partition, sketched, len(classes)),
        evaluation=read_class_evaluation(metrics, classes),
        min_rows=manifest.fields("settings").integer("min_rows", 0, 2**62),
    )


def _is_first_format(manifest: Fields) -> bool:
    return manifest.integer("format", 0, 2**31) == 1


def _choice(manifest: Fields) -> SavedScheme | None:
    """Read what was chosen; artifacts without a choice, and older ones, say nothing."""
    chosen, why = (
        None if key not in manifest or manifest.is_null(key) else manifest.text(key)
        for key in ("chosen", "why")
    )
    return None if chosen is None else SavedScheme(chosen, why or "")


def _scoring(manifest: Fields, archive: zipfile.ZipFile, directory: Path, classes: int) -> Scoring:
    scoring = manifest.fields("scoring")
    if "model" in scoring:
        return ModelScoring(
            read_model(manifest, archive, directory),
            read_inputs(scoring),
            read_output(scoring),
            1 if classes else scoring.integer("positive_unit", 0, 1),
            scoring.text("layer") if "layer" in scoring else None,
        )
    columns = scoring.texts("columns") if classes else (scoring.text("column"),)
    if len(columns) != max(classes, 1):
        raise JsonError("its score columns are not those of its classes")
    return ColumnScoring(columns, read_score_kind(scoring))
