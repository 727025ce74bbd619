"""The commands: what each does with its options.

What takes long to load is imported where it is used: a model starts in its own process first.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from hetcal.choices import (
    CALIBRATORS,
    CLASS_CALIBRATORS,
    DIALECTS,
    RUNG_OPTIONS,
    RUNGS,
    SCALES,
    optional_name,
)
from hetcal.cli.options import ALL_INPUTS, NO_GROUP, names
from hetcal.cli.output import progress_line, run_toml, say, say_notes
from hetcal.data.array_files import (
    ArrayFile,
    open_array,
    require_rows,
    with_embeddings,
)
from hetcal.data.checks import Finding
from hetcal.data.columns import Kinds, row_count
from hetcal.data.demo import write_demo
from hetcal.data.raw_columns import columns_for_model, kinds_of_raw, with_raw_table
from hetcal.data.reading import Source, from_path, read_file, table_files
from hetcal.data.table import (
    Roles,
    Table,
    has_many_classes,
    label_values,
    make_table,
    require_column,
)
from hetcal.data.text import Dialect, detect_dialect, is_parquet, is_readable
from hetcal.errors import (
    ArtifactError,
    HetcalError,
    ModelError,
    PartitionError,
    ScoreError,
    TableError,
)
from hetcal.files import OWNER_ONLY, write_file, write_files
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile, inspect_model
from hetcal.models.images import decode_images
from hetcal.models.inputs import (
    ArrayInput,
    InputColumns,
    array_input,
    check_names,
    float_columns,
    listed_inputs,
    matrix_input,
    require_arrays,
    suggest_inputs,
    takes_fractions,
    unlike_training,
)
from hetcal.models.scoring import (
    ColumnScoring,
    ModelScoring,
    Scoring,
    guess_kind_of,
    read_as_text,
    start_rows,
)
from hetcal.models.steps import (
    InputSteps,
    fit_steps,
    read_steps,
    scale_all,
    with_scales_undone,
)
from hetcal.progress import Progress, between, silent
from hetcal.runs.settings import (
    CHOOSING,
    ENSEMBLES,
    FOR_CLASSES,
    PARTITIONS,
    READ_SCORES,
    Settings,
)

if TYPE_CHECKING:
    from hetcal.artifacts.artifact import Artifact
    from hetcal.partitions.partition import Partition
    from hetcal.results.compare import ComparedRun
    from hetcal.runs.run import Run
    from hetcal.store.store import Store
    from hetcal.store.workspace import TableFile

GROWN = ("tree", "auc-gain", "instability", "layer")  # partitions of one tree
WITH_TERMS = (*CHOOSING, "additive")  # partitions with curves and pairs of columns
TERMS = ("pairs", "increasing", "decreasing")  # options of these


def run_command(options: argparse.Namespace) -> None:
    """Calibrate a table leaf by leaf and write result, artifact and scored test rows."""
    with tempfile.TemporaryDirectory() as directory:
        options.unpacked = Path(directory)  # where arrays go that are packed in a file
        _run(options)


def _run(options: argparse.Namespace) -> None:
    store = None if options.keep is None else open_store()
    require_folder(options.out, options.sign)
    require_model(options.model)
    with progress_line(sys.stderr) as told:
        source = read_table(options, progress=told)
    require_carried(options, source.frame)
    many = has_many_classes(source.frame, Roles(options.label, options.positive))
    refuse_unused(options, rows_have_roles=source.split_column is not None, many_classes=many)
    if not many:
        refuse_several(options, source.frame)
    roles = roles_of(options, source, many)
    table = make_table(source.frame, roles, source.digest, options.classes)
    scoring = scoring_of(options, table, score_columns(options, many), source)
    source, table = with_texts(options, scoring, source, table, roles)
    scores = start_rows(table.frame, scoring, table.classes, table.digest, rows=table.row_numbers())

    settings, partition = settings_of(options), partition_of(options)
    say_findings = _findings_teller(source.notes, table, scoring, settings)
    with progress_line(sys.stderr) as told:
        told(0.0, "Checking the table")
        from hetcal.artifacts.artifact import artifact_bytes
        from hetcal.artifacts.report import (
            labelled_test_rows,
            names_of_given,
            result_json,
            table_bytes,
            with_columns,
        )
        from hetcal.runs.run import run

        finished = run(table, scores, settings, partition, told, say_findings)
    assumed = ["No --classes: ascending order is assumed."] if many and not options.classes else []
    if isinstance(scoring, ModelScoring) and scoring.positive_unit != options.positive_unit:
        order = ", ".join(label_values(table.frame[options.label]))
        assumed.append(f"No --positive-unit: the model's outputs are taken in this order: {order}.")
    say_notes((*finished.notes, *assumed))
    _say_result(finished)
    sys.stdout.flush()
    carried = carried_columns(options, table.frame).iloc[finished.split.test]
    scored = with_columns(labelled_test_rows(finished), carried)
    named = names_of_given(Path(options.table).name, source.digest, scoring)
    files = {
        "result.json": result_json(finished, named).encode(),
        "artifact.zip": artifact_bytes(finished, scoring, key_of(options.sign)),
        "partition.json": finished.partition.to_json().encode(),
        "scored.parquet": table_bytes(scored, "scored.parquet"),
        "run.toml": run_toml(_repeated(options.given), options.out),
    }
    options.out.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    write_files({options.out / name: content for name, content in files.items()})
    say(f"Written to {options.out}: {', '.join(files)}")
    if store is not None:
        _keep(store, options, scoring, finished, partition, files, named, source.digest)


def _findings_teller(
    given: Sequence[str], table: Table, scoring: Scoring, settings: Settings
) -> Callable[[Sequence[Finding]], None]:
    """Return what says findings: notes with the first, after what refuses the input."""
    notes, about_scales = list(given), list[str]()

    def tell(findings: Sequence[Finding]) -> None:
        if not about_scales:
            about_scales.extend(_about_scales(table, scoring, settings, findings))
            notes.extend(about_scales)
        say_notes((*notes, *(each.message for each in findings)))
        notes.clear()

    return tell


def _about_scales(
    table: Table, scoring: Scoring, settings: Settings, findings: Sequence[Finding]
) -> list[str]:
    """Say that inputs do not look like those of the training, and what scales do to the scores."""
    if not isinstance(scoring, ModelScoring):
        return []
    unlike = unlike_training(scoring.model, scoring.inputs, table.frame)
    if unlike is None and all(each.code != "saturated-score" for each in findings):
        return []
    if not float_columns(scoring.model, scoring.inputs):
        return []
    from hetcal.models.trial import scales_in_words, try_scales
    from hetcal.runs.run import split_table

    tried = try_scales(table, split_table(table, settings), scoring)
    said = [] if unlike is None else [f"{unlike} That is what --scale is for."]
    return [*said, scales_in_words(tried)]


def _keep(
    store: "Store",
    options: argparse.Namespace,
    scoring: Scoring,
    finished: "Run",
    partition: "Partition | None",
    files: dict[str, bytes],
    named: Mapping[str, str],
    source_digest: str,
) -> None:
    from hetcal.store.finished import keep_run

    parts = scoring, finished, partition, files, named, source_digest, _beside(options)
    kept = keep_run(store, options.keep, options.table, _dialect(options), *parts)
    say(f"Kept as '{kept.name}': hetcal runs show {kept.id}, or Runs in the app.")


def _beside(options: argparse.Namespace) -> list["TableFile"]:
    """Return the files whose columns stand beside those of the table."""
    from hetcal.store.workspace import EMBEDDINGS, RAW_TABLE, UNDONE, TableFile

    given = {EMBEDDINGS: options.embeddings, RAW_TABLE: options.raw, UNDONE: options.undo_scale}
    keys = {RAW_TABLE: options.raw_id}
    return [
        TableFile(path, path.name, "", role, key=keys.get(role))
        for role, path in given.items()
        if path is not None
    ]


def _repeated(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that repeat a run; it is kept once."""
    return {name: value for name, value in given.items() if name != "keep"}


