"""The artifact: one zip that scores new rows exactly as the run did. No pickle."""

import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.artifacts.archive import (
    JOINT,
    MAPS,
    Ancestor,
    SavedCells,
    SavedScheme,
    class_entries,
    library_versions,
    opened,
    read_ancestry,
    read_class_cells,
    read_entry,
    read_kinds,
    read_ladder,
    read_model,
    read_saved_cells,
    require_both_labels,
    require_format,
    require_leaves,
    saved_entries,
    zipped,
)
from hetcal.artifacts.columns import COLUMNS, columns_json, count_columns, read_columns
from hetcal.artifacts.evaluation import SHARE, SavedPart, read_class_evaluation, read_part
from hetcal.artifacts.report import result_json, scored_rows, to_json
from hetcal.artifacts.seal import check_seal, sealed
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.choices import Kind
from hetcal.data.array_files import MOST_AXES, ArrayFile, other_range, require_rows
from hetcal.data.checks import Finding
from hetcal.data.columns import FeatureKind, category_names, column_kind, row_count
from hetcal.data.scores import Scores
from hetcal.data.table import MOST_CLASSES, Roles
from hetcal.errors import ArtifactError
from hetcal.models.inputs import ArrayInput, InputColumns
from hetcal.models.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.models.steps import ColumnStep, InputSteps, Way
from hetcal.partitions.nodes import Feature
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.results.evaluation import Evaluation
from hetcal.runs.run import Run, readable
from hetcal.schemes.scheme import Scheme, maps_apply, with_scheme
from hetcal.strict_json import Fields, JsonError, parse_object
from hetcal.version import __version__

# Raise the number when a reader of the old one would misread the file, teach `open_artifact`
# both, and keep an artifact of the old format in `tests/artifacts/saved_artifacts`. Format 2
# adds the sketches, the maps of all leaves, and schemes of many partitions; format 3 the digests
# of all entries; format 4 has one file of maps for two classes, says what calibrates, and explains
# itself in FORMAT.md, which is also the documentation of the format.
FORMAT = 4
ONE_FILE = 4  # the first format in which one file has the maps that calibrate and all others

# More than two classes have artifacts of a kind of their own, with formats of the same numbers.
SEVERAL = "classes"
SCHEME = "scheme.json"
LEAF_MAPS, CLASS_MAPS = "calibrators.json", "class_calibrators.json"
# Kinds of schemes under the names that they had before kinds were saved.
OLD_KINDS: dict[str, Kind] = {
    "identity": "none",
    "boosted": "second model",
    "boosted forest": "second model",
}
GUIDE = "FORMAT.md"
READ_SHARE = 0.3  # of scoring a file goes into reading it
MODEL_SHARE = 0.8  # of the work with an artifact that holds a model
SHOWN = 3  # categories that a note names


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
        Whether a column that scoring reads held numbers or categories; those of new rows are
        read the same way.
    classes : tuple of str
        The values of the label in the order of the scores, where there are more than two.
    cells : tuple of SavedCells or None
        What is saved of the rows: one entry for two classes, one for each of more, None for a
        class for which no map can be fitted. Empty in artifacts of format 1, and in those of a
        scheme that were written without a joint sketch.
    scheme : Scheme or None
        What calibrates two classes; if None, the maps of the leaves do.
    choice : SavedScheme or None
        Which scheme was chosen and why.
    evaluation : Evaluation or None
        As measured then, for more than two classes.
    min_rows : int
        Fewest calibration rows for a leaf map in that run.
    findings : tuple of Finding
        What was found out about table, split and scores.
    part : SavedPart or None
        The part that the model has in what a scheme for two classes does.
    table_digest : str
        Identifies the table of the run.
    settings : mapping
        Names of table and model, roles of columns and choices of the run, as they were written.
    roles : Roles
        The columns of the table with the label, the weights and the groups.
    columns : DataFrame or None
        What the columns held that scoring divides rows by, in the test rows, see
        `hetcal.artifacts.columns.count_columns`; None in artifacts before format 4.
    ancestry : tuple of Ancestor
        The artifacts whose maps were fitted again, oldest first.
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
    findings: tuple[Finding, ...] = ()
    part: SavedPart | None = None
    table_digest: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    roles: Roles = field(default_factory=lambda: Roles(""))
    columns: pd.DataFrame | None = field(default=None, compare=False)
    ancestry: tuple[Ancestor, ...] = ()

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that partition and scheme read, each once."""
        scheme = () if self.scheme is None else self.scheme.features
        return tuple({each.name: each for each in (*self.partition.features, *scheme)}.values())

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate, and not a scheme of many trees."""
        return maps_apply(self.scheme, self.partition)


