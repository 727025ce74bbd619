"""How the rows of a table get the scores of more than two classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from hetcal.class_scores import ClassScores, class_scores_from_columns
from hetcal.columns import counted
from hetcal.errors import ScoreError
from hetcal.labels import alike_values
from hetcal.model_file import ModelFile
from hetcal.model_scores import InputColumns, start_class_scoring
from hetcal.progress import Progress, silent
from hetcal.roles import check_names
from hetcal.scores import ScoreKind, guess_kind


@dataclass(frozen=True)
class ClassColumnScoring:
    """The scores stand in columns of the table, one per class and in their order."""

    columns: tuple[str, ...]
    kind: ScoreKind


@dataclass(frozen=True)
class ClassModelScoring:
    """A Keras model computes one score per class from confirmed columns."""

    model: ModelFile
    inputs: InputColumns
    output: str | None = None


ClassScoring = ClassColumnScoring | ClassModelScoring


def score_classes(
    frame: pd.DataFrame,
    scoring: ClassScoring,
    classes: Sequence[str],
    digest: str,
    progress: Progress = silent,
) -> ClassScores:
    """Give every row of a frame its scores; a model runs in a child process."""
    if isinstance(scoring, ClassModelScoring):
        job = start_class_scoring(
            scoring.model, frame, scoring.inputs, len(classes), output=scoring.output
        )
        job.watch(progress)
        return job.result()
    require_column_per_class(scoring.columns, classes)
    check_names(frame)
    for column in scoring.columns:
        if column not in frame.columns:
            raise ScoreError(
                f"The table has no score column '{column}'.",
                f"Its columns are {', '.join(map(repr, frame.columns[:12]))}.",
                "Choose some of them, or choose a table that has the scores.",
            )
    return class_scores_from_columns(frame, scoring.columns, scoring.kind, digest)


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


def guess_class_kind(frame: pd.DataFrame, columns: Sequence[str]) -> ScoreKind:
    """Take columns whose values all lie between 0 and 1 for probabilities."""
    kinds = {guess_kind(frame[name]) for name in columns if name in frame}
    return "probability" if kinds == {"probability"} else "logit"
