"""The options of the command line."""

import argparse
import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from hetcal.calibrators.class_map import METHODS as CLASS_METHODS
from hetcal.calibrators.methods import METHODS
from hetcal.data.columns import Kinds
from hetcal.data.reading import Source, from_path, table_files
from hetcal.data.table import Roles
from hetcal.data.text import Dialect, detect_dialect, is_parquet, is_readable
from hetcal.errors import HetcalError, ModelError, PartitionError, ScoreError
from hetcal.models.file import ModelFile, inspect_model
from hetcal.models.inputs import InputColumns, matrix_input, suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring, Scoring, guess_kind_of
from hetcal.partitions.partition import Partition
from hetcal.progress import Progress, silent
from hetcal.runs.settings import ENSEMBLES, FOR_CLASSES, PARTITIONS, TREE_SIZES, Settings

FEWEST_ROWS, MOST_ROWS = 2_000, 1_000_000_000  # of the speed test
GROWN = ("tree", "auc-gain", "instability", "layer")  # partitions of one tree
OF_A_TREE = ("max_depth", "min_leaf", "tree_size", "calibrator", "shrinkage", "min_rows")

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
    options = parser.parse_args(arguments)
    if getattr(options, "partition", "") is None:
        options.partition = _implied_partition(options)
    return options


def _implied_partition(options: argparse.Namespace) -> str:
    """Name the partition that the other options speak of; otherwise the recommended one."""
    if options.columns is not None:
        return "columns"
    if options.layer is not None:
        return "layer"
    return "auto" if all(getattr(options, each) is None for each in OF_A_TREE) else "tree"


def refuse_unused(
    options: argparse.Namespace, *, rows_have_roles: bool, many_classes: bool
) -> None:
    """Refuse options of `run` that another option makes useless: none is ignored in silence."""
    _require_counts(options)
    _require_names(options)
    no_model = options.model is None
    kind = options.partition
    tree, other = kind in GROWN, f"the partition is {kind}"
    sized = options.tree_size is not None
    for given, useless, why in (
        ("inputs", no_model, "the scores come from a column, not from a model"),
        ("output", no_model, "the scores come from a column, not from a model"),
        ("positive_unit", no_model, "the scores come from a column, not from a model"),
        ("score_kind", not no_model, "the scores come from a model, not from a column"),
        ("positive_unit", many_classes, "no value of the label is named as positive"),
        ("classes", not many_classes, "one value of the label stands against the rest"),
        ("max_depth", not tree, other),
        ("max_depth", sized, "cross-validation chooses the depth"),
        ("min_leaf", not tree, other),
        ("tree_size", kind not in ("tree", "layer") or many_classes, other),
        ("shrinkage", many_classes, "cross-validation chooses it for more than two classes"),
        ("min_rows", many_classes, "small leaves borrow from the others"),
        ("columns", kind != "columns", other),
        ("bins", kind != "columns", other),
        ("layer", kind != "layer", other),
        ("calibrator", kind in ENSEMBLES, f"{kind} has maps of its own"),
        ("shrinkage", kind in ENSEMBLES and not many_classes, f"{kind} has maps of its own"),
        ("min_rows", kind in ENSEMBLES and not many_classes, f"{kind} has maps of its own"),
        ("fractions", rows_have_roles, "the files say which role their rows have"),
        ("split", rows_have_roles, "the files say which role their rows have"),
    ):
        if useless and getattr(options, given) is not None:
            raise HetcalError(
                f"The option --{given.replace('_', '-')} has no effect here: {why}.",
                "Every option must mean something.",
                "Leave it out.",
            )
    if many_classes and kind in PARTITIONS and kind not in FOR_CLASSES:
        raise HetcalError(
            f"The partition '{kind}' is for two classes.",
            f"With more classes it is one of {', '.join(FOR_CLASSES)}, or a FILE.json.",
            "Choose one of these, or name a positive value to set it against all others.",
        )
    kinds = CLASS_METHODS if many_classes else METHODS
    if options.calibrator not in (None, *kinds):
        raise HetcalError(
            f"The calibrator '{options.calibrator}' is not for "
            f"{'more than' if many_classes else 'only'} two classes.",
            f"Here it is one of {', '.join(kinds)}.",
            "Choose one of these, or leave the option out.",
        )


def _require_counts(options: argparse.Namespace) -> None:
    for name, least in (("max_depth", 1), ("min_leaf", 1), ("bins", 1), ("min_rows", 0)):
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
                f"The partition '{kind}' is asked for, and --{kind} is missing.",
                f"It divides the rows by {what}.",
                f"Add {needed}, or choose another partition.",
            )


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE", help="CSV, TSV or Parquet file, or a folder")
    _add_reading(parser)
    add("--label", required=True, help="column of the label")
    add("--positive", help="value of the label that counts as positive, against all others")
    add("--classes", type=names, metavar="v1,v2,…", help="more than two: order of the outputs")
    _add_scores(parser)
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--split", metavar="COL", help="column: train, validation, calibration, test")
    rows.add_argument("--fractions", type=_fractions, metavar="a,b,c,d", help="shares of the roles")
    add("--features", type=names, metavar="c1,c2,…", help="columns of the partition")
    add("--ignore", type=names, metavar="c1,…", default=(), help="columns to leave out")
    add("--group", metavar="COL", help="rows of one group stay together and count as one")
    add("--weight", metavar="COL", help="column of row weights")
    add("--drop-unlabelled", action="store_true", help="leave rows without a label out")
    _add_partition(parser)
    kinds = tuple(dict.fromkeys((*METHODS, *CLASS_METHODS)))
    add("--calibrator", choices=kinds, help="default platt; vector for more than two classes")
    add("--shrinkage", type=_shrinkage, metavar="cv|NUMBER|inf", help="pull to the pooled map")
    add("--min-rows", type=int, help="fewest calibration rows for a map of its own, default 50")
    add("--seed", type=int, default=Settings.seed)
    add("--out", type=Path, required=True, metavar="DIR")
    parser.epilog = "A column name with a comma goes in quotes: --features 'age,\"a,b\"'."