def artifact_bytes(run: Run, scoring: Scoring, key: bytes | None = None) -> bytes:
    """Pack a run into the bytes of a zip, signed with the key if there is one."""
    by_class = class_entries(run) if run.classes else {}
    entries = {
        "manifest.json": to_json(_manifest(run, scoring, list(by_class))).encode(),
        GUIDE: guide(),
        "partition.json": run.partition.to_json().encode(),
        CLASS_MAPS if run.classes else LEAF_MAPS: run.calibrator.to_json().encode(),
        "metrics.json": result_json(run, timed=False).encode(),
        COLUMNS: columns_json(_columns(run)).encode(),
    }
    for each in by_class.values():
        entries |= each
    if not run.classes:
        if run.choice is not None:
            entries[SCHEME] = run.choice.scheme.to_json().encode()
        entries |= saved_entries(run)
    if isinstance(scoring, ModelScoring):
        entries[f"model.{scoring.model.format}"] = scoring.model.path.read_bytes()
    return zipped(sealed(entries, key))


def guide() -> bytes:
    """Return the page that explains the format, which is part of every artifact."""
    return Path(__file__).with_name(GUIDE).read_bytes()


def score_with_artifact(
    artifact: Artifact, frame: pd.DataFrame, digest: str = "", progress: Progress = silent
) -> pd.DataFrame:
    """Score every row of a table; columns as in `scored_rows`.

    `digest` identifies the rows in caches; the result does not depend on it. What `progress`
    raises ends the work, also that of a model.
    """
    leaf, before, after = calibrated_rows(artifact, frame, digest, progress)
    return scored_rows(np.arange(len(frame)), leaf, before.logit, after, artifact.classes)


def calibrated_rows(
    artifact: Artifact,
    frame: pd.DataFrame,
    digest: str = "",
    progress: Progress = silent,
    scores: Scores | None = None,
) -> tuple[Ints, Scores, Floats]:
    """Return leaf, scores and calibrated logits of every row, see `score_with_artifact`.

    Scores that are known already can be given.
    """
    scored = MODEL_SHARE if isinstance(artifact.scoring, ModelScoring) else 0.0
    if scores is None:
        scoring = artifact.scoring, artifact.classes, digest
        scores = score_rows(frame, *scoring, between(progress, 0.0, scored))
    calibrating = between(progress, scored, 1.0)
    calibrating(0.0, "Finding the leaf of every row")
    leaf = artifact.partition.apply(readable(artifact.partition, frame, scores))
    if artifact.scheme is not None:
        return leaf, scores, artifact.scheme.logit(scores.logit, frame, calibrating)
    return leaf, scores, artifact.calibrator.predict_logit(scores.logit, leaf)


def with_arrays(
    artifact: Artifact, arrays: Mapping[str, ArrayFile], rows: int
) -> tuple[Artifact, list[str]]:
    """Give the model the arrays of new rows, by input; also note ranges unlike those of the run."""
    scoring = artifact.scoring
    before = scoring.inputs.arrays if isinstance(scoring, ModelScoring) else ()
    unknown = [name for name in arrays if name not in [each.input for each in before]]
    if unknown:
        raise ArtifactError(
            f"An array is given for '{unknown[0]}', for which the run had none.",
            f"Its inputs with arrays are: {', '.join(each.input for each in before) or 'none'}.",
            "Leave the array out, or name one of these inputs.",
        )
    if not isinstance(scoring, ModelScoring) or not arrays:
        return artifact, []
    for file in arrays.values():
        require_rows(file, rows)
    new = tuple(replace(each, file=arrays.get(each.input, each.file)) for each in before)
    notes = [other_range(a.file, b.file) for a, b in zip(before, new, strict=True)]
    scoring = replace(scoring, inputs=replace(scoring.inputs, arrays=new))
    return replace(artifact, scoring=scoring), [note for note in notes if note is not None]


