"""How the rows of a table get their scores: from a column, or from a model."""

from dataclasses import dataclass

import pandas as pd

from hetcal.errors import ScoreError
from hetcal.model_file import ModelFile
from hetcal.model_scores import InputColumns, start_scoring
from hetcal.progress import Progress, silent
from hetcal.roles import check_names
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


def score_rows(
    frame: pd.DataFrame, scoring: Scoring, digest: str, progress: Progress = silent
) -> Scores:
    """Give every row of a frame its score, and what a layer gives where one is named.

    A model runs in a child process, once for both; what `progress` raises ends it.
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
        job.watch(progress)
        return job.result().seen(job.activations())
    check_names(frame)
    if scoring.column not in frame.columns:
        raise ScoreError(
            f"The table has no score column '{scoring.column}'.",
            f"Its columns are {', '.join(map(repr, frame.columns[:12]))}.",
            "Choose one of them, or choose a table that has the score.",
        )
    return scores_from_column(frame[scoring.column], scoring.kind, digest)