def _say_result(finished: "Run") -> None:
    from hetcal.schemes.choice import candidate_lines

    table, choice = finished.table, finished.choice
    if not finished.classes:
        say(
            f"The label '{table.roles.label}' is positive where it is '{table.roles.positive}': "
            f"{int(table.y.sum()):,} of {row_count(table.rows)}."
        )
    if choice is not None:
        say(candidate_lines(choice))
        say(choice.why)
    say(finished.verdict)


def score_command(options: argparse.Namespace) -> None:
    """Score the rows of a table with a saved artifact."""
    from hetcal.artifacts.artifact import (
        READ_SHARE,
        new_row_notes,
        score_with_artifact,
        scored_rows_in_words,
    )
    from hetcal.artifacts.report import table_bytes, with_columns

    if options.serve:
        _serve(options)
        return
    require_table_file(options.out)
    require_artifact(options.artifact)
    key = key_of(options.key)
    with tempfile.TemporaryDirectory() as directory, progress_line(sys.stderr) as told:
        reading, scoring = between(told, 0.0, READ_SHARE), between(told, READ_SHARE, 1.0)
        data = options.artifact.read_bytes()
        artifact, source, notes = _new_rows(options, data, Path(directory), key, reading)
        require_carried(options, source.frame)
        scored = score_with_artifact(artifact, source.frame, source.digest, scoring)
    written = with_columns(scored, carried_columns(options, source.frame))
    write_file(options.out, table_bytes(written, options.out.name))
    say_notes((*notes, *new_row_notes(artifact, source.frame, scored)))
    say(f"{scored_rows_in_words(scored)} scored: {options.out}")