def _manifest(run: Run, scoring: Scoring, sketched: list[int]) -> dict[str, object]:
    model = scoring.model.digest if isinstance(scoring, ModelScoring) else None
    several, settings = bool(run.classes), asdict(run.settings)
    if isinstance(run.calibrator, ClassCalibrator):
        settings["calibrator"] = run.calibrator.method
    return {
        **({"kind": SEVERAL} if several else {}),
        "format": FORMAT,
        "hetcal": __version__,
        "libraries": library_versions(),
        "digests": {"table": run.table.digest, "model": model},
        **({"classes": list(run.classes)} if several else {}),
        "roles": asdict(run.table.roles),
        "settings": settings,
        "chosen": None if run.choice is None else run.choice.chosen,
        "why": None if run.choice is None else run.choice.why,
        **({"divided": run.divided, "sketched": sketched} if several else {}),
        "scoring": _scoring_document(scoring, several),
        "calibrates": _calibrates(run),
        "kinds": _kinds(run, scoring),
        "rows": run.split.counts,
    }


def _calibrates(run: Run) -> str:
    """Name the entry that calibrates; beside a scheme the maps of the leaves may do nothing."""
    if run.classes:
        return CLASS_MAPS
    return LEAF_MAPS if run.choice is None else SCHEME


def _columns(run: Run) -> pd.DataFrame:
    scheme = () if run.choice is None else run.choice.scheme.features
    features = {each.name: each for each in (*run.partition.features, *scheme)}
    return count_columns(features.values(), run.table.frame, run.split.test)


def _scoring_document(scoring: Scoring, several: bool) -> dict[str, object]:
    if isinstance(scoring, ColumnScoring):
        columns = {"columns": list(scoring.columns)} if several else {"column": scoring.columns[0]}
        return {**columns, "kind": scoring.kind}
    steps, arrays = scoring.inputs.steps.steps, scoring.inputs.arrays
    return {
        "model": f"model.{scoring.model.format}",
        "inputs": [{"input": name, "columns": each} for name, each in scoring.inputs.columns],
        **({"arrays": [_array_document(each) for each in arrays]} if arrays else {}),
        **({"steps": [asdict(each) for each in steps]} if steps else {}),
        "output": scoring.output,
        **({} if several else {"positive_unit": scoring.positive_unit}),
        **({} if scoring.layer is None else {"layer": scoring.layer}),
    }


def _array_document(array: ArrayInput) -> dict[str, object]:
    """Describe the array of an input: new rows bring one of the same shape and range."""
    file = array.file
    return {
        "input": array.input,
        "name": file.name,
        "shape": list(file.shape[1:]),
        "type": file.dtype,
        "low": file.low,
        "high": file.high,
        "scale": array.scale,
    }


def _array(fields: Fields) -> ArrayInput:
    shape = (0, *fields.integers("shape", 1, 2**31))
    if not 2 <= len(shape) <= MOST_AXES:
        raise JsonError("the array of an input has no shape")
    facts = fields.text("type"), fields.number("low"), fields.number("high")
    file = ArrayFile(None, fields.text("name"), "", shape, *facts)
    return ArrayInput(fields.text("input"), file, fields.number("scale", 1e-300))


def _kinds(run: Run, scoring: Scoring) -> dict[str, str]:
    needed = {each.name for each in run.partition.features if each.name in run.table.frame}
    needed |= run.choice.scheme.column_names if run.choice is not None else set()
    needed |= set(scoring.inputs.needed if isinstance(scoring, ModelScoring) else scoring.columns)
    return {name: column_kind(run.table.frame[name]) for name in sorted(needed)}


