"""The maps of an artifact fitted again on newer rows; all else stays, and its ancestry is kept."""

import io
import json
import zipfile
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hetcal.arrays import Ints
from hetcal.artifacts.archive import JOINT, MAPS, library_versions, sketch_entries, zipped
from hetcal.artifacts.artifact import FORMAT, GUIDE, LEAF_MAPS, SCHEME, Artifact, guide
from hetcal.artifacts.columns import COLUMNS, columns_json
from hetcal.artifacts.report import (
    column_digests,
    leaf_documents,
    lift_document,
    measures_document,
    network_document,
    to_json,
)
from hetcal.artifacts.seal import DIGESTS, SIGNATURE, sealed
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.joint import joint_sketch
from hetcal.cells.sketch import Sketch, read_sketch, sketch_rows
from hetcal.data.columns import row_count
from hetcal.data.splits import Split, draw_folds
from hetcal.digests import bytes_digest
from hetcal.errors import CalibrationError
from hetcal.metrics.delong import FEWEST
from hetcal.partitions.partition import leaf_table
from hetcal.results.evaluation import Comparison, Evaluation, evaluate, score_four_schemes
from hetcal.results.measures import measure_change
from hetcal.results.words import verdict
from hetcal.runs.role_cells import RoleSketches
from hetcal.schemes.scheme import Scheme, maps_apply, with_scheme
from hetcal.schemes.stages import LeafMapsStage
from hetcal.version import __version__
from hetcal.watch.rows import NewRows, new_columns

MEASURED = ("before", "pooled", "tree", "after")
REPLACED = (DIGESTS, SIGNATURE, MAPS, JOINT)
NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Refitted:
    """An artifact whose maps were fitted again.

    Parameters
    ----------
    content : bytes
        The zip.
    evaluation : Evaluation
        Of the newer rows that no map was fitted on.
    fitted : int
        Number of rows that the maps were fitted on.
    """

    content: bytes
    evaluation: Evaluation
    fitted: int

    @property
    def words(self) -> str:
        """What was done and reached, in a sentence."""
        lift, loss = self.evaluation.lift, self.evaluation.after.log_loss
        return (
            f"Maps fitted again on {row_count(self.fitted)}; on {row_count(self.evaluation.rows)} "
            f"that no fit has seen the lift is {lift.auc:+.4f} AUC and the log-loss {loss:.4f}."
        )


@dataclass(frozen=True, eq=False)
class _Fit:
    """What was fitted again, and the rows that it was fitted on and is judged on."""

    split: Split
    maps: LeafCalibrator
    scheme: Scheme | None
    mapped: NewRows  # with the new calibrated logits
    compared: Comparison
    evaluation: Evaluation


def refit_maps(
    data: bytes, artifact: Artifact, new: NewRows, seed: int = 0, key: bytes | None = None
) -> Refitted:
    """Fit the maps of an artifact again on half of the labelled rows, and judge them on the others.

    Partition, terms and trees stay as they are. Where maps calibrate, they are fitted as those of
    the run were. Where a scheme does, a map of its logit in every leaf follows on it.

    Parameters
    ----------
    data, artifact
        The artifact, as bytes and opened.
    new : NewRows
        Newer rows with labels.
    seed : int
        Of the halves, which have equal shares of both labels, and whole groups.
    key : bytes, optional
        Signs the new artifact.
    """
    fit = _fit(artifact, new, _halves(new, seed))
    entries = _entries(data, artifact, fit)
    return Refitted(zipped(sealed(entries, key)), fit.evaluation, int(fit.split.calibration.size))


def _halves(new: NewRows, seed: int) -> Split:
    rows = np.flatnonzero(new.labelled)
    y = new.cells(rows).y
    fold = draw_folds(y, 2, seed, new.groups(rows)) if rows.size else None
    rarer = 0
    if fold is not None:
        rarer = min(int(np.bincount(y[fold == side], minlength=2).min()) for side in (0, 1))
    if fold is None or rarer < FEWEST:
        raise CalibrationError(
            f"There are {row_count(rows.size)} with labels, too few to fit maps on one half and to "
            "judge them on the other.",
            f"Each half needs at least {FEWEST} rows of either label, and whole groups.",
            "Use a table with more labelled rows.",
        )
    return Split(NO_ROWS, NO_ROWS, rows[fold == 0], rows[fold == 1])


def _fit(artifact: Artifact, new: NewRows, split: Split) -> _Fit:
    old, scheme = artifact.calibrator, artifact.scheme
    if not isinstance(old, LeafCalibrator):
        raise TypeError("these are maps of more than two classes")
    leaves = [each.id for each in artifact.partition.leaves]
    maps = LeafCalibrator(min_rows=old.min_rows, method=old.method, shrinkage=old.shrinkage)
    maps.fit_cells(new.cells(split.calibration), leaves)
    if scheme is None:
        after = maps.predict_logit(new.scores.logit, new.leaf)
    else:
        more = LeafCalibrator(min_rows=old.min_rows)
        more.fit_cells(new.cells(split.calibration, after=True), leaves)
        scheme = _followed(scheme, artifact, more)
        maps = with_scheme(maps, scheme, artifact.partition)
        after = more.predict_logit(new.after, new.leaf)
    mapped, test = replace(new, after=after), split.test
    compared = score_four_schemes(new.cells(test), new.cells(split.calibration), maps)
    if scheme is not None:
        compared = replace(
            compared, after=mapped.cells(test, after=True), without=None, centred=None
        )
    found = evaluate(compared, leaves, new.groups(test))
    return _Fit(split, maps, scheme, mapped, compared, found)


