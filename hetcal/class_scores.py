"""Scores of more than two classes: beyond this module they are log-probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from hetcal.arrays import Bools, Floats
from hetcal.class_metrics import one_against_rest
from hetcal.digests import frame_digest
from hetcal.errors import ScoreError
from hetcal.scores import CLIP, ScoreKind, Scores, make_scores, scores_from_column

# Probabilities written with few digits add up to one only about.
MOST_AWAY_FROM_ONE = 0.02


@dataclass(frozen=True)
class ClassScores:
    """The logarithms of a model's probabilities, and how they were obtained.

    Parameters
    ----------
    logs : array, rows x classes
        Log-probabilities; NaN in rows without finite scores.
    how : str
        One sentence for the page.
    clipped : int
        Probabilities that had to be pulled away from 0.
    excluded : int
        Rows without finite scores; no later step uses them.
    digest : str
        Changes when the content that the scores were made of changes.
    """

    logs: Floats
    how: str
    clipped: int
    excluded: int
    digest: str

    @property
    def usable(self) -> Bools:
        """True for the rows whose scores are finite."""
        return np.asarray(np.isfinite(self.logs).all(axis=1))

    def view(self, number: int) -> Scores:
        """Return the logit of one class against all others."""
        how = f"{self.how} Shown: class number {number + 1} against all others."
        return make_scores(
            one_against_rest(self.logs, number), how, digest=f"{self.digest} {number}"
        )


def make_class_scores(logits: Floats, how: str, *, digest: str, clipped: int = 0) -> ClassScores:
    """Turn logits into log-probabilities and set rows that are not finite aside."""
    logits = np.asarray(logits, dtype=np.float64)
    usable = np.isfinite(logits).all(axis=1)
    logs = np.full(logits.shape, np.nan)
    logs[usable] = log_softmax(logits[usable], axis=1)
    return ClassScores(logs, how, clipped, int((~usable).sum()), digest)


def class_scores_from_columns(
    frame: pd.DataFrame, columns: Sequence[str], kind: ScoreKind, digest: str | None = None
) -> ClassScores:
    """Read one column per class of probabilities or of logits, in the order of the classes.

    Arguments as in `hetcal.scores.scores_from_column`.
    """
    digest = f"{frame_digest(frame[list(columns)])} {kind}" if digest is None else digest
    listed = ", ".join(f"'{name}'" for name in columns)
    values = np.column_stack(
        [scores_from_column(frame[name], "logit", digest).logit for name in columns]
    )
    if kind == "logit":
        return make_class_scores(values, f"Logits as they stand in {listed}.", digest=digest)
    for name in columns:
        scores_from_column(frame[name], "probability", digest)  # refuses what lies outside 0 to 1
    _require_sums_of_one(values, listed)
    clipped = int((values < CLIP).sum())
    how = f"Probabilities of {listed}, as logarithms."
    return make_class_scores(np.log(np.maximum(values, CLIP)), how, digest=digest, clipped=clipped)


def _require_sums_of_one(values: Floats, listed: str) -> None:
    sums = values.sum(axis=1)
    away = np.flatnonzero(np.abs(sums - 1) > MOST_AWAY_FROM_ONE)
    if away.size:
        raise ScoreError(
            f"The probabilities in {listed} add up to {sums[away[0]]:.4g} in row "
            f"{away[0] + 1:,}, and in {away.size:,} rows not to 1.",
            "The probabilities of all classes of a row add up to 1.",
            "Choose one column per class, or say that the columns hold logits (--score-kind logit "
            "on the command line).",
        )