OF_TABLES = (
    *("table", "array", "images", "image_column", "embeddings", "delimiter", "encoding", "decimal"),
    *("no_header", "skip_bad_rows", "out", "id", "all_columns"),
)  # options of `score` that say something of its table


def _serve(options: argparse.Namespace) -> None:
    from hetcal.artifacts.artifact import open_artifact
    from hetcal.artifacts.served import Served, serve_lines

    for each in OF_TABLES:
        _refuse_useless(each, getattr(options, each), "rows come from standard input")
    require_artifact(options.artifact)
    with tempfile.TemporaryDirectory() as directory:
        data, key = options.artifact.read_bytes(), key_of(options.key)
        served = Served(open_artifact(data, Path(directory), key))
        try:
            say_notes(["ready for rows"])
            serve_lines(served, sys.stdin.buffer, sys.stdout)
        finally:
            served.close()


def _new_rows(
    options: argparse.Namespace,
    data: bytes,
    directory: Path,
    key: bytes | None,
    reading: Progress,
) -> tuple["Artifact", Source, list[str]]:
    """Open an artifact and the table of new rows, with its arrays; also return notes."""
    from hetcal.artifacts.artifact import open_artifact, with_arrays

    artifact = open_artifact(data, directory, key)
    options.unpacked = directory
    source = read_table(options, artifact.kinds, reading)
    model = artifact.scoring.model if isinstance(artifact.scoring, ModelScoring) else None
    _refuse_useless("array", options.array and not model, "the scores come from columns")
    arrays = {} if model is None else _opened_arrays(options, model, source.frame)
    artifact, about_arrays = with_arrays(artifact, arrays, len(source.frame))
    return artifact, source, [*source.notes, *about_arrays]


def check_command(options: argparse.Namespace) -> int:
    """Check an artifact on newer rows; return 1 if something speaks against it."""
    from hetcal.artifacts.artifact import READ_SHARE
    from hetcal.watch.check import Gate, check_json, check_lines, check_new_rows
    from hetcal.watch.refit import refit_maps
    from hetcal.watch.rows import read_new_rows, reference_of

    require_artifact(options.artifact)
    require_file(options.refit)
    key, gate = key_of(options.key), Gate(options.min_lift, options.max_calibration_error)
    with tempfile.TemporaryDirectory() as directory, progress_line(sys.stderr) as told:
        data, reading = options.artifact.read_bytes(), between(told, 0.0, READ_SHARE)
        artifact, source, notes = _new_rows(options, data, Path(directory), key, reading)
        reference, scoring = reference_of(artifact), between(told, READ_SHARE, 1.0)
        new = read_new_rows(artifact, source.frame, source.digest, scoring)
        checked = check_new_rows(artifact, reference, new, gate)
        wanted = options.refit is not None and checked.action in ("refit", "begin again")
        refitted = refit_maps(data, artifact, new, key=key) if wanted else None
    say_notes((*notes, *checked.notes))
    if options.json:
        sys.stdout.write(check_json(checked, Path(options.table).name))
    else:
        say("\n".join(check_lines(checked)))
    if refitted is not None:
        write_file(options.refit, refitted.content)
        say_notes([f"{refitted.words} Written to {options.refit}."])
    elif options.refit is not None:
        say_notes([f"Nothing was written to {options.refit}: nothing is known to be wrong."])
    return 0 if checked.passed else 1


def export_command(options: argparse.Namespace) -> None:
    """Write the calibrated model of an artifact in formats of other systems."""
    from hetcal.artifacts.artifact import open_artifact
    from hetcal.exports.export import make_exports

    require_artifact(options.artifact)
    one = options.out.suffix != "" and not options.out.is_dir()
    (require_file if one else require_folder)(options.out)
    _refuse_useless("dialect", options.dialect and "sql" not in options.to, "no SQL is written")
    _refuse_useless("rows", options.table and "table" not in options.to, "no table is written")
    with tempfile.TemporaryDirectory() as directory, progress_line(sys.stderr) as told:
        artifact = open_artifact(
            options.artifact.read_bytes(), Path(directory), key_of(options.key)
        )
        options.unpacked = Path(directory)
        dialects = options.dialect or DIALECTS[:1]
        scored = None if options.table is None else _scored_rows(options, artifact)
        made = make_exports(artifact, options.to, dialects, told, **(scored or {}))
    if one and len(options.to) == 1:  # of several files of a format the one with this ending
        made = tuple(each for each in made if each.name.endswith(options.out.suffix)) or made
    if one and len(made) > 1:
        raise HetcalError(
            f"The output '{options.out}' is one file, and {len(made)} are to be written.",
            "Several files are written into a folder.",
            "Name a folder; it is made if there is none.",
        )
    if not one:
        options.out.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    paths = [options.out if one else options.out / each.name for each in made]
    write_files({path: each.content for path, each in zip(paths, made, strict=True)})
    for path, each in zip(paths, made, strict=True):
        say(f"{path}: {each.size_words}. Compared with the artifact: {each.parity.words}.")