def _followed(scheme: Scheme, artifact: Artifact, more: LeafCalibrator) -> Scheme:
    """Let the maps of the leaves follow on a scheme; two of the same leaves make one."""
    slope, intercept = (
        np.array([getattr(each, name) for each in more.maps_]) for name in ("slope", "intercept")
    )
    stages, partition = list(scheme.stages), artifact.partition
    last = stages[-1] if stages else None
    if isinstance(last, LeafMapsStage) and last.partition == partition:
        stages.pop()
        slope, intercept = slope * last.slope, slope * last.intercept + intercept
    return Scheme((*stages, LeafMapsStage(partition, slope, intercept)))


def _entries(data: bytes, artifact: Artifact, fit: _Fit) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        kept = {name: archive.read(name) for name in archive.namelist() if name not in REPLACED}
    leaves = [each.id for each in artifact.partition.leaves]
    train, joint = read_sketch(kept["train.sketch"]), None
    if fit.scheme is not None:
        joint = joint_sketch(fit.compared.before, fit.compared.after, leaves)
        kept[SCHEME] = fit.scheme.to_json().encode()
    halves = (_sketch(fit.mapped, rows, train) for rows in (fit.split.calibration, fit.split.test))
    counts = new_columns(artifact, fit.mapped, fit.split.test)
    manifest, metrics = (json.loads(kept[f"{name}.json"]) for name in ("manifest", "metrics"))
    return {
        **kept,
        "manifest.json": to_json(_manifest(manifest, data, artifact, fit)).encode(),
        GUIDE: guide(),
        LEAF_MAPS: fit.maps.to_json().encode(),
        "metrics.json": to_json(_metrics(metrics, artifact, fit)).encode(),
        COLUMNS: columns_json(counts).encode(),
        **sketch_entries(RoleSketches(train, *halves), joint),
    }


def _sketch(new: NewRows, rows: Ints, like: Sketch) -> Sketch:
    """Count rows in the bins of another sketch."""
    y = new.cells(rows).y
    weight = None if new.weight is None else new.weight[rows]
    return sketch_rows(new.scores.logit[rows], y, new.leaf[rows], like.leaves, like.grid, weight)


def _manifest(
    manifest: dict[str, Any], data: bytes, artifact: Artifact, fit: _Fit
) -> dict[str, Any]:
    """Say what the artifact is of now, and which artifacts it comes from."""
    before = {
        "artifact": bytes_digest(data),
        "table": artifact.table_digest,
        "hetcal": artifact.version,
    }
    return manifest | {
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": library_versions(),
        "digests": manifest["digests"] | {"table": fit.mapped.digest},
        "ancestry": [*manifest.get("ancestry", ()), before],
        "calibrates": LEAF_MAPS if fit.scheme is None else SCHEME,
        "rows": manifest["rows"] | _rows(fit),
    }


def _rows(fit: _Fit) -> dict[str, int]:
    return {"validation": 0, "calibration": fit.split.calibration.size, "test": fit.split.test.size}


def _metrics(metrics: dict[str, Any], artifact: Artifact, fit: _Fit) -> dict[str, Any]:
    """Replace all that was measured on the rows of before; how the scheme was chosen stays."""
    new, found, split = fit.mapped, fit.evaluation, fit.split
    group = new.groups(split.test)
    measures = measure_change(fit.compared.before, fit.compared.after, found, group)
    y = np.asarray(new.y)
    counts = leaf_table(artifact.partition, new.leaf, y, split, new.weight)
    applied = maps_apply(fit.scheme, artifact.partition)
    given = [each for each in metrics.get("test_columns", ()) if each in new.frame]
    scores = new.scores
    kind = "calibration" if artifact.choice is None else artifact.choice.kind
    return metrics | {
        "hetcal": __version__,
        "rows": metrics["rows"] | _rows(fit),
        **{name: asdict(getattr(found, name)) for name in MEASURED},
        "lift": lift_document(found),
        **network_document(found),
        "measures": measures_document(measures),
        "verdict": verdict(found, kind, None, ()),
        "leaves": leaf_documents(counts, fit.maps, applied=applied),
        "scores": {
            "how": scores.how,
            "clipped": scores.clipped,
            "excluded": scores.excluded,
            "largest_difference": scores.largest_difference,
        },
        "findings": [],
        "notes": [
            f"The maps were fitted again on {row_count(split.calibration.size)} of a newer table; "
            "the ladder is that of the table before.",
            *new.notes,
        ],
        "test_columns": column_digests(new.frame[given].iloc[split.test]),
    }
