"""The command line: the same core as the app, without Streamlit."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import pandas as pd

from hetcal.algorithm import Run, Settings, run, split_table
from hetcal.artifacts import artifact_bytes, open_artifact, score_with_artifact
from hetcal.checks import check_table
from hetcal.demo import write_demo
from hetcal.errors import HetcalError, ModelError
from hetcal.model_file import inspect_model
from hetcal.model_scores import matrix_input, suggest_inputs
from hetcal.partition import Partition
from hetcal.report import result_json, scored_test_rows, table_bytes
from hetcal.scores import guess_kind
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring, score_rows
from hetcal.sources import Source, from_path
from hetcal.splits import PAPER_FRACTIONS
from hetcal.table import Roles, Table, make_table

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; bad input ends with exit code 2 and one message."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except HetcalError as error:
        _say(f"hetcal: {error}", sys.stderr)
        return BAD_INPUT
    except OSError as error:
        _say(f"hetcal: {error.filename or 'a file'}: {error.strerror}.", sys.stderr)
        return BAD_INPUT
    return 0


def run_command(options: argparse.Namespace) -> None:
    """Calibrate a table leaf by leaf and write result, artifact and scored test rows."""
    source = from_path(options.table)
    table = make_table(source.frame, _roles(options, source), source.digest)
    settings = _settings(options)
    scoring = _scoring(options, source.frame)
    for note in (*source.notes, *_findings(table, settings)):
        _say(f"note: {note}", sys.stderr)
    scores = score_rows(table.frame, scoring, table.digest)
    finished = run(table, scores, settings, _partition(options))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "result.json").write_text(result_json(finished), encoding="utf-8")
    (options.out / "artifact.zip").write_bytes(artifact_bytes(finished, scoring))
    scored = table_bytes(scored_test_rows(finished), "scored.parquet")
    (options.out / "scored.parquet").write_bytes(scored)
    _say(_summary(finished, options.out))


def score_command(options: argparse.Namespace) -> None:
    """Score the rows of a table with a saved artifact."""
    with tempfile.TemporaryDirectory() as directory:
        artifact = open_artifact(options.artifact.read_bytes(), Path(directory))
        source = from_path(options.table)
        scored = score_with_artifact(artifact, source.frame, source.digest)
    options.out.write_bytes(table_bytes(scored, options.out.name))
    _say(f"{len(scored):,} rows scored: {options.out}")


def demo_command(options: argparse.Namespace) -> None:
    """Write the files of the demo, ready to be uploaded or run."""
    for path in write_demo(options.out):
        _say(str(path))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hetcal", description="Heterogeneous calibration of a trained classifier."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help=_first_line(run_command)))
    score = commands.add_parser("score", help=_first_line(score_command))
    score.add_argument("artifact", type=Path, metavar="ARTIFACT")
    score.add_argument("table", type=Path, metavar="TABLE")
    score.add_argument("--out", type=Path, required=True, metavar="FILE", help=".csv or .parquet")
    score.set_defaults(command=score_command)
    demo = commands.add_parser("demo", help=_first_line(demo_command))
    demo.add_argument("--out", type=Path, required=True, metavar="DIR")
    demo.set_defaults(command=demo_command)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=run_command)
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE", help="CSV, TSV or Parquet file, or a folder")
    add("--label", required=True, help="column of the label")
    add("--positive", help="value of the label that counts as positive")
    scores = parser.add_mutually_exclusive_group(required=True)
    scores.add_argument("--score", metavar="COL", help="column of scores")
    scores.add_argument("--model", type=Path, metavar="FILE", help="Keras model (.keras, .h5)")
    add("--score-kind", choices=("logit", "probability"), help="default: by the column's range")
    add("--inputs", type=_names, help="columns of the model's matrix input, in its order")
    add("--output", help="name of the model's output, where it has several")
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--split", metavar="COL", help="column: train, validation, calibration, test")
    rows.add_argument("--fractions", type=_fractions, metavar="a,b,c,d", default=PAPER_FRACTIONS)
    add("--features", type=_names, help="columns of the partition; default: all others")
    add("--ignore", type=_names, default=(), help="columns to leave out")
    add("--group", metavar="COL", help="rows of one group stay on one side of the split")
    add("--weight", metavar="COL", help="column of row weights")
    add("--drop-unlabelled", action="store_true", help="leave rows without a label out")
    add("--partition", default="tree", metavar="tree|FILE.json")
    add("--max-depth", type=int, default=Settings.max_depth)
    add("--min-leaf", type=int, help="fewest training rows of a leaf; default: by table size")
    add("--calibrator", choices=("platt",), default="platt")
    add("--seed", type=int, default=Settings.seed)
    add("--out", type=Path, required=True, metavar="DIR")


def _roles(options: argparse.Namespace, source: Source) -> Roles:
    return Roles(
        label=options.label,
        positive=options.positive,
        features=options.features,
        ignore=options.ignore,
        group=options.group,
        weight=options.weight,
        split=options.split or source.split_column,
        score=options.score,
        drop_unlabelled=options.drop_unlabelled,
    )


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        fractions=options.fractions,
        seed=options.seed,
        max_depth=options.max_depth,
        min_leaf=options.min_leaf,
    )


def _scoring(options: argparse.Namespace, frame: pd.DataFrame) -> Scoring:
    if options.score is not None:
        kind = options.score_kind
        if kind is None:
            kind = guess_kind(frame[options.score]) if options.score in frame else "logit"
        return ColumnScoring(options.score, kind)
    model = inspect_model(options.model)
    if options.inputs is None:
        inputs = suggest_inputs(model, list(frame.columns))
    else:
        inputs = matrix_input(model, options.inputs)
    if inputs is None:
        wanted = ", ".join(f"'{each.name}' ({each.width} columns)" for each in model.inputs)
        raise ModelError(
            f"No column is named after the inputs of '{options.model.name}': {wanted}.",
            "hetcal never guesses the order of the columns.",
            "Name the columns in the model's own order: --inputs c1,c2,…",
        )
    return ModelScoring(model, inputs, options.output)


def _partition(options: argparse.Namespace) -> Partition | None:
    if options.partition == "tree":
        return None
    return Partition.from_json(Path(options.partition).read_text(encoding="utf-8"))


def _findings(table: Table, settings: Settings) -> list[str]:
    return [each.message for each in check_table(table, split_table(table, settings))]


def _summary(finished: Run, out: Path) -> str:
    lift, rows = finished.evaluation.lift, finished.split.counts
    return (
        f"AUC {lift.before:.4f} before, {lift.after:.4f} after: {lift.auc:+.4f} "
        f"(95 % interval {lift.low:+.4f} to {lift.high:+.4f}, p = {lift.p:.2g}) "
        f"on {rows['test']:,} test rows in {len(finished.partition.leaves)} leaves.\n"
        f"Written to {out}: result.json, artifact.zip, scored.parquet"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _fractions(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        message = f"fractions are four numbers such as 0.6,0.1,0.15,0.15, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def _first_line(function: object) -> str:
    return str(function.__doc__).splitlines()[0]


def _say(text: str, stream: TextIO | None = None) -> None:
    (stream or sys.stdout).write(f"{text}\n")
