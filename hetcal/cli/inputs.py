"""What the options of a command name: a table, roles of columns, settings, scores, a partition."""

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from hetcal.choices import CALIBRATORS, CLASS_CALIBRATORS
from hetcal.cli.options import names
from hetcal.data.columns import Kinds
from hetcal.data.reading import Source, from_path, table_files
from hetcal.data.table import Roles
from hetcal.data.text import Dialect, detect_dialect, is_parquet, is_readable
from hetcal.errors import HetcalError, ModelError, PartitionError, ScoreError
from hetcal.models.file import ModelFile, inspect_model
from hetcal.models.inputs import InputColumns, matrix_input, suggest_inputs
from hetcal.models.scoring import ColumnScoring, ModelScoring, Scoring, guess_kind_of
from hetcal.progress import Progress, silent
from hetcal.runs.settings import ENSEMBLES, FOR_CLASSES, PARTITIONS, Settings

if TYPE_CHECKING:
    from hetcal.partitions.partition import Partition

GROWN = ("tree", "auc-gain", "instability", "layer")  # partitions of one tree


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


def given(**values: Any) -> dict[str, Any]:
    """Keep the options that were given; the others have their defaults elsewhere."""
    return {name: value for name, value in values.items() if value is not None}


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


def score_columns(options: argparse.Namespace, many_classes: bool) -> tuple[str, ...]:
    """Return the score columns that are named: one, or one per class."""
    if options.score is None:
        return ()
    return names(options.score) if many_classes else (options.score,)


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
    kinds = CLASS_CALIBRATORS if many_classes else CALIBRATORS
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
