"""The options of the command line."""

import argparse
import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hetcal.class_map import METHODS as CLASS_METHODS
from hetcal.errors import HetcalError
from hetcal.settings import Settings

FEWEST_ROWS, MOST_ROWS = 2_000, 1_000_000_000  # of the speed test
CALIBRATORS = ("platt",)

Commands = Mapping[str, Callable[[argparse.Namespace], None]]


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(2, f"hetcal: {message}. See `python -m hetcal --help`.\n")


def parse_options(commands: Commands, arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line; `options.command` is the function to call.

    Parameters
    ----------
    commands : dict
        The functions that carry out `run`, `score`, `demo`, `speed` and `benchmark`.
    arguments : list of str or None
        The words after the program's name; None takes those of this process.
    """
    parser = Parser(prog="hetcal", description="Heterogeneous calibration of a classifier.")
    added = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, add_options in (
        ("run", _add_run),
        ("score", _add_score),
        ("demo", _add_demo),
        ("speed", _add_speed),
        ("benchmark", _add_benchmark),
    ):
        help_line = str(commands[name].__doc__).splitlines()[0]
        one = added.add_parser(name, help=help_line, description=help_line)
        one.set_defaults(command=commands[name])
        add_options(one)
    return parser.parse_args(arguments)


def refuse_unused(
    options: argparse.Namespace, *, rows_have_roles: bool, many_classes: bool
) -> None:
    """Refuse options of `run` that another option makes useless: none is ignored in silence."""
    no_model = options.model is None
    loaded = options.partition != "tree"
    for given, useless, why in (
        ("inputs", no_model, "the scores come from a column, not from a model"),
        ("output", no_model, "the scores come from a column, not from a model"),
        ("positive_unit", no_model, "the scores come from a column, not from a model"),
        ("score_kind", not no_model, "the scores come from a model, not from a column"),
        ("positive_unit", many_classes, "no value of the label is named as positive"),
        ("classes", not many_classes, "one value of the label stands against the rest"),
        ("max_depth", loaded, "the partition is loaded, no tree is grown"),
        ("min_leaf", loaded, "the partition is loaded, no tree is grown"),
        ("fractions", rows_have_roles, "the files say which role their rows have"),
        ("split", rows_have_roles, "the files say which role their rows have"),
    ):
        if useless and getattr(options, given) is not None:
            raise HetcalError(
                f"The option --{given.replace('_', '-')} has no effect here: {why}.",
                "Every option must mean something.",
                "Leave it out.",
            )
    kinds = CLASS_METHODS if many_classes else CALIBRATORS
    if options.calibrator not in (None, *kinds):
        raise HetcalError(
            f"The calibrator '{options.calibrator}' is not for "
            f"{'more than' if many_classes else 'only'} two classes.",
            f"Here it is one of {', '.join(kinds)}.",
            "Choose one of these, or leave the option out.",
        )


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE", help="CSV, TSV or Parquet file, or a folder")
    add("--label", required=True, help="column of the label")
    add("--positive", help="value of the label that counts as positive, against all others")
    add("--classes", type=names, metavar="v1,v2,…", help="more than two: order of the outputs")
    _add_scores(parser)
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--split", metavar="COL", help="column: train, validation, calibration, test")
    rows.add_argument("--fractions", type=_fractions, metavar="a,b,c,d", help="shares of the roles")
    add("--features", type=names, metavar="c1,c2,…", help="columns of the partition")
    add("--ignore", type=names, metavar="c1,…", default=(), help="columns to leave out")
    add("--group", metavar="COL", help="rows of one group stay on one side of the split")
    add("--weight", metavar="COL", help="column of row weights")
    add("--drop-unlabelled", action="store_true", help="leave rows without a label out")
    add("--partition", default="tree", metavar="tree|FILE.json")
    add("--max-depth", type=int, help=f"greatest depth of the tree, default {Settings.max_depth}")
    add("--min-leaf", type=int, help="fewest training rows of a leaf, default by table size")
    kinds = tuple(dict.fromkeys((*CALIBRATORS, *CLASS_METHODS)))
    add("--calibrator", choices=kinds, help="default platt; vector for more than two classes")
    add("--seed", type=int, default=Settings.seed)
    add("--out", type=Path, required=True, metavar="DIR")
    parser.epilog = "A column name with a comma goes in quotes: --features 'age,\"a,b\"'."


def _add_scores(parser: argparse.ArgumentParser) -> None:
    scores = parser.add_mutually_exclusive_group(required=True)
    scores.add_argument("--score", metavar="COL", help="column of scores, or one per class")
    scores.add_argument("--model", type=Path, metavar="FILE", help="Keras model (.keras, .h5)")
    add = parser.add_argument
    add("--score-kind", choices=("logit", "probability"), help="default: by the column's range")
    add("--inputs", type=names, metavar="c1,c2,…", help="columns of a matrix input, in its order")
    add("--output", help="name of the model's output, where it has several")
    add("--positive-unit", type=int, choices=(0, 1), help="of two output units, default 1")


def _add_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT")
    parser.add_argument("table", type=Path, metavar="TABLE")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=".csv or .parquet")


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def _add_speed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rows", type=_sizes, metavar="n,…", default="1e5,1e6,1e7", help="default %(default)s")
    add("--compiled", action="store_true", help="with compiled kernels, which need numba")
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON")


def _add_benchmark(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of the data sets; default: from OpenML")
    add("--datasets", type=names, metavar="a,b,…", default=(), help="default: all five")
    add("--models", type=_count, metavar="N", help="networks of each data set, default 2")
    add("--seed", type=_seed, default=0, help="of the first training, default %(default)s")
    add("--scores", type=Path, metavar="DIR", help="use saved scores, train no networks")
    add("--save", type=Path, metavar="FILE", help="JSON lines; what is there is not done again")
    parser.epilog = (
        "The folder holds bank_marketing, census_income, credit_default, diabetes_130 and higgs "
        "as .csv, .csv.gz or .parquet files with the columns that the UCI repository gives them. "
        "Saved scores are .npz files whose names begin with that of the data set and a hyphen; "
        "they hold s (logit), y (label) and split (role) of every row."
    )


def names(text: str) -> tuple[str, ...]:
    """Split a list of names at its commas; names in double quotes may contain some."""
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(part.strip() for part in parts if part.strip())


def _fractions(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        message = f"fractions are four numbers such as 0.6,0.1,0.15,0.15, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None


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


def given(**values: Any) -> dict[str, Any]:
    """Keep the options that were given; the others have their defaults elsewhere."""
    return {name: value for name, value in values.items() if value is not None}
