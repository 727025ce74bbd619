"""What the options of `run` stand for: roles, settings, scores and a partition."""

import argparse
from pathlib import Path

import pandas as pd

from hetcal.command_options import given, names
from hetcal.errors import ModelError, PartitionError, ScoreError
from hetcal.model_file import ModelFile, inspect_model
from hetcal.model_scores import InputColumns, matrix_input, suggest_inputs
from hetcal.partition import Partition
from hetcal.scoring import ColumnScoring, ModelScoring, Scoring, guess_kind_of
from hetcal.settings import PARTITIONS, Settings
from hetcal.sources import Source
from hetcal.table import Roles


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