def _scored_rows(options: argparse.Namespace, artifact: "Artifact") -> dict[str, Any]:
    """Score the rows of a table for its export, with the columns that are named."""
    from hetcal.artifacts.artifact import new_row_notes, score_with_artifact
    from hetcal.artifacts.report import with_columns

    source = read_table(options, artifact.kinds)
    require_carried(options, source.frame)
    scored = score_with_artifact(artifact, source.frame, source.digest)
    say_notes((*source.notes, *new_row_notes(artifact, source.frame, scored)))
    carried = carried_columns(options, source.frame)
    written = with_columns(scored, carried)
    return {"scored": written, "carried": list(written.columns[1 : 1 + carried.shape[1]])}


def demo_command(options: argparse.Namespace) -> None:
    """Write the files of the demo, ready to be uploaded or run."""
    require_folder(options.out)
    for path in write_demo(options.out):
        say(str(path))


def speed_command(options: argparse.Namespace) -> None:
    """Measure how fast hetcal is, next to scikit-learn and to what memory allows."""
    from hetcal.benchmarks.speed import Measured, measure_speed
    from hetcal.benchmarks.tables import SPEED_NOTES, speed_heading, speed_json, speed_line

    require_file(options.json)
    measured: list[Measured] = []
    say(speed_heading())
    for each in measure_speed(options.rows, compiled=options.compiled):
        say(speed_line(each, measured))
        sys.stdout.flush()
        measured.append(each)
    say("\n".join(SPEED_NOTES))
    if options.json is not None:
        write_file(options.json, speed_json(measured).encode())


def benchmark_command(options: argparse.Namespace) -> None:
    """Compare all schemes with their rivals on networks of five public data sets."""
    from hetcal.benchmarks.benchmark import Plan, run_benchmark
    from hetcal.benchmarks.tables import data_set_table, model_table, summary_table

    require_file(options.save)
    plan = Plan(
        options.data, options.datasets, options.models, options.seed, options.scores, options.save
    )
    results = []
    for result in run_benchmark(plan):
        say(model_table(result))
        sys.stdout.flush()
        results.append(result)
    say(summary_table(results))
    say(data_set_table(results))


def compare_command(options: argparse.Namespace) -> None:
    """Lay finished runs side by side, with paired tests where their test rows are the same."""
    from hetcal.artifacts.compared import comparison_json, read_compared
    from hetcal.results.compare import compare_runs, comparison_lines

    require_file(options.json)
    folders = all((each / "result.json").is_file() for each in options.runs)
    comparison = compare_runs(read_compared(options.runs) if folders else _kept(options.runs))
    for line in comparison_lines(comparison):
        say(line)
    if options.json is not None:
        write_file(options.json, comparison_json(comparison).encode())


def _kept(given: Sequence[Path]) -> list["ComparedRun"]:
    """Return runs of the store by name or id; a folder stands for the run in it."""
    from hetcal.artifacts.compared import read_compared
    from hetcal.store.finished import compared_of

    store = open_store()
    return [
        read_compared([each])[0] if each.is_dir() else compared_of(store.find(str(each)))
        for each in given
    ]


def open_store() -> "Store":
    """Open the folder of kept runs."""
    from hetcal.store.store import Store

    return Store()


def runs_command(options: argparse.Namespace) -> None:
    """List, show or delete the runs that are kept."""
    from hetcal.cli.kept_runs import delete_runs, list_runs, show_run

    store = open_store()
    if options.action == "show":
        say(show_run(store, options.name))
    elif options.action == "delete":
        say(delete_runs(store, options.name, old=options.old, sure=options.yes))
    else:
        say(list_runs(store))


