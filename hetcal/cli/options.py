"""The options of the command line; nothing here imports more than the names that they offer."""

import argparse
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from hetcal.choices import (
    CALIBRATORS,
    CLASS_CALIBRATORS,
    DIALECTS,
    EXPORTS,
    PAPER_FRACTIONS,
    RUNG_OPTIONS,
)
from hetcal.runs.settings import PARTITIONS, TREE_SIZES, Settings
from hetcal.version import __version__

NO_GROUP = "none"
ALL_INPUTS = "all"
FEWEST_ROWS, MOST_ROWS = 2_000, 1_000_000_000  # of the speed test
OF_A_TREE = ("max_depth", "min_leaf", "tree_size", "calibrator", "shrinkage", "min_rows")
RUN_USAGE = """%(prog)s TABLE --label COL (--score COL | --model FILE) --out DIR
                  [option …]"""


class _Collected(argparse.Action):
    """Put the names of an option that is repeated into one list."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (*(getattr(namespace, self.dest, None) or ()), *values))


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(2, f"hetcal: {message}. See `python -m {self.prog} --help`.\n")


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the words after the program's name, or `arguments`; `command` is the command's name.

    The options of `run` also have `given`: by name, those of the command line and of its file.
    """
    parser = Parser(
        prog="hetcal",
        description="Heterogeneous calibration: make an over-confident classifier better after it "
        "was trained.",
        epilog="`hetcal COMMAND --help` lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"hetcal {__version__}")
    added = parser.add_subparsers(
        required=True, metavar="COMMAND", dest="command", parser_class=Parser
    )
    run_parser = None
    for name, add_options, help_line in COMMANDS:
        # What is left out of `run` may stand in its file, and is filled in afterwards.
        left_out = argparse.SUPPRESS if name == "run" else None
        command = added.add_parser(
            name, help=help_line, description=help_line, argument_default=left_out
        )
        add_options(command)
        run_parser = command if name == "run" else run_parser
    options = parser.parse_args(arguments)
    if options.command == "score":
        _require_score(options, parser)
    if run_parser is None or options.command != "run":
        return options
    return _completed(vars(options), run_parser)


def _require_score(options: argparse.Namespace, parser: Parser) -> None:
    """Refuse to score without a table; who serves has none."""
    missing = {"TABLE": options.table, "--out": options.out}
    if not options.serve and None in missing.values():
        named = ", ".join(name for name, value in missing.items() if value is None)
        parser.error(f"the following arguments are required: {named} (or --serve)")


def _completed(words: dict[str, Any], parser: Parser) -> argparse.Namespace:
    """Add to the words of a run the options of its file, and then what is left out of both."""
    plain = Parser()
    _add_run(plain)
    left_out = vars(plain.parse_args([]))
    given = {name: each for name, each in words.items() if name in left_out and each is not None}
    if "config" in given:
        from hetcal.cli.config import with_file

        given = with_file(given, list(left_out), parser)
    needed = {"table": "TABLE", "label": "--label", "out": "--out"}
    missing = [shown for name, shown in needed.items() if name not in given]
    if missing:
        parser.error(f"the following arguments are required: {', '.join(missing)}")
    if not {"score", "model"} & given.keys():
        parser.error("one of the arguments --score --model is required")
    options = argparse.Namespace(command="run", given=given, **(left_out | given))
    if options.partition is None:
        options.partition = _implied_partition(options)
    return options


def _implied_partition(options: argparse.Namespace) -> str:
    """Name the partition that the other options are for; otherwise the recommended one."""
    if options.columns is not None:
        return "columns"
    if options.layer is not None:
        return "layer"
    return "auto" if all(getattr(options, each) is None for each in OF_A_TREE) else "tree"


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.usage = RUN_USAGE
    _add_input(parser)
    _add_reading(parser)
    _add_model(parser)
    _add_split(parser)
    _add_scheme(parser)
    add = parser.add_argument_group("output", "Example: --out results --id customer").add_argument
    add("--out", type=Path, metavar="DIR", help="folder of the results; required")
    add(
        "--keep",
        metavar="NAME",
        help="also keep the run under this name, with copies of its table and model, where the "
        "app and `hetcal runs` find it; default: do not",
    )
    add(
        "--sign",
        type=Path,
        metavar="KEYFILE",
        help="sign the artifact with the bytes of this file, for `score --key`; default: do not",
    )
    _add_carried(add)
    add = parser.add_argument_group(
        "repeat a run", "Example: --config results/run.toml"
    ).add_argument
    add(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file of options by their long names, such as the run.toml that a run writes "
        "into its folder; paths are relative to it, and the command line wins over it; default: "
        "none",
    )
    parser.epilog = (
        "Example: hetcal run table.csv --label churned --score p --split split --out results. "
        "A column name with a comma goes in quotes: --features 'age,\"a,b\"'."
    )


def _add_carried(add: Callable[..., object]) -> None:
    add(
        "--id",
        metavar="COL",
        help="column that names the rows: it goes into the scored table, and is never a feature; "
        "default: none",
    )
    add(
        "--carry",
        type=names,
        metavar="C1,C2,…",
        help="columns of the table that go into the scored table; default: only --id",
    )
    add(
        "--all-columns",
        action="store_true",
        help="put all columns of the table into the scored table; default: only --id and --carry",
    )


def _add_input(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "input", "Example: table.csv --label churned --positive yes --ignore name,phone"
    ).add_argument
    add(
        "table",
        nargs="?",
        default=None,
        type=Path,
        metavar="TABLE",
        help="CSV, TSV or Parquet file, or a folder of them; required",
    )
    add("--label", metavar="COL", help="column of the label; required")
    add(
        "--positive",
        metavar="VALUE",
        help="value of the label that counts as positive, against all others; default: guessed "
        "if the label has two values; with more, all classes are calibrated together",
    )
    add(
        "--classes",
        type=names,
        metavar="v1,v2,…",
        help="order of the model's outputs, for more than two classes; default: ascending",
    )
    add(
        "--features",
        type=names,
        metavar="c1,c2,…",
        help="columns that the partition may read; default: all that have no other role",
    )
    add("--ignore", type=names, metavar="c1,…", help="columns to leave out; default: none")
    _add_embeddings(add)
    _add_raw(add)
    add("--weight", metavar="COL", help="column of row weights; default: all rows have weight 1")
    add(
        "--drop-unlabelled",
        action="store_true",
        help="leave out rows without a label; default: refuse them",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "how text is read", "Example: --delimiter ';' --decimal ,"
    ).add_argument
    add(
        "--delimiter",
        metavar="CHARACTER",
        help="what separates two columns, or the word tab; default: detected",
    )
    add("--encoding", metavar="NAME", help="such as utf-8 or cp1252; default: detected")
    add("--decimal", choices=(".", ","), help="decimal mark; default: detected")
    add(
        "--no-header",
        action="store_true",
        help="the first row has no column names; default: it has them",
    )
    add(
        "--skip-bad-rows",
        action="store_true",
        help="leave out rows with too many or too few fields; default: refuse them",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "model",
        "Example: --model net.keras --inputs @columns.txt. One of --score and --model is required.",
    )
    scores = group.add_mutually_exclusive_group()
    scores.add_argument(
        "--score", metavar="COL", help="column of the scores; one for each of more than two classes"
    )
    scores.add_argument(
        "--model", type=Path, metavar="FILE", help="Keras model (.keras, .h5) to compute them with"
    )
    add = group.add_argument
    add(
        "--score-kind",
        choices=("logit", "probability"),
        help="what the column holds; default: by its range",
    )
    add(
        "--inputs",
        type=_input_names,
        action=_Collected,
        metavar="c1,c2,…",
        help="columns of the model's matrix input, in its order; @FILE for a file of names, one "
        "a line or as a JSON list; all for all features in the table's order; NAME=c1,c2,… or "
        "NAME=@FILE, repeated, for the inputs of a model that has several; default: columns with "
        "the names of its inputs",
    )
    add(
        "--scale",
        metavar="NAME",
        help="what was done to the model's columns of numbers in training: standardise or min-max, "
        "by the training rows, or a FILE (.json, .csv) with a step for each column: its mean and "
        "scale, min and max, codes or one-hot with the values in order, log, log1p; default: "
        "nothing",
    )
    _add_array(add, "images, sequences and ids of words that an input of the model takes")
    _add_images(add)
    add(
        "--array-scale",
        type=_divisor,
        metavar="N",
        help="what the numbers of these arrays were divided by in training, such as 255; ids are "
        "left as they are; default: nothing",
    )
    add("--output", metavar="NAME", help="the model's output to use; default: its only one")
    add(
        "--positive-unit",
        type=_unit,
        metavar="N",
        help="which output unit, from 0, is that of the positive value; default: 1 of a softmax "
        "over two, and of more its place among the values of the label in ascending order",
    )


def _add_array(add: Callable[..., object], what: str) -> None:
    add(
        "--array",
        type=names,
        action=_Collected,
        metavar="NAME=FILE",
        help=f"{what}: a .npy, .npz or Parquet file with a row for each row of the table, in its "
        "order; repeated for several inputs, and without NAME= if one input takes an array; of "
        "several arrays or columns of lists in FILE, the one called NAME; default: none",
    )


def _add_images(add: Callable[..., object]) -> None:
    add(
        "--images",
        type=Path,
        metavar="DIR",
        help="folder or zip of PNG and JPEG files of the size that the model takes; default: none",
    )
    add(
        "--image-column",
        type=names,
        action=_Collected,
        metavar="NAME=COL",
        help="column with the path of each row's image from that folder, for the input NAME, which "
        "may be left out like that of --array; default: none",
    )


def _add_embeddings(add: Callable[..., object]) -> None:
    add(
        "--embeddings",
        type=Path,
        metavar="FILE",
        help="own embeddings of the rows, a .npy, .npz or Parquet file as for --array: columns "
        "embedding_0, embedding_1, … that a partition may read; default: none",
    )


def _add_raw(add: Callable[..., object]) -> None:
    add(
        "--raw",
        type=Path,
        metavar="FILE",
        help="second table with the raw columns, which the partition reads in place of those that "
        "were prepared for the model; where both have a name, the raw one ends in ' (raw)'; "
        "default: none",
    )
    add(
        "--raw-id",
        metavar="COL",
        help="column that names the rows in both tables; default: one of the same name with "
        "another value in every row, or the order of the rows",
    )
    add(
        "--undo-scale",
        type=Path,
        metavar="FILE",
        help="how columns of the table were scaled before it was saved, a file as for --scale: "
        "the partition reads them as they were before; default: nothing",
    )


def _add_split(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("split", "Example: --fractions 0.6,0.1,0.15,0.15 --seed 7")
    rows = group.add_mutually_exclusive_group()
    rows.add_argument(
        "--split",
        metavar="COL",
        help="column with the role of each row: train, validation, calibration or test; default: "
        "rows are split at random",
    )
    shares = ",".join(f"{each:g}" for each in PAPER_FRACTIONS)
    group.add_argument(
        "--split-by-time",
        metavar="COL",
        help="column of dates or numbers: earlier rows train, later rows test, by --fractions; "
        "default: none",
    )
    rows.add_argument(
        "--fractions",
        type=_fractions,
        metavar="a,b,c,d",
        help=f"shares of the four roles; default: {shares}, as in the paper",
    )
    group.add_argument(
        "--group",
        metavar="COL",
        help="column of groups: rows of one group get the same role and count as one; default: a "
        f"column that repeats like an id, if there is one; {NO_GROUP} for no groups",
    )
    group.add_argument(
        "--no-validation",
        action="store_const",
        const=True,
        help="do not use validation rows to fit or compare schemes: they chose the network's "
        "epoch; default: use them",
    )
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help=f"decides all that is random; default: {Settings.seed}",
    )


def _add_scheme(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "scheme", "Example: --partition auto --only calibration"
    ).add_argument
    add(
        "--partition",
        metavar="NAME",
        help=f"{', '.join(PARTITIONS)}, or a FILE.json; default: auto, which chooses the simplest "
        "good one among maps of the score and readable corrections of it; best the best, also a "
        "second model beside it. columns with --columns, layer with --layer, tree with an option "
        "of trees and maps. tree is the paper's Algorithm 1, whose maps are fitted on calibration "
        "rows only",
    )
    add(
        "--only",
        choices=("calibration",),
        help="let auto and best choose among maps of the score only; default: they also choose "
        "corrections",
    )
    add(
        "--take",
        metavar="NAME",
        help="use this scheme in place of the one that auto or best chooses, fitted on validation "
        f"and calibration rows: {RUNG_OPTIONS}; default: the chosen one",
    )
    add = parser.add_argument_group(
        "curves (additive) and pairs", "Example: --pairs 5 --increasing income"
    ).add_argument
    add("--pairs", type=int, metavar="N", help=f"most pairs of columns; default: {Settings.pairs}")
    for side, way in (("increasing", "rise"), ("decreasing", "fall")):
        add(
            f"--{side}",
            type=names,
            metavar="c1,c2,…",
            help=f"columns of numbers with which the probability may only {way}; default: none",
        )
    add = parser.add_argument_group(
        "trees and maps of the other partitions", "Example: --max-depth 4 --calibrator beta"
    ).add_argument
    depth = Settings.max_depth
    add("--max-depth", type=int, metavar="N", help=f"depth of the tree; default: {depth}")
    add(
        "--min-leaf",
        type=int,
        metavar="N",
        help="fewest training rows of a leaf; default: by the number of rows",
    )
    add(
        "--tree-size",
        choices=TREE_SIZES[1:],
        help="cv: choose depth and leaf size by cross-validation; pruned: grow a deep tree and "
        "prune it by cross-validation; default: use --max-depth and --min-leaf",
    )
    add(
        "--columns",
        type=names,
        metavar="c1,c2,…",
        help="columns whose values are the segments of the partition columns; default: none",
    )
    add(
        "--bins",
        type=int,
        metavar="N",
        help=f"bins of each number among them; default: {Settings.bins}",
    )
    add("--layer", metavar="NAME", help="the model's layer for the partition layer; default: none")
    kinds = tuple(dict.fromkeys((*CALIBRATORS, *CLASS_CALIBRATORS)))
    add(
        "--calibrator",
        choices=kinds,
        metavar="NAME",
        help=f"kind of map in every leaf: {', '.join(CALIBRATORS)}; default: "
        f"{Settings.calibrator}. For more than two classes: {', '.join(CLASS_CALIBRATORS)}; "
        "default: vector",
    )
    add(
        "--shrinkage",
        type=_shrinkage,
        metavar="NUMBER",
        help="how strongly maps are shrunk towards the one of all rows: from 0 to inf, or cv to "
        f"choose by cross-validation; default: {Settings.shrinkage:g}",
    )
    add(
        "--min-rows",
        type=int,
        metavar="N",
        help="fewest calibration rows of the rarer class for a leaf to have a slope of its own; "
        "with fewer it has the slope of all rows and an intercept of its own; default: "
        f"{Settings.min_rows}",
    )


def _add_score(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("input").add_argument
    add("artifact", type=Path, metavar="ARTIFACT", help="artifact.zip that `run` wrote")
    add(
        "table",
        type=Path,
        nargs="?",
        metavar="TABLE",
        help="CSV, TSV or Parquet file, or a folder of them; required without --serve",
    )
    add(
        "--serve",
        action="store_true",
        help="load the model once, then read rows from standard input and answer on standard "
        "output until there are no more: a line of JSON is a row by the names of its columns "
        '({"age": 30, …}; null is missing), or a list of rows, and so is its answer; what is wrong '
        "with a line is its `error`; default: score a TABLE",
    )
    _add_array(add, "arrays of the new rows, where the run had some")
    _add_images(add)
    _add_embeddings(add)
    _add_raw(add)
    _add_key(add)
    _add_reading(parser)
    add = parser.add_argument_group(
        "output", "Example: --out scored.csv --id customer"
    ).add_argument
    add("--out", type=Path, metavar="FILE", help=".csv or .parquet; required without --serve")
    _add_carried(add)
    parser.usage = "%(prog)s ARTIFACT (TABLE --out FILE | --serve) [option …]"
    parser.epilog = "Example: hetcal score results/artifact.zip new.csv --out scored.parquet"


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("input").add_argument
    add("artifact", type=Path, metavar="ARTIFACT", help="artifact.zip that `run` wrote")
    add(
        "table",
        type=Path,
        metavar="TABLE",
        help="newer rows: CSV, TSV or Parquet file, or a folder of them; with the column of labels "
        "of the run, or without it",
    )
    _add_array(add, "arrays of the newer rows, where the run had some")
    _add_images(add)
    _add_embeddings(add)
    _add_raw(add)
    _add_key(add)
    _add_reading(parser)
    add = parser.add_argument_group("gate", "Example: --min-lift 0.002").add_argument
    add(
        "--min-lift",
        type=_finite,
        metavar="X",
        help="fail if the lift in AUC on these rows is lower; default: if it is significantly "
        "below 0",
    )
    add(
        "--max-calibration-error",
        type=_finite,
        metavar="X",
        help="fail if the calibration error of these rows (without the bias of sampling noise) is "
        "higher; default: do not ask",
    )
    add = parser.add_argument_group("output", "Example: --refit refitted.zip").add_argument
    add("--json", action="store_true", help="write what was found as JSON; default: as text")
    add(
        "--refit",
        type=Path,
        metavar="FILE.zip",
        help="where the check fails, write a new artifact whose maps are fitted again on half of "
        "the labelled rows and judged on the others; with --key it is signed; default: do not",
    )
    parser.epilog = (
        "Example: hetcal check results/artifact.zip newer.csv --min-lift 0.002. The exit code is "
        "0 if all is well, 1 if the check fails, 2 for bad input. Newer rows are compared with the "
        "test rows of the run; all tests together raise a false alarm in at most 5 % of checks."
    )


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("input").add_argument
    add("artifact", type=Path, metavar="ARTIFACT", help="artifact.zip that `run` wrote")
    _add_key(add)
    add = parser.add_argument_group("output", "Example: --to python --out exports").add_argument
    add(
        "--to",
        type=names,
        required=True,
        metavar="F1,F2,…",
        help=f"formats: {', '.join(EXPORTS)}; required",
    )
    add(
        "--dialect",
        type=names,
        metavar="D1,D2,…",
        help=f"dialects of SQL: {', '.join(DIALECTS)}; default: {DIALECTS[0]}",
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="PATH",
        help="folder of the files, or the file where there is one and the path has its ending; "
        "required",
    )
    group = parser.add_argument_group("the format 'table'", "Example: --rows new.csv --id customer")
    group.add_argument(
        "--rows",
        dest="table",
        type=Path,
        metavar="TABLE",
        help="CSV, TSV or Parquet file, or a folder of them: the rows that are scored; required "
        "for this format",
    )
    _add_carried(group.add_argument)
    _add_embeddings(group.add_argument)
    _add_raw(group.add_argument)
    _add_reading(parser)
    parser.epilog = (
        "Example: hetcal export results/artifact.zip --to python --out calibrated.py. Every file "
        "is compared with the artifact in a fresh process before it is written."
    )


def _add_key(add: Callable[..., Any]) -> None:
    add(
        "--key",
        type=Path,
        metavar="KEYFILE",
        help="refuse an artifact that `run --sign` has not signed with this file; default: take "
        "any",
    )


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="two or more folders that `run` wrote, or names of kept runs; the others are "
        "compared with the first",
    )
    add("--json", type=Path, metavar="FILE", help="also write it all as JSON; default: do not")
    parser.epilog = "Example: hetcal compare results/first results/second"


def _add_runs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "action",
        nargs="?",
        choices=("list", "show", "delete"),
        default="list",
        help="default: list",
    )
    add("name", nargs="?", metavar="RUN", help="name or id of a run to show or to delete")
    add(
        "--old",
        action="store_true",
        help="delete the runs that `hetcal runs` marks as old; default: do not",
    )
    add("--yes", action="store_true", help="delete without asking; default: ask")
    parser.epilog = (
        "Example: hetcal runs show first. Runs are kept in the folder that HETCAL_HOME names, by "
        "default the usual one for a user's data."
    )


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder; required")
    parser.epilog = "Example: hetcal demo --out demo"


