"""The commands: what each does with its options.

What takes long to load is imported where it is used: a model starts in its own process first.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hetcal.cli.inputs import (
    partition_of,
    read_table,
    refuse_several,
    refuse_unused,
    roles_of,
    score_columns,
    scoring_of,
    settings_of,
)
from hetcal.cli.output import progress_line, say, say_notes
from hetcal.data.checks import Finding
from hetcal.data.columns import row_count
from hetcal.data.demo import write_demo
from hetcal.data.table import Roles, has_many_classes, make_table
from hetcal.data.text import is_readable
from hetcal.errors import ArtifactError, HetcalError, ModelError, TableError
from hetcal.models.scoring import start_rows
from hetcal.progress import between

if TYPE_CHECKING:
    from hetcal.runs.run import Run


def run_command(options: argparse.Namespace) -> None:
    """Calibrate a table leaf by leaf and write result, artifact and scored test rows."""
    require_folder(options.out)
    require_model(options.model)
    source = read_table(options)
    many = has_many_classes(source.frame, Roles(options.label, options.positive))
    refuse_unused(options, rows_have_roles=source.split_column is not None, many_classes=many)
    if not many:
        refuse_several(options, source.frame)
    roles = roles_of(options, source, many)
    table = make_table(source.frame, roles, source.digest, options.classes)
    scoring = scoring_of(options, source.frame, score_columns(options, many))
    say_notes(source.notes)
    scores = start_rows(table.frame, scoring, table.classes, table.digest)

    from hetcal.artifacts.artifact import artifact_bytes
    from hetcal.artifacts.report import result_json, scored_test_rows, table_bytes
    from hetcal.runs.run import run

    settings, partition = settings_of(options), partition_of(options)
    with progress_line(sys.stderr) as told:
        finished = run(table, scores, settings, partition, told, _say_findings)
    assumed = many and not options.classes
    say_notes((*finished.notes, *(["No --classes: ascending order is assumed."] * assumed)))
    _say_result(finished)
    sys.stdout.flush()
    files = {
        "result.json": result_json(finished).encode(),
        "artifact.zip": artifact_bytes(finished, scoring),
        "partition.json": finished.partition.to_json().encode(),
        "scored.parquet": table_bytes(scored_test_rows(finished), "scored.parquet"),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (options.out / name).write_bytes(content)
    say(f"Written to {options.out}: {', '.join(files)}")


def _say_result(finished: "Run") -> None:
    from hetcal.results.words import verdict
    from hetcal.schemes.choice import candidate_lines

    table, found, choice = finished.table, finished.evaluation, finished.choice
    several = bool(finished.classes)
    if not several:
        say(
            f"The label '{table.roles.label}' is positive where it is '{table.roles.positive}': "
            f"{int(table.y.sum()):,} of {row_count(table.rows)}."
        )
    if choice is not None:
        say(candidate_lines(choice))
        say(choice.why)
    one_map = several and not finished.divided
    say(verdict(found.lift, found.rows, one_map, found.groups, several_classes=several))


def score_command(options: argparse.Namespace) -> None:
    """Score the rows of a table with a saved artifact."""
    from hetcal.artifacts.artifact import (
        READ_SHARE,
        new_row_notes,
        open_artifact,
        score_with_artifact,
        scored_rows_in_words,
    )
    from hetcal.artifacts.report import table_bytes

    require_table_file(options.out)
    require_artifact(options.artifact)
    with tempfile.TemporaryDirectory() as directory, progress_line(sys.stderr) as told:
        artifact = open_artifact(options.artifact.read_bytes(), Path(directory))
        reading, scoring = between(told, 0.0, READ_SHARE), between(told, READ_SHARE, 1.0)
        source = read_table(options, artifact.kinds, reading)
        scored = score_with_artifact(artifact, source.frame, source.digest, scoring)
    options.out.write_bytes(table_bytes(scored, options.out.name))
    say_notes((*source.notes, *new_row_notes(artifact, source.frame, scored)))
    say(f"{scored_rows_in_words(scored)} scored: {options.out}")


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
        options.json.write_text(speed_json(measured), encoding="utf-8")


def benchmark_command(options: argparse.Namespace) -> None:
    """Compare all schemes with their rivals on networks of five public data sets."""
    from hetcal.benchmarks.benchmark import Plan, run_benchmark
    from hetcal.benchmarks.tables import model_table, summary_table

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


def require_artifact(path: Path) -> None:
    """Refuse a path that leads to no file."""
    if not is_readable(path):
        raise ArtifactError(
            f"There is no artifact '{path}' that can be read.",
            "An artifact is the file artifact.zip that `run` or the Export page wrote.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def require_model(path: Path | None) -> None:
    """Refuse a path that leads to no file."""
    if path is not None and not is_readable(path):
        raise ModelError(
            f"There is no model file '{path}' that can be read.",
            "--model names a Keras model that was saved as .keras or .h5.",
            "Check the path for a spelling mistake, and the file's permissions.",
        )


def require_folder(out: Path) -> None:
    """Refuse a file where a folder is to be made."""
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


def _say_findings(findings: Iterable[Finding]) -> None:
    say_notes(each.message for each in findings)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "run": run_command,
    "score": score_command,
    "demo": demo_command,
    "speed": speed_command,
    "benchmark": benchmark_command,
}