def open_artifact(data: bytes, directory: Path, key: bytes | None = None) -> Artifact:
    """Open an artifact; a model in it is unpacked into `directory`.

    With a key, one that was not signed with it is refused.

    Raises
    ------
    ArtifactError
        When the bytes are not an artifact, or one that this version cannot read.
    """
    with opened(data) as archive:
        seal = check_seal(archive, key)
        manifest = parse_object(read_entry(archive, "manifest.json"))
        classes = _classes(manifest)
        require_format(manifest, FORMAT, sealed=seal)
        metrics = parse_object(read_entry(archive, "metrics.json"))
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
            choice=_choice(manifest, metrics, SCHEME in archive.namelist()),
            findings=_findings(metrics),
            table_digest=manifest.fields("digests").text("table"),
            settings=metrics.content("settings") if "settings" in metrics else {},
            roles=_roles(manifest.fields("roles")),
            columns=read_columns(archive),
            ancestry=read_ancestry(manifest),
        )
        if isinstance(artifact.calibrator, LeafCalibrator):
            return _with_scheme(artifact, artifact.calibrator, manifest, metrics, archive)
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
    artifact: Artifact,
    maps: LeafCalibrator,
    manifest: Fields,
    metrics: Fields,
    archive: zipfile.ZipFile,
) -> Artifact:
    """Add what is saved of two classes beyond their maps."""
    cells = _cells(manifest, archive, artifact.partition)
    artifact = replace(artifact, cells=() if cells is None else (cells,), min_rows=maps.min_rows)
    if SCHEME not in archive.namelist():
        return artifact
    scheme = Scheme.from_json(read_entry(archive, SCHEME))
    # Older versions saved the maps of the leaves without the scheme.
    maps = with_scheme(maps, scheme, artifact.partition)
    return replace(artifact, calibrator=maps, scheme=scheme, part=read_part(metrics))


def _cells(manifest: Fields, archive: zipfile.ZipFile, partition: Partition) -> SavedCells | None:
    """Read what is saved of the rows; older versions saved less than the pages need."""
    entries = archive.namelist()
    if _format(manifest) == 1 or (SCHEME in entries and JOINT not in entries):
        return None
    maps = LEAF_MAPS if _format(manifest) >= ONE_FILE else MAPS
    cells = read_saved_cells(archive, partition, maps=maps, joint=SCHEME in entries)
    require_both_labels(cells, "calibration", "test")
    roles = manifest.fields("roles")
    return replace(cells, group=None if roles.is_null("group") else roles.text("group"))


def _with_classes(
    artifact: Artifact, manifest: Fields, metrics: Fields, archive: zipfile.ZipFile
) -> Artifact:
    """Add what is saved of the rows of several classes; the first format held nothing of them."""
    if _format(manifest) == 1:
        return artifact
    classes, choice, divided = artifact.classes, artifact.choice, manifest.flag("divided")
    sketched = manifest.integers("sketched", 0, len(classes) - 1)
    return replace(
        artifact,
        choice=None if choice is None else replace(choice, divided=divided),
        cells=tuple(
            read_class_cells(archive, artifact.partition, number, len(classes))
            if number in sketched
            else None
            for number in range(len(classes))
        ),
        evaluation=read_class_evaluation(metrics, classes),
        min_rows=manifest.fields("settings").integer("min_rows", 0, 2**62),
    )


def _format(manifest: Fields) -> int:
    return manifest.integer("format", 0, 2**31)


def _roles(roles: Fields) -> Roles:
    """Read the columns that new rows may have, too."""

    def named(role: str) -> str | None:
        return None if roles.is_null(role) else roles.text(role)

    found = Roles(roles.text("label"), named("positive"))
    return replace(found, weight=named("weight"), group=named("group"))


def _findings(metrics: Fields) -> tuple[Finding, ...]:
    """Read what was found out about table and scores; older artifacts do not say it."""
    found = metrics.objects("findings") if "findings" in metrics else []
    return tuple(
        Finding(
            None if each.is_null("column") else each.text("column"),
            each.text("sentence"),
            "warning" if each.text("level") == "warning" else "note",
            each.text("code"),
        )
        for each in found
    )


