"""The artifact: one zip that scores new rows exactly as the run did. No pickle."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from hetcal.algorithm import readable
from hetcal.artifact_zip import inputs_document, library_versions, model_entry, zipped
from hetcal.class_calibrator import ClassCalibrator
from hetcal.columns import FeatureKind, column_kind
from hetcal.composed_maps import maps_apply
from hetcal.evaluation import Evaluation
from hetcal.finished_run import Run
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.report import result_json, scored_rows, to_json
from hetcal.saved_cells import SavedCells, SavedScheme, class_entries, saved_entries
from hetcal.scheme import Scheme
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.version import __version__

# Raise the number when a reader of the old one would misread the file, teach `open_artifact`
# both, and keep an artifact of the old format in `tests/artifacts/saved_artifacts`. Format 2 adds the
# sketches, the maps of all leaves, and schemes of many partitions.
FORMAT = 2

# More than two classes have artifacts of a kind of their own, with formats of the same numbers.
SEVERAL = "classes"
SCHEME = "scheme.json"
LEAF_MAPS, CLASS_MAPS = "calibrators.json", "class_calibrators.json"
READ_SHARE = 0.3  # of scoring a file goes into reading it
MODEL_SHARE = 0.8  # of the work with an artifact that holds a model


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
        As measured then; with more than two classes the macro AUC.
    test_rows : int
        Number of rows that they were measured on.
    kinds : dict
        Whether a column that scoring reads held numbers or categories; new rows are to be
        read alike.
    classes : tuple of str
        The values of the label in the order of the scores, where there are more than two.
    cells : tuple of SavedCells or None
        What can be explored without the rows: one entry for two classes, one for each of more,
        None for a class that cannot be set against the rest. Empty in artifacts of format 1, and
        in those of a scheme that were written without a joint sketch.
    scheme : Scheme or None
        What calibrates two classes; the maps of the leaves do if there is none.
    choice : SavedScheme or None
        What was chosen and why, where the run says so.
    evaluation : Evaluation or None
        As measured then, for more than two classes.
    min_rows : int
        Fewest calibration rows for a leaf map in that run.
    """

    version: str
    scoring: Scoring
    partition: Partition
    calibrator: LeafCalibrator | ClassCalibrator
    auc_before: float
    auc_after: float
    test_rows: int
    kinds: dict[str, FeatureKind]
    classes: tuple[str, ...] = ()
    cells: tuple[SavedCells | None, ...] = ()
    scheme: Scheme | None = None
    choice: SavedScheme | None = None
    evaluation: Evaluation | None = None
    min_rows: int = 0

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate; a scheme of many trees takes their place."""
        return maps_apply(self.scheme, self.partition)


def artifact_bytes(run: Run, scoring: Scoring) -> bytes:
    """Pack a run into the bytes of a zip."""
    by_class = class_entries(run) if run.classes else {}
    entries = {
        "manifest.json": to_json(_manifest(run, scoring, list(by_class))).encode(),
        "partition.json": run.partition.to_json().encode(),
        CLASS_MAPS if run.classes else LEAF_MAPS: run.calibrator.to_json().encode(),
        "metrics.json": result_json(run).encode(),
    }
    for each in by_class.values():
        entries |= each
    if not run.classes:
        if run.choice is not None:
            entries[SCHEME] = run.choice.scheme.to_json().encode()
        entries |= saved_entries(run)
    if isinstance(scoring, ModelScoring):
        entries[model_entry(scoring.model)] = scoring.model.path.read_bytes()
    return zipped(entries)


def score_with_artifact(
    artifact: Artifact, frame: pd.DataFrame, digest: str = "", progress: Progress = silent
) -> pd.DataFrame:
    """Score every row of a table; columns as in `scored_rows`.

    `digest` may stand for the rows; the result does not depend on it. What
    `progress` raises ends the work, also that of a model.
    """
    scored = MODEL_SHARE if isinstance(artifact.scoring, ModelScoring) else 0.0
    scoring = artifact.scoring, artifact.classes, digest
    scores = score_rows(frame, *scoring, between(progress, 0.0, scored))
    calibrating = between(progress, scored, 1.0)
    calibrating(0.0, "Finding the leaf of every row")
    leaf = artifact.partition.apply(readable(artifact.partition, frame, scores))
    if artifact.scheme is not None:
        after = artifact.scheme.logit(scores.logit, frame, calibrating)
    else:
        after = artifact.calibrator.predict_logit(scores.logit, leaf)
    return scored_rows(np.arange(len(frame)), leaf, scores.logit, after, artifact.classes)


def _manifest(run: Run, scoring: Scoring, sketched: list[int]) -> dict[str, object]:
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    several = bool(run.classes)
    return {
        **({"kind": SEVERAL} if several else {}),
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": library_versions(),
        "digests": {"table": run.table.digest, "model": model},
        **({"classes": list(run.classes)} if several else {}),
        "roles": asdict(run.table.roles),
        "settings": asdict(run.settings) | {"calibrator": _method(run)},
        "chosen": None if run.choice is None else run.choice.chosen,
        "why": None if run.choice is None else run.choice.why,
        **({"divided": run.divided, "sketched": sketched} if several else {}),
        "scoring": _scoring_document(scoring, several),
        "kinds": _kinds(run, scoring),
        "rows": run.split.counts,
    }


def _method(run: Run) -> str:
    maps = run.calibrator
    return maps.method if isinstance(maps, ClassCalibrator) else run.settings.calibrator


def _scoring_document(scoring: Scoring, several: bool) -> dict[str, object]:
    if isinstance(scoring, ColumnScoring):
        columns = {"columns": list(scoring.columns)} if several else {"column": scoring.columns[0]}
        return {**columns, "kind": scoring.kind}
    return {
        "model": model_entry(scoring.model),
        "inputs": inputs_document(scoring.inputs),
        "output": scoring.output,
        **({} if several else {"positive_unit": scoring.positive_unit}),
        **({} if scoring.layer is None else {"layer": scoring.layer}),
    }


def _kinds(run: Run, scoring: Scoring) -> dict[str, str]:
    needed = {each.name for each in run.partition.features if each.name in run.table.frame}
    needed |= run.choice.scheme.column_names if run.choice is not None else set()
    needed |= set(scoring.inputs.needed if isinstance(scoring, ModelScoring) else scoring.columns)
    return {name: column_kind(run.table.frame[name]) for name in sorted(needed)}
