"""The artifact of a run on more than two classes: one zip that scores new rows as it did."""

import math
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.artifact_zip import (
    inputs_document,
    library_versions,
    model_entry,
    read_entry,
    read_inputs,
    read_kinds,
    read_model,
    read_object_entry,
    read_output,
    read_score_kind,
    require_format,
    zipped,
)
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_evaluation_reading import read_class_evaluation
from hetcal.class_report import class_result_json, class_scored_rows
from hetcal.class_run import ClassRun
from hetcal.columns import FeatureKind, column_kind
from hetcal.evaluation_json import SHARE
from hetcal.labels import MOST_CLASSES
from hetcal.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.report import to_json
from hetcal.saved_classes import SavedClasses, class_entries, read_class_cells
from hetcal.scoring import (
    ColumnScoring,
    ModelScoring,
    Scoring,
    score_rows,
)
from hetcal.strict_json import Fields, JsonError
from hetcal.version import __version__

# Format 2 adds the sketches of every class, and what was measured in full.
KIND, FORMAT = "classes", 2
MAPS = "class_calibrators.json"


@dataclass(frozen=True)
class ClassArtifact:
    """A reopened run on more than two classes: everything needed to score new rows.

    Parameters
    ----------
    version : str
        The version of hetcal that wrote it.
    classes : tuple of str
        The values of the label, in the order of the scores.
    scoring, partition, calibrator
        As in the run that was saved.
    auc_before, auc_after : float
        The macro AUC as measured then.
    test_rows : int
        Number of rows that it was measured on.
    kinds : dict
        Whether a column that scoring reads held numbers or categories; new rows are to be
        read alike.
    chosen, why : str or None
        As in `hetcal.choice.Choice`; None where nothing was chosen.
    saved : SavedClasses or None
        What can be explored without the rows; None in artifacts of format 1.
    """

    version: str
    classes: tuple[str, ...]
    scoring: Scoring
    partition: Partition
    calibrator: ClassCalibrator
    auc_before: float
    auc_after: float
    test_rows: int
    kinds: dict[str, FeatureKind]
    chosen: str | None = None
    why: str | None = None
    saved: SavedClasses | None = None

    def score(self, frame: pd.DataFrame, digest: str, progress: Progress = silent) -> pd.DataFrame:
        """Score every row of a table; columns as in `class_scored_rows`."""
        scores = score_rows(frame, self.scoring, self.classes, digest, progress)
        leaf = self.partition.apply(frame)
        after = self.calibrator.predict_logits(scores.logit, leaf)
        return class_scored_rows(np.arange(len(frame)), leaf, scores.logit, after, self.classes)


def class_artifact_bytes(run: ClassRun, scoring: Scoring) -> bytes:
    """Pack a run into the bytes of a zip."""
    sketched = class_entries(run)
    entries = {
        "manifest.json": to_json(_manifest(run, scoring, tuple(sketched))).encode(),
        "partition.json": run.partition.to_json().encode(),
        MAPS: run.calibrator.to_json().encode(),
        "metrics.json": class_result_json(run).encode(),
    }
    for each in sketched.values():
        entries |= each
    if isinstance(scoring, ModelScoring):
        entries[model_entry(scoring.model)] = scoring.model.path.read_bytes()
    return zipped(entries)


