"""How the rows of a table get their scores: from columns, or from a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from hetcal.columns import counted
from hetcal.errors import ScoreError
from hetcal.labels import alike_values
from hetcal.model_file import ModelFile
from hetcal.model_scores import InputColumns, start_scoring
from hetcal.progress import Progress, silent
from hetcal.roles import check_names
from hetcal.scores import ScoreKind, Scores, guess_kind, scores_from_column, scores_from_columns


@dataclass(frozen=True)
class ColumnScoring:
    """The scores stand in columns of the table: in one, or in one per class and in their order."""

    columns: tuple[str, ...]
    kind: ScoreKind


@dataclass(frozen=True)
class ModelScoring:
    """A Keras model computes the scores from confirmed columns.

    Where `layer` names an internal layer, the partition reads its units in place of columns.
    """

    model: ModelFile
    inputs: InputColumns
    output: str | None = None
    positive_unit: int = 1
    layer: str | None = None


Scoring = ColumnScoring | ModelScoring


def score_rows(
    frame: pd.DataFrame,
    scoring: Scoring,
    classes: Sequence[str],
    digest: str,
    progress: Progress = silent,
) -> Scores:
    """Give every row of a frame its scores, and what a layer gives where one is named.

    A model runs in a child process, once for both; what `progress` raises ends it.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    scoring : ColumnScoring or ModelScoring
        Where their scores come from.
    classes : sequence of str
        As in `Table`: empty for two.
    digest : str
        Stands for the rows, where what is worked out is kept.
    progress : callable, optional
        Is told how far a model has come.
    """
    if isinstance(scoring, ModelScoring):
        job = start_scoring(
            scoring.model,
            frame,
            scoring.inputs,
            classes=len(classes),
            output=scoring.output,
            positive_unit=scoring.positive_unit,
            layer=scoring.layer,
        )
        job.watch(progress)
        return job.result().seen(job.activations())
    if classes:
        require_column_per_class(scoring.columns, classes)
    check_names(frame)
    for column in scoring.columns:
        if column not in frame.columns:
            raise ScoreError(
                f"The table has no score column '{column}'.",
                f"Its columns are {', '.join(map(repr, frame.columns[:12]))}.",
                "Choose from these, or choose a table that has the scores.",
            )
    if classes:
        return scores_from_columns(frame, scoring.columns, scoring.kind, digest)
    (column,) = scoring.columns
    return scores_from_column(frame[column], scoring.kind, digest)


def require_column_per_class(columns: Sequence[str], classes: Sequence[str]) -> None:
    """Refuse columns that cannot be those of the classes."""
    if len(columns) != len(classes) or len(set(columns)) < len(columns):
        listed = ", ".join(f"'{name}'" for name in columns)
        twice = len(set(columns)) < len(columns)
        alike = [" and ".join(f"'{value}'" for value in group) for group in alike_values(classes)]
        raise ScoreError(
            f"The label has {counted(len(classes), 'value')} ({', '.join(classes[:8])}"
            f"{', …' if len(classes) > 8 else ''}), and {counted(len(columns), 'score column')} "
            f"{'is' if len(columns) == 1 else 'are'} named ({listed})"
            f"{', one of them twice' if twice else ''}.",
            "Each class needs a score column of its own.",
            "Name one column per class, or a positive value to set it against all others."
            + (f" If {alike[0]} mean the same, write them alike in the file." if alike else ""),
        )


def guess_kind_of(frame: pd.DataFrame, columns: Sequence[str]) -> ScoreKind:
    """Take columns whose values all lie between 0 and 1 for probabilities."""
    kinds = {guess_kind(frame[name]) for name in columns if name in frame}
    return "probability" if kinds == {"probability"} else "logit"