def require_artifact(path: Path) -> None:
    """Refuse a path that leads to no file."""
    if not is_readable(path):
        raise ArtifactError(
            f"There is no artifact '{path}' that can be read.",
            "An artifact is the file artifact.zip that `run` or the Export page wrote.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def key_of(path: Path | None) -> bytes | None:
    """Read the key of signatures, if one is named."""
    from hetcal.artifacts.seal import read_key

    return None if path is None else read_key(path)


def require_model(path: Path | None) -> None:
    """Refuse a path that leads to no file."""
    if path is not None and not is_readable(path):
        raise ModelError(
            f"There is no model file '{path}' that can be read.",
            "--model names a Keras model that was saved as .keras or .h5.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def require_folder(out: Path, sign: Path | None = None) -> None:
    """Refuse a file where a folder is to be made, and a key that cannot sign what is in it."""
    key_of(sign)
    above = next((each for each in (out, *out.parents) if each.exists()), out)
    if above.exists() and not above.is_dir():
        raise TableError(
            f"The output '{out}' is a file."
            if above == out
            else f"The output '{out}' lies below '{above}', which is a file.",
            "The results are written into a folder.",
            "Name a folder; it is made if there is none.",
        )


def require_table_file(out: Path) -> None:
    """Refuse an output that no table can be written to, before any work is done."""
    from hetcal.artifacts.report import require_table_name

    require_table_name(out.name)
    require_file(out)


def require_file(out: Path | None) -> None:
    """Refuse an output that is a folder, or whose folder is missing."""
    if out is None:
        return
    if out.is_dir():
        raise HetcalError(
            f"The output '{out}' is a folder.",
            "The results are written into one file.",
            "Name a file in it.",
        )
    if not out.parent.is_dir():
        raise HetcalError(
            f"The output '{out}' cannot be written: there is no folder '{out.parent}'.",
            "The folder of the output must exist.",
            "Make the folder, or choose another place.",
        )


COMMANDS: dict[str, Callable[[argparse.Namespace], int | None]] = {
    "run": run_command,
    "score": score_command,
    "check": check_command,
    "export": export_command,
    "compare": compare_command,
    "runs": runs_command,
    "demo": demo_command,
    "speed": speed_command,
    "benchmark": benchmark_command,
}


def read_table(
    options: argparse.Namespace, kinds: Kinds | None = None, progress: Progress = silent
) -> Source:
    """Read the table that a command names, with the columns of what is beside it."""
    source = from_path(options.table, _dialect(options), kinds, progress)
    if options.embeddings is not None:
        path = options.embeddings.expanduser()
        source = with_embeddings(source, open_array(path, "embeddings", options.unpacked))
    if options.raw is not None:
        raw = read_file(options.raw.expanduser(), kinds=kinds_of_raw(kinds or {}, source.frame))
        source = with_raw_table(source, raw, options.raw_id)
    _refuse_useless("raw_id", options.raw_id and options.raw is None, "there is no second table")
    if options.undo_scale is not None:
        steps = read_steps(options.undo_scale.expanduser())
        source = with_scales_undone(source, steps, options.undo_scale.name)
    return source


def with_texts(
    options: argparse.Namespace, scoring: Scoring, source: Source, table: Table, roles: Roles
) -> tuple[Source, Table]:
    """Read the table again if the model needs the text of columns that were read as numbers."""
    texts = read_as_text(scoring, table.frame)
    if not texts:
        return source, table
    source = read_table(options, dict.fromkeys(texts, "category"))
    return source, make_table(source.frame, roles, source.digest, options.classes)


def _dialect(options: argparse.Namespace) -> Dialect | None:
    """Change what is detected as the options say; None if they say nothing."""
    changes = given(
        delimiter="\t" if options.delimiter in ("tab", "\\t") else options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        header=False if options.no_header else None,
        skip_bad_rows=True if options.skip_bad_rows else None,
    )
    path = Path(os.path.expanduser(options.table))
    files = [each for each in table_files(path) if is_readable(each)]
    if not changes or not files:  # what cannot be read is refused where it is read
        return None
    text = next((each for each in files if not is_parquet(each)), None)
    if text is None:
        raise HetcalError(
            f"The table '{options.table}' is Parquet, and an option says how to read text.",
            "hetcal refuses options that it would ignore.",
            "Leave out --delimiter, --encoding, --decimal, --no-header and --skip-bad-rows.",
        )
    return replace(detect_dialect(text), **changes)


def given(**values: Any) -> dict[str, Any]:
    """Keep the options that were given; the others have their defaults elsewhere."""
    return {name: value for name, value in values.items() if value is not None}


def roles_of(options: argparse.Namespace, source: Source, many_classes: bool) -> Roles:
    """Return the roles that the options give the columns."""
    return Roles(
        label=options.label,
        positive=options.positive,
        features=options.features,
        ignore=(
            *(() if options.features else source.prepared),
            *_left_out(options),
        ),
        group=None if _no_group(options, source) else options.group,
        assume_group=not _no_group(options, source),
        weight=options.weight,
        split=options.split or source.split_column,
        time=options.split_by_time,
        score=None if many_classes else options.score,
        class_scores=score_columns(options, True) if many_classes else (),
        drop_unlabelled=options.drop_unlabelled,
    )


def _left_out(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the columns that the options keep from being features."""
    named = () if options.id is None else (options.id,)
    images = (each.rpartition("=")[2] for each in options.image_column or ())
    return (*(options.ignore or ()), *named, *images)


def _no_group(options: argparse.Namespace, source: Source) -> bool:
    """Whether --group says that there are no groups; a column may have that name, too."""
    return options.group == NO_GROUP and NO_GROUP not in source.frame


def score_columns(options: argparse.Namespace, many_classes: bool) -> tuple[str, ...]:
    """Return the score columns that are named: one, or one per class."""
    if options.score is None:
        return ()
    return names(options.score) if many_classes else (options.score,)


def require_carried(options: argparse.Namespace, frame: pd.DataFrame) -> None:
    """Refuse names of columns that the table does not have, or an id that is to be a feature."""
    for each in options.carry or ():
        require_column(frame, each, "column to carry")
    if options.id is None:
        return
    require_column(frame, options.id, "id column")
    for role in ("features", "increasing", "decreasing", "columns"):
        if options.id in (getattr(options, role, None) or ()):
            raise TableError(
                f"The column '{options.id}' is named by --id and by --{role}.",
                "A column that names the rows is never a feature.",
                "Leave it out of one of the two.",
            )


def carried_columns(options: argparse.Namespace, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the table that go into the scored table, the id first."""
    first = [] if options.id is None else [options.id]
    others = frame.columns if options.all_columns else options.carry or ()
    return frame[list(dict.fromkeys([*first, *others]))]


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings of a run."""
    return Settings(
        use_validation=not options.no_validation,
        **given(
            seed=options.seed,
            partition=options.partition if options.partition in PARTITIONS else None,
            fractions=options.fractions,
            max_depth=options.max_depth,
            min_leaf=options.min_leaf,
            tree_size=options.tree_size,
            segments=options.columns,
            bins=options.bins,
            calibrator=options.calibrator,
            shrinkage=options.shrinkage,
            min_rows=options.min_rows,
            only=options.only,
            take=options.take,
            pairs=options.pairs,
            increasing=options.increasing,
            decreasing=options.decreasing,
        ),
    )


def scoring_of(
    options: argparse.Namespace, table: Table, columns: tuple[str, ...], source: Source
) -> Scoring:
    """Return where the scores come from: from columns that are named, or from a model.

    The rows of `source` are all of the file, also those without a label: arrays have as many.
    """
    if columns:
        return ColumnScoring(columns, options.score_kind or guess_kind_of(table.frame, columns))
    model = inspect_model(options.model)
    inputs = _inputs(options, model, table, source)
    if options.scale is not None:
        inputs = replace(inputs, steps=_steps(options, model, inputs, table))
    unit = options.positive_unit
    unit = _unit_in_order(options, model, table) if unit is None else unit
    more = given(positive_unit=unit, layer=options.layer)
    return ModelScoring(model, inputs, options.output, **more)


def _unit_in_order(options: argparse.Namespace, model: ModelFile, table: Table) -> int | None:
    """Return the place of the positive value, where a model gives a number for each of many."""
    values = label_values(table.frame[options.label])
    if model.units != len(values) or len(values) < 3 or options.positive not in values:
        return None
    return values.index(options.positive)


def _steps(
    options: argparse.Namespace, model: ModelFile, inputs: InputColumns, table: Table
) -> InputSteps:
    """Return what --scale says was done to the columns in training."""
    from hetcal.runs.run import split_table

    check_names(model, table.frame, inputs)
    columns = table.frame[list(inputs.needed)]
    training = columns.iloc[split_table(table, settings_of(options)).train]
    if options.scale in SCALES:
        return scale_all(options.scale, float_columns(model, inputs), training)
    return fit_steps(read_steps(Path(options.scale).expanduser()), training)


def _arrays(
    options: argparse.Namespace, model: ModelFile, frame: pd.DataFrame
) -> tuple[ArrayInput, ...]:
    """Return the arrays that feed inputs of the model; rows are those of the file."""
    divided = {each.name for each in model.inputs if takes_fractions(each)}
    found = _opened_arrays(options, model, frame)
    for file in found.values():
        require_rows(file, len(frame))
    scale = options.array_scale or 1.0
    return tuple(ArrayInput(name, found[name], scale if name in divided else 1.0) for name in found)


def _opened_arrays(
    options: argparse.Namespace, model: ModelFile, frame: pd.DataFrame
) -> dict[str, ArrayFile]:
    """Open the arrays and decode the images that options name, by the input that each is for."""
    found = {}
    for text in options.image_column or ():
        _refuse_useless("image-column", options.images is None, "no folder of --images is named")
        name, named, column = text.rpartition("=")
        name = name if named else array_input(model)
        require_column(frame, column, "column of images")
        spec = next((each for each in model.inputs if each.name == name), ModelInput(name, None))
        found[name] = decode_images(frame[column], options.images, spec, options.unpacked)
    for text in options.array or ():
        name, named, file = text.rpartition("=")
        name = name if named else array_input(model)
        found[name] = open_array(Path(file).expanduser(), name, options.unpacked)
    return found


def _inputs(
    options: argparse.Namespace, model: ModelFile, table: Table, source: Source
) -> InputColumns:
    arrays = _arrays(options, model, source.frame)
    require_arrays(model, InputColumns((), arrays=arrays))
    fed = {each.input for each in arrays}
    others = replace(model, inputs=tuple(each for each in model.inputs if each.name not in fed))
    _refuse_useless("inputs", not others.inputs and options.inputs, "arrays feed all inputs")
    return replace(_input_columns(options, others, table, source), arrays=arrays)


def _input_columns(
    options: argparse.Namespace, model: ModelFile, table: Table, source: Source
) -> InputColumns:
    columns = list(table.frame.columns)
    if options.inputs == (ALL_INPUTS,) and ALL_INPUTS not in columns:
        features = columns_for_model(source, table.roles, _left_out(options))
        return matrix_input(model, [name for name in columns if name in features])
    if options.inputs is not None:
        return listed_inputs(model, options.inputs, columns)
    suggested = suggest_inputs(model, columns)
    if suggested is not None:
        return suggested
    absent = [each.name for each in model.inputs if each.name not in columns]
    if len(model.inputs) > 1:
        raise ModelError(
            f"The table has no column for {', '.join(map(repr, absent))}, which the model "
            f"'{model.name}' takes.",
            "Each input of the model must have a column of its name, or be told its columns.",
            "Name the columns of the input: --inputs NAME=c1,c2,…, repeated for each.",
        )
    width = "some" if model.inputs[0].width is None else f"{model.inputs[0].width:,}"
    raise ModelError(
        f"The model '{model.name}' takes {width} columns as one matrix, but they are not named.",
        "hetcal never guesses the order of the columns.",
        "Name the columns in the model's own order: --inputs c1,c2,… or @FILE, or all.",
    )


def partition_of(options: argparse.Namespace) -> "Partition | None":
    """Return the partition of a file; None if the settings name one to be grown."""
    if options.partition in PARTITIONS:
        return None
    from hetcal.partitions.partition import Partition

    path = Path(options.partition)
    if not path.exists():
        raise PartitionError(
            f"There is no partition called '{path}', and no such file.",
            f"A partition is one of {', '.join(PARTITIONS)}, or a file that hetcal saved.",
            "Choose one of these.",
        )
    return Partition.from_json(path.read_bytes())


def refuse_unused(
    options: argparse.Namespace, *, rows_have_roles: bool, many_classes: bool
) -> None:
    """Refuse options of `run` that another option makes useless: none is ignored in silence."""
    _require_counts(options)
    _require_names(options)
    _require_rung(options, many_classes)
    no_model = options.model is None
    kind = options.partition
    tree, other = kind in GROWN, f"the partition is --partition {kind}"
    sized = options.tree_size is not None
    for given, useless, why in (
        ("inputs", no_model, "the scores come from a column, not from a model"),
        ("scale", no_model, "the scores come from a column, not from a model"),
        ("array", no_model, "the scores come from a column, not from a model"),
        ("array_scale", not (options.array or options.image_column), "no --array is named"),
        ("images", options.image_column is None, "no --image-column is named"),
        ("image_column", no_model, "the scores come from a column, not from a model"),
        ("output", no_model, "the scores come from a column, not from a model"),
        ("positive_unit", no_model, "the scores come from a column, not from a model"),
        ("score_kind", not no_model, "the scores come from a model, not from a column"),
        ("positive_unit", many_classes, "no value of the label is named as positive"),
        ("classes", not many_classes, "the label is treated as two classes"),
        ("max_depth", not tree, other),
        ("max_depth", sized, "cross-validation chooses the depth"),
        ("min_leaf", not tree, other),
        ("tree_size", kind not in ("tree", "layer") or many_classes, other),
        ("shrinkage", many_classes, "cross-validation chooses it for more than two classes"),
        ("min_rows", many_classes, "maps of small leaves are shrunk towards the pooled map"),
        ("columns", kind != "columns", other),
        ("bins", kind != "columns", other),
        ("layer", kind != "layer", other),
        ("calibrator", kind in ENSEMBLES, f"--partition {kind} has maps of its own"),
        (
            "shrinkage",
            kind in ENSEMBLES and not many_classes,
            f"--partition {kind} has maps of its own",
        ),
        (
            "min_rows",
            kind in ENSEMBLES and not many_classes,
            f"--partition {kind} has maps of its own",
        ),
        ("only", kind not in CHOOSING, other),
        ("take", kind not in CHOOSING, other),
        ("only", many_classes, "with more than two classes all schemes are maps of the score"),
        ("only", options.take is not None, "--take says which scheme is used"),
        *((each, kind not in WITH_TERMS, other) for each in TERMS),
        *((each, many_classes, "curves and pairs are for two classes") for each in TERMS),
        *(
            (each, options.only is not None, "only maps of the score may be chosen")
            for each in TERMS
        ),
        ("no_validation", kind not in (*ENSEMBLES, *READ_SCORES), f"{other}, which reads none"),
        ("fractions", rows_have_roles, "the files say which role their rows have"),
        ("split", rows_have_roles, "the files say which role their rows have"),
        ("split_by_time", rows_have_roles, "the files say which role their rows have"),
        ("split_by_time", options.split is not None, "--split says which role the rows have"),
    ):
        _refuse_useless(given, useless and getattr(options, given) is not None, why)
    if many_classes and kind in PARTITIONS and kind not in FOR_CLASSES:
        raise HetcalError(
            f"The partition '{optional_name(kind)}' is for two classes.",
            f"With more classes it is one of {', '.join(FOR_CLASSES)}, or a FILE.json.",
            "Choose one of these, or name a positive value to set it against all others.",
        )
    kinds = CLASS_CALIBRATORS if many_classes else CALIBRATORS
    if options.calibrator not in (None, *kinds):
        raise HetcalError(
            f"The calibrator '{options.calibrator}' is not for "
            f"{'more than' if many_classes else 'only'} two classes.",
            f"Here it is one of {', '.join(kinds)}.",
            "Choose one of these, or leave the option out.",
        )


def _refuse_useless(name: str, useless: object, why: str) -> None:
    if useless:
        raise HetcalError(
            f"The option --{name.replace('_', '-')} has no effect here: {why}.",
            "hetcal refuses options that it would ignore.",
            "Leave it out.",
        )


def _require_counts(options: argparse.Namespace) -> None:
    counts = ("max_depth", 1), ("min_leaf", 1), ("bins", 1), ("min_rows", 0), ("pairs", 0)
    for name, least in counts:
        value = getattr(options, name)
        if value is not None and value < least:
            raise HetcalError(
                f"The option --{name.replace('_', '-')} is {value}.",
                f"It has to be a whole number of at least {least}.",
                "Choose such a number, or leave the option out.",
            )


def _require_names(options: argparse.Namespace) -> None:
    """Refuse a partition that needs the name of what it divides, and is given none."""
    for kind, needed, what in (
        ("columns", "--columns c1,c2,…", "columns of the table"),
        ("layer", "--layer NAME, with --model FILE", "a layer of the model"),
    ):
        if options.partition == kind and not getattr(options, kind):
            raise HetcalError(
                f"--partition {kind} needs --{kind}, which is missing.",
                f"It divides the rows by {what}.",
                f"Add {needed}, or choose another partition.",
            )


def _require_rung(options: argparse.Namespace, many_classes: bool) -> None:
    """Refuse a rung that the ladder of two classes does not have, before any work is done."""
    if options.take not in (None, *RUNGS) and not many_classes:
        raise HetcalError(
            f"There is no scheme called '{options.take}' to take.",
            f"It has to be one of {RUNG_OPTIONS}.",
            "Choose one of these, by the name in brackets if there is one, or leave --take out.",
        )


def refuse_several(options: argparse.Namespace, frame: pd.DataFrame) -> None:
    """Refuse a score column per class where the label is treated as two classes."""
    columns = () if options.score is None else names(options.score)
    if options.score in frame or len(columns) < 2 or not set(columns) <= set(frame.columns):
        return
    why = "with --positive" if options.positive is not None else "as the label has two values"
    all_classes = (
        ", or leave --positive out to calibrate all classes together"
        if options.positive is not None
        else ""
    )
    raise ScoreError(
        f"--score names {len(columns)} columns ({', '.join(columns)}), and {why} one is used.",
        "Several score columns are for labels of more than two classes, one for each.",
        f"Name the column of the positive value, such as --score {columns[-1]}{all_classes}.",
    )