def _add_partition(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    listed = "|".join(PARTITIONS)
    told = "default auto, or what the other options speak of"
    add("--partition", metavar="NAME", help=f"{listed}, or a FILE.json; {told}")
    add("--max-depth", type=int, help=f"greatest depth of the tree, default {Settings.max_depth}")
    add("--min-leaf", type=int, help="fewest training rows of a leaf, default by table size")
    add("--tree-size", choices=TREE_SIZES[1:], help="choose the size of the tree")
    add("--columns", type=names, metavar="c1,c2,…", help="the segments of the partition columns")
    add("--bins", type=int, help=f"bins of a number among them, default {Settings.bins}")
    add("--layer", help="layer of the model that the partition layer divides")


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
    _add_reading(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=".csv or .parquet")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--delimiter", metavar="CHARACTER", help="between two columns, or tab; else detected")
    add("--encoding", metavar="NAME", help="such as utf-8, cp1252; else detected")
    add("--decimal", choices=(".", ","), help="the decimal mark; else detected")
    add("--no-header", action="store_true", help="the first row holds no column names")
    add("--skip-bad-rows", action="store_true", help="leave out rows of too many or few fields")


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


def score_columns(options: argparse.Namespace, many_classes: bool) -> tuple[str, ...]:
    """Return the score columns that are named: one, or one per class."""
    if options.score is None:
        return ()
    return names(options.score) if many_classes else (options.score,)


def roles_of(options: argparse.Namespace, source: Source, many_classes: bool) -> Roles:
    """Return the roles that the options give the columns."""
    return Roles(
        label=options.label,
        positive=options.positive,
        features=options.features,
        ignore=options.ignore,
        group=options.group,
        weight=options.weight,
        split=options.split or source.split_column,
        score=None if many_classes else options.score,
        class_scores=score_columns(options, True) if many_classes else (),
        drop_unlabelled=options.drop_unlabelled,
    )


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings of a run."""
    return Settings(
        seed=options.seed,
        **given(
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
        ),
    )


def scoring_of(
    options: argparse.Namespace, frame: pd.DataFrame, columns: tuple[str, ...]
) -> Scoring:
    """Return where the scores come from: from columns that are named, or from a model."""
    if columns:
        return ColumnScoring(columns, options.score_kind or guess_kind_of(frame, columns))
    model = inspect_model(options.model)
    inputs = _inputs(options, model, list(frame.columns))
    more = given(positive_unit=options.positive_unit, layer=options.layer)
    return ModelScoring(model, inputs, options.output, **more)


def refuse_several(options: argparse.Namespace, frame: pd.DataFrame) -> None:
    """Refuse a score column per class where one value of the label stands against the rest."""
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
        "A comma divides the score columns of more than two classes, one for each.",
        f"Name the column of the positive value, such as --score {columns[-1]}{all_classes}.",
    )


def _inputs(options: argparse.Namespace, model: ModelFile, columns: list[str]) -> InputColumns:
    if options.inputs is not None:
        return matrix_input(model, options.inputs)
    suggested = suggest_inputs(model, columns)
    if suggested is not None:
        return suggested
    absent = [each.name for each in model.inputs if each.name not in columns]
    if len(model.inputs) > 1:
        raise ModelError(
            f"The table has no column for {', '.join(map(repr, absent))}, which the model "
            f"'{model.name}' takes.",
            "Each input of the model must have a column of its name.",
            "Add the column, or name it like the input.",
        )
    width = "some" if model.inputs[0].width is None else f"{model.inputs[0].width:,}"
    raise ModelError(
        f"The model '{model.name}' takes {width} columns as one matrix, and nothing says which.",
        "hetcal never guesses the order of the columns.",
        "Name the columns in the model's own order: --inputs c1,c2,…",
    )


def partition_of(options: argparse.Namespace) -> Partition | None:
    """Return the partition of a file; None if the settings name one to be grown."""
    if options.partition in PARTITIONS:
        return None
    path = Path(options.partition)
    if not path.exists():
        raise PartitionError(
            f"There is no partition called '{path}', and no such file.",
            f"A partition is one of {', '.join(PARTITIONS)}, or a file that hetcal saved.",
            "Choose one of these.",
        )
    return Partition.from_json(path.read_bytes())


def read_table(
    options: argparse.Namespace, kinds: Kinds | None = None, progress: Progress = silent
) -> Source:
    """Read the table that a command names."""
    return from_path(options.table, _dialect(options), kinds, progress)


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
            "Every option must mean something.",
            "Leave out --delimiter, --encoding, --decimal, --no-header and --skip-bad-rows.",
        )
    return replace(detect_dialect(text), **changes)
