"""The command line: the same core as the app, without Streamlit."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from hetcal.algorithm import run
from hetcal.artifact_reading import open_artifact
from hetcal.artifacts import READ_SHARE, artifact_bytes, score_with_artifact
from hetcal.choice import candidate_lines
from hetcal.columns import row_count
from hetcal.command_choices import (
    partition_of,
    refuse_several,
    roles_of,
    score_columns,
    scoring_of,
    settings_of,
)
from hetcal.command_files import (
    refusal,
    require_artifact,
    require_file,
    require_folder,
    require_model,
    require_table_file,
    write_results,
)
from hetcal.command_options import parse_options, refuse_unused
from hetcal.command_tables import read_table
from hetcal.demo import write_demo
from hetcal.errors import HetcalError
from hetcal.finding import Finding
from hetcal.finished_run import Run
from hetcal.new_rows import new_row_notes, scored_rows_in_words
from hetcal.progress import between
from hetcal.progress_line import progress_line
from hetcal.report import result_json, scored_test_rows, table_bytes
from hetcal.scoring import score_rows
from hetcal.table import Roles, has_many_classes, make_table
from hetcal.verdict import verdict

BAD_INPUT = 2
STOPPED = 130  # what shells give after Ctrl+C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; bad input ends with exit code 2 and one message."""
    commands = {
        "run": run_command,
        "score": score_command,
        "demo": demo_command,
        "speed": speed_command,
        "benchmark": benchmark_command,
    }
    options = parse_options(commands, None if arguments is None else list(arguments))
    try:
        options.command(options)
    except HetcalError as error:
        _say(f"hetcal: {error}", sys.stderr)
        return BAD_INPUT
    except OSError as error:
        _say(f"hetcal: {refusal(error)}", sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        _say("hetcal: stopped.", sys.stderr)
        return STOPPED
    return 0


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
    _say_notes(source.notes)
    settings, partition = settings_of(options), partition_of(options)
    with progress_line(sys.stderr) as told:
        scores = score_rows(table.frame, scoring, table.classes, table.digest, told)
    with progress_line(sys.stderr) as told:
        finished = run(table, scores, settings, partition, told, _say_findings)
    written = write_results(
        options.out,
        result_json(finished),
        finished.partition.to_json(),
        artifact_bytes(finished, scoring),
        scored_test_rows(finished),
    )
    assumed = many and not options.classes
    _say_notes((*finished.notes, *(["No --classes: ascending order is assumed."] * assumed)))
    _say_result(finished)
    _say(written)


def _say_result(finished: Run) -> None:
    table, found, choice = finished.table, finished.evaluation, finished.choice
    several = bool(finished.classes)
    if not several:
        _say(
            f"The label '{table.roles.label}' is positive where it is '{table.roles.positive}': "
            f"{int(table.y.sum()):,} of {row_count(table.rows)}."
        )
    if choice is not None:
        _say(candidate_lines(choice))
        _say(choice.why)
    one_map = several and not finished.divided
    _say(verdict(found.lift, found.rows, one_map, found.groups, several_classes=several))


def score_command(options: argparse.Namespace) -> None:
    """Score the rows of a table with a saved artifact."""
    require_table_file(options.out)
    require_artifact(options.artifact)
    with tempfile.TemporaryDirectory() as directory, progress_line(sys.stderr) as told:
        artifact = open_artifact(options.artifact.read_bytes(), Path(directory))
        reading, scoring = between(told, 0.0, READ_SHARE), between(told, READ_SHARE, 1.0)
        source = read_table(options, artifact.kinds, reading)
        scored = score_with_artifact(artifact, source.frame, source.digest, scoring)
    options.out.write_bytes(table_bytes(scored, options.out.name))
    _say_notes((*source.notes, *new_row_notes(artifact, source.frame, scored)))
    _say(f"{scored_rows_in_words(scored)} scored: {options.out}")


def demo_command(options: argparse.Namespace) -> None:
    """Write the files of the demo, ready to be uploaded or run."""
    require_folder(options.out)
    for path in write_demo(options.out):
        _say(str(path))


def speed_command(options: argparse.Namespace) -> None:
    """Measure how fast hetcal is, next to scikit-learn and to what memory allows."""
    from hetcal.speed import measure_speed
    from hetcal.speed_table import NOTES, Measured, heading, table_line, to_json

    require_file(options.json)
    measured: list[Measured] = []
    _say(heading())
    for each in measure_speed(options.rows, compiled=options.compiled):
        _say(table_line(each, measured))
        sys.stdout.flush()
        measured.append(each)
    _say("\n".join(NOTES))
    if options.json is not None:
        options.json.write_text(to_json(measured), encoding="utf-8")


def benchmark_command(options: argparse.Namespace) -> None:
    """Compare all schemes with their rivals on networks of five public data sets."""
    from hetcal.benchmark import Plan, run_benchmark
    from hetcal.benchmark_table import model_table, summary_table

    require_file(options.save)
    plan = Plan(
        options.data, options.datasets, options.models, options.seed, options.scores, options.save
    )
    results = []
    for result in run_benchmark(plan):
        _say(model_table(result))
        sys.stdout.flush()
        results.append(result)
    _say(summary_table(results))


def _say_findings(findings: Iterable[Finding]) -> None:
    _say_notes(each.message for each in findings)


def _say_notes(notes: Iterable[str]) -> None:
    for note in notes:
        _say(f"note: {note}", sys.stderr)


def _say(text: str, stream: TextIO | None = None) -> None:
    stream = stream or sys.stdout
    coding = stream.encoding or "utf-8"
    stream.write(text.encode(coding, "backslashreplace").decode(coding) + "\n")