def _add_speed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rows", type=_sizes, metavar="n,…", default="1e5,1e6,1e7", help="default: %(default)s")
    add(
        "--compiled",
        action="store_true",
        help="with compiled loops, which need numba; default: numpy alone",
    )
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON; default: do not")
    parser.epilog = "Example: hetcal speed --rows 1e5,1e6 --compiled"


def _add_benchmark(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of the data sets; default: from OpenML")
    add("--datasets", type=names, metavar="a,b,…", default=(), help="default: all five")
    add("--models", type=_count, metavar="N", help="networks of each data set; default: 2")
    add("--seed", type=_seed, default=0, help="of the first training; default: %(default)s")
    add(
        "--scores",
        type=Path,
        metavar="DIR",
        help="saved scores to use; default: train networks and score with them",
    )
    add(
        "--save",
        type=Path,
        metavar="FILE",
        help="JSON lines of finished models, which are not done again; default: none",
    )
    parser.epilog = (
        "Example: hetcal benchmark --data DIR --datasets higgs --models 1. "
        "The folder holds bank_marketing, census_income, credit_default, diabetes_130 and higgs "
        "as .csv, .csv.gz or .parquet files with the columns that the UCI repository gives them. "
        "Saved scores are .npz files whose names begin with that of the data set and a hyphen; "
        "they hold s (logit), y (label) and split (role) of every row."
    )


def names(text: str) -> tuple[str, ...]:
    """Split a list of names at its commas; names in double quotes may contain some."""
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(part.strip() for part in parts if part.strip())


def _input_names(text: str) -> tuple[str, ...]:
    """Read names, or those of a file: one a line, or a JSON list; an input may stand before."""
    name, named, rest = text.partition("=@")
    if named and "," not in name:
        first, *others = _input_names(f"@{rest}")
        return f"{name}={first}", *others
    if not text.startswith("@"):
        return names(text)
    try:
        content = Path(text[1:]).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the file {text[1:]!r} cannot be read as a list of columns: {error}"
        raise argparse.ArgumentTypeError(message) from None
    listed = _json_list(content) if content.lstrip().startswith("[") else None
    found = content.splitlines() if listed is None else listed
    kept = tuple(each.strip() for each in found if each.strip())
    if not kept:
        raise argparse.ArgumentTypeError(f"the file {text[1:]!r} names no columns")
    return kept


def _json_list(content: str) -> list[str] | None:
    """Return a JSON list of texts; None if it is something else, such as a name in brackets."""
    try:
        listed = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return listed if all(isinstance(each, str) for each in listed) else None


def _unit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise argparse.ArgumentTypeError(f"a unit is a whole number from 0, not {text!r}")
    return int(text)


def _divisor(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"a number above 0 is needed, not {text!r}")
    return found


def _shrinkage(text: str) -> float | str:
    if text == "cv":
        return text
    try:
        strength = float(text)
    except ValueError:
        strength = -1.0
    if not strength >= 0:
        message = f"shrinkage is cv, a number from 0 upwards, or inf, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return strength


def _fractions(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        message = f"fractions are four numbers such as 0.6,0.1,0.15,0.15, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def _finite(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not abs(found) < float("inf"):
        raise argparse.ArgumentTypeError(f"a number is needed, not {text!r}")
    return found


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**31):
        message = f"a seed is a whole number from 0 to {2**31 - 1:,}, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    """Read numbers of rows such as 1e5,1e6 and put them in order."""
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or not all(FEWEST_ROWS <= size <= MOST_ROWS for size in sizes):
        message = (
            f"rows are numbers from {FEWEST_ROWS:,} to {MOST_ROWS:,} such as 1e5,1e6, not {text!r}"
        )
        raise argparse.ArgumentTypeError(message)
    return tuple(sorted({int(size) for size in sizes}))


COMMANDS: tuple[tuple[str, Callable[[Parser], None], str], ...] = (
    ("run", _add_run, "Calibrate a table leaf by leaf, and write results and artifact."),
    ("score", _add_score, "Score the rows of a new table with a saved artifact."),
    ("check", _add_check, "Check an artifact on newer rows: does it still hold, have they moved?"),
    ("export", _add_export, "Write a calibrated model for other systems, and check it."),
    ("compare", _add_compare, "Lay finished runs side by side, with paired tests."),
    ("runs", _add_runs, "List, show or delete the runs that are kept."),
    ("demo", _add_demo, "Write the files of the demo, ready to be uploaded or run."),
    ("speed", _add_speed, "Measure how fast hetcal is, next to scikit-learn."),
    ("benchmark", _add_benchmark, "Compare all schemes with others on public data sets."),
)