def read_class_artifact(
    manifest: Fields, archive: zipfile.ZipFile, directory: Path
) -> ClassArtifact:
    """Read an artifact whose manifest is open; a model is unpacked into `directory`."""
    if manifest.text("kind") != KIND:
        raise JsonError("it is of a kind that is not known")
    require_format(manifest, FORMAT)
    classes = manifest.texts("classes")
    if not 2 <= len(classes) <= MOST_CLASSES or len(set(classes)) < len(classes):
        raise JsonError("its classes cannot be those of a label")
    metrics = read_object_entry(archive, "metrics.json")
    partition = Partition.from_json(read_entry(archive, "partition.json"))
    calibrator = ClassCalibrator.from_json(read_entry(archive, MAPS))
    endless = metrics.is_null("shrinkage")
    calibrator.shrinkage_ = math.inf if endless else metrics.number("shrinkage", 0)
    _require_maps(calibrator, partition, len(classes))
    return ClassArtifact(
        version=manifest.text("hetcal"),
        classes=classes,
        scoring=_scoring(manifest, archive, directory, len(classes)),
        partition=partition,
        calibrator=calibrator,
        auc_before=metrics.fields("before").number("macro_auc", *SHARE),
        auc_after=metrics.fields("after").number("macro_auc", *SHARE),
        test_rows=metrics.fields("rows").integer("test", 1, 2**62),
        kinds=read_kinds(manifest.fields("kinds")),
        chosen=_text_or_none(manifest, "chosen"),
        why=_text_or_none(manifest, "why"),
        saved=_saved(manifest, metrics, archive, partition),
    )


def _saved(
    manifest: Fields, metrics: Fields, archive: zipfile.ZipFile, partition: Partition
) -> SavedClasses | None:
    """Read what is saved of the rows; the first format held nothing of them."""
    if manifest.integer("format", 0, 2**31) == 1:
        return None
    classes = manifest.texts("classes")
    sketched = manifest.integers("sketched", 0, len(classes) - 1)
    return SavedClasses(
        read_class_evaluation(metrics, classes),
        manifest.flag("divided"),
        manifest.fields("settings").integer("min_rows", 0, 2**62),
        read_class_cells(archive, partition, sketched, len(classes)),
    )


def _text_or_none(manifest: Fields, key: str) -> str | None:
    """Read a text that artifacts without a choice, and older ones, do not have."""
    return None if key not in manifest or manifest.is_null(key) else manifest.text(key)


def _require_maps(calibrator: ClassCalibrator, partition: Partition, classes: int) -> None:
    if list(calibrator.maps_) != [each.id for each in partition.leaves]:
        raise JsonError("its maps are not those of its leaves")
    if {each.bias.size for each in (calibrator.pooled_, *calibrator.maps_.values())} != {classes}:
        raise JsonError("its maps are not those of its classes")


def _scoring(manifest: Fields, archive: zipfile.ZipFile, directory: Path, classes: int) -> Scoring:
    scoring = manifest.fields("scoring")
    if "columns" not in scoring:
        model = read_model(manifest, archive, directory)
        return ModelScoring(model, read_inputs(scoring), read_output(scoring))
    columns = scoring.texts("columns")
    if len(columns) != classes:
        raise JsonError("its score columns are not those of its classes")
    return ColumnScoring(columns, read_score_kind(scoring))


def _manifest(run: ClassRun, scoring: Scoring, sketched: tuple[int, ...]) -> dict[str, object]:
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    return {
        "kind": KIND,
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": library_versions(),
        "digests": {"table": run.table.digest, "model": model},
        "classes": list(run.table.classes),
        "roles": asdict(run.table.roles),
        "settings": asdict(run.settings) | {"calibrator": run.calibrator.method},
        "chosen": None if run.choice is None else run.choice.chosen,
        "why": None if run.choice is None else run.choice.why,
        "divided": run.divided,
        "sketched": list(sketched),
        "scoring": _scoring_document(scoring),
        "kinds": _kinds(run, scoring),
        "rows": run.split.counts,
    }


def _scoring_document(scoring: Scoring) -> dict[str, object]:
    if isinstance(scoring, ColumnScoring):
        return {"columns": list(scoring.columns), "kind": scoring.kind}
    return {
        "model": model_entry(scoring.model),
        "inputs": inputs_document(scoring.inputs),
        "output": scoring.output,
    }


def _kinds(run: ClassRun, scoring: Scoring) -> dict[str, str]:
    needed = set(scoring.columns if isinstance(scoring, ColumnScoring) else scoring.inputs.needed)
    needed |= {each.name for each in run.partition.features}
    return {name: column_kind(run.table.frame[name]) for name in sorted(needed)}
