"""How the rows of a table get their scores: from a column, or from a model."""

from dataclasses import dataclass

import pandas as pd

from hetcal.errors import ScoreError
from hetcal.model_file import ModelFile
from hetcal.model_scores import InputColumns, start_scoring
from hetcal.scores import ScoreKind, Scores, scores_from_column


@dataclass(frozen=True)
class ColumnScoring:
    """The score stands in a column of the table."""

    column: str
    kind: ScoreKind


@dataclass(frozen=True)
class ModelScoring:
    """A Keras model computes the score from confirmed columns.

    Where `layer` names an internal layer, the partition reads its units in place of columns.
    """

    model: ModelFile
    inputs: InputColumns
    output: str | None = None
    positive_unit: int = 1
    layer: str | None = None


Scoring = ColumnScoring | ModelScoring


def score_rows(frame: pd.DataFrame, scoring: Scoring, digest: str) -> Scores:
    """Give every row of a frame its score; a model runs in a child process."""
    return score_and_watch(frame, scoring, digest)[0]


def score_and_watch(
    frame: pd.DataFrame, scoring: Scoring, digest: str
) -> tuple[Scores, pd.DataFrame]:
    """Give every row its score, and return the columns that a partition may read.

    These are the columns of the frame, or the units of a layer. The model runs once for both.
    """
    if isinstance(scoring, ModelScoring):
        job = start_scoring(
            scoring.model,
            frame,
            scoring.inputs,
            output=scoring.output,
            positive_unit=scoring.positive_unit,
            layer=scoring.layer,
        )
        scores, activations = job.result(), job.activations()
        return scores, frame if activations is None else activations.frame
    if scoring.column not in frame.columns:
        raise ScoreError(
            f"The table has no score column '{scoring.column}'.",
            f"Its columns are {', '.join(map(repr, frame.columns[:12]))}.",
            "Choose one of them, or upload a table that has the score.",
        )
    return scores_from_column(frame[scoring.column], scoring.kind, digest), frame