def _choice(manifest: Fields, metrics: Fields, scheme: bool) -> SavedScheme | None:
    """Read what was chosen, which a scheme must say; older artifacts do not."""
    if "chosen" not in manifest or (manifest.is_null("chosen") and not scheme):
        return None
    unexplained = "why" not in manifest or manifest.is_null("why")
    choice = SavedScheme(manifest.text("chosen"), "" if unexplained else manifest.text("why"))
    if "ladder" not in metrics:
        return replace(choice, kind=OLD_KINDS.get(choice.chosen, "calibration"))
    ladder = read_ladder(metrics.objects("ladder"))
    kinds = ladder.loc[ladder["chosen"], "kind"].tolist()
    if ladder.loc[ladder["chosen"], "name"].tolist() != [choice.chosen]:
        raise JsonError("its ladder does not hold what was chosen")
    measure = "macro AUC" if "kind" in manifest else "AUC"
    return replace(choice, kind=kinds[0], measure=measure, candidates=ladder)


def _scoring(manifest: Fields, archive: zipfile.ZipFile, directory: Path, classes: int) -> Scoring:
    scoring = manifest.fields("scoring")
    if "model" in scoring:
        model, inputs = read_model(manifest, archive, directory), scoring.objects("inputs")
        given = scoring.objects("steps") if "steps" in scoring else []
        steps = InputSteps(tuple(map(_step, given)))
        return ModelScoring(
            model,
            InputColumns(
                tuple((each.text("input"), each.texts("columns")) for each in inputs),
                steps,
                tuple(map(_array, scoring.objects("arrays") if "arrays" in scoring else [])),
            ),
            None if scoring.is_null("output") else scoring.text("output"),
            _positive_unit(scoring),
            scoring.text("layer") if "layer" in scoring else None,
        )
    columns = scoring.texts("columns") if classes else (scoring.text("column"),)
    if len(columns) != max(classes, 1):
        raise JsonError("its score columns are not those of its classes")
    kind = scoring.text("kind")
    if kind not in ("logit", "probability"):
        raise JsonError(f"the kind of its scores is {kind!r}")
    return ColumnScoring(columns, kind)  # type: ignore[arg-type]


def _step(fields: Fields) -> ColumnStep:
    way = fields.text("way")
    if way not in get_args(Way):
        raise JsonError(f"the step of a column is {way!r}")
    return ColumnStep(
        fields.text("column"),
        way,  # type: ignore[arg-type]
        fields.number("shift"),
        fields.number("scale", 1e-300),
        fields.texts("codes"),
    )


def _positive_unit(scoring: Fields) -> int | None:
    given = "positive_unit" in scoring and not scoring.is_null("positive_unit")
    return scoring.integer("positive_unit", 0, MOST_CLASSES - 1) if given else None


def scored_rows_in_words(scored: pd.DataFrame) -> str:
    """Say how many rows got a probability, and of how many if not all did."""
    done, rows = _scored_count(scored), row_count(len(scored))
    return rows if done == len(scored) else f"{done:,} of {rows}"


def _scored_count(scored: pd.DataFrame) -> int:
    return int(scored["after" if "after" in scored else "top_after"].notna().sum())


def new_row_notes(artifact: Artifact, frame: pd.DataFrame, scored: pd.DataFrame) -> list[str]:
    """Report rows without a probability, and categories that were rare or unseen in training."""
    without, notes = len(scored) - _scored_count(scored), []
    if without:
        notes.append(
            f"{without:,} of {row_count(len(scored))} {'has' if without == 1 else 'have'} no "
            "finite score, and so no probability: the score, or a value that the model reads, is "
            "missing or infinite."
        )
    for feature in artifact.features:
        if feature.kind == "category" and feature.name in frame:
            notes += _unknown_categories(feature, frame[feature.name])
    return notes


def _unknown_categories(feature: Feature, column: pd.Series) -> Iterator[str]:
    codes, names = category_names(column)
    rows = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    known = {*feature.categories}
    unknown = {name: n for name, n in zip(names, rows, strict=True) if n and name not in known}
    if unknown:
        frequent = sorted(unknown, key=lambda name: -unknown[name])
        listed = ", ".join(f"'{name}'" for name in frequent[:SHOWN])
        total = sum(unknown.values())
        yield (
            f"{row_count(total)} {'has' if total == 1 else 'have'} a category in column "
            f"'{feature.name}' that was rare or unseen in training ({listed}"
            f"{', …' if len(frequent) > SHOWN else ''}): such categories count as missing."
        )
