"""Scores: beyond this module a score is a logit, or one log-probability per class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logit

from hetcal.arrays import Bools, Floats, Singles
from hetcal.data.columns import counted
from hetcal.digests import frame_digest
from hetcal.errors import ScoreError
from hetcal.metrics.classes import one_against_rest

ScoreKind = Literal["logit", "probability"]

# Probabilities are clipped to stay this far away from 0 and 1, where the logit is infinite.
CLIP = 1e-7
# Probabilities written with few digits add up to one only approximately.
MOST_AWAY_FROM_ONE = 0.02


def unit_name(layer: str, unit: int) -> str:
    """Name the column of a unit.

    >>> unit_name("hidden", 3)
    'hidden[3]'
    """
    return f"{layer}[{unit}]"


@dataclass(frozen=True, eq=False)
class Activations:
    """The output of a layer: `values` has one row per row of the table, one column per unit."""

    layer: str
    values: Singles

    @property
    def frame(self) -> pd.DataFrame:
        """The units as columns that a partition can split."""
        names = [unit_name(self.layer, unit) for unit in range(self.values.shape[1])]
        return pd.DataFrame(self.values, columns=names, copy=False)


@dataclass(frozen=True)
class Scores:
    """The scores of every row of the table, and how they were obtained.

    Parameters
    ----------
    logit : array of float
        For two classes the score before the sigmoid, one per row; for more the logarithms of
        the model's probabilities, rows x classes. NaN where the row has no finite score.
    how : str
        One sentence for the page: where the logits come from.
    clipped : int
        Number of probabilities that were clipped near 0 or 1.
    excluded : int
        Rows without a finite score; no later step uses them.
    largest_difference : float or None
        Largest difference between the model's own output and the sigmoid of the
        logit; None when the model's output is the logit itself.
    digest : str
        Changes when the content that the scores were made of changes.
    activations : Activations or None
        The output of a layer of the model for every row, where one was named.
    doubts : tuple of str
        Why the model may not have been given what it was trained on, in sentences.
    """

    logit: Floats
    how: str
    clipped: int
    excluded: int
    largest_difference: float | None
    digest: str
    activations: Activations | None = None
    doubts: tuple[str, ...] = ()

    @property
    def usable(self) -> Bools:
        """True for the rows whose scores are finite."""
        finite = np.isfinite(self.logit)
        return finite if finite.ndim == 1 else np.asarray(finite.all(axis=1))

    def view(self, number: int) -> "Scores":
        """Return the logit of one of several classes against all others."""
        how = f"{self.how} Shown: class number {number + 1} against all others."
        logits = one_against_rest(self.logit, number)
        return make_scores(logits, how, digest=f"{self.digest} {number}")


def to_logits(probability: ArrayLike) -> Floats:
    """Invert the sigmoid, with probabilities clipped to `CLIP` and 1 - `CLIP`.

    >>> to_logits([0.5, 0.75]).round(4).tolist()
    [0.0, 1.0986]
    """
    clipped = np.clip(np.asarray(probability, dtype=np.float64), CLIP, 1 - CLIP)
    return np.asarray(logit(clipped), dtype=np.float64)


def guess_kind(column: pd.Series) -> ScoreKind:
    """Guess that values which all lie between 0 and 1 are probabilities."""
    if not pd.api.types.is_numeric_dtype(column):
        return "logit"
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = values[np.isfinite(values)]
    inside = finite.size > 0 and bool(((finite >= 0) & (finite <= 1)).all())
    return "probability" if inside else "logit"


def scores_from_column(column: pd.Series, kind: ScoreKind, digest: str | None = None) -> Scores:
    """Read the scores from a column of logits or probabilities.

    Parameters
    ----------
    column : Series
        One score per row of the table.
    kind : {"logit", "probability"}
        What the scores are.
    digest : str, optional
        Identifies them in caches; by default computed from their values.
    """
    digest = f"{frame_digest(column.to_frame())} {kind}" if digest is None else digest
    name = str(column.name)
    values = _numbers(column, name)
    if kind == "logit":
        return make_scores(values, f"Logits of column '{name}'.", digest=digest)
    _refuse_improbable(values, name)
    clipped = int(((values < CLIP) | (values > 1 - CLIP)).sum())
    how = f"Probabilities of column '{name}', turned into logits: log(p / (1 − p))."
    return make_scores(to_logits(values), how, clipped=clipped, digest=digest)


def scores_from_columns(
    frame: pd.DataFrame, columns: Sequence[str], kind: ScoreKind, digest: str | None = None
) -> Scores:
    """Read the scores of more than two classes from a column for each, in their order.

    Parameters
    ----------
    frame : DataFrame
        The rows of the table.
    columns : sequence of str
        One column per class.
    kind, digest
        As in `scores_from_column`.
    """
    digest = f"{frame_digest(frame[list(columns)])} {kind}" if digest is None else digest
    listed = ", ".join(f"'{name}'" for name in columns)
    values = np.column_stack([_numbers(frame[name], name) for name in columns])
    if kind == "logit":
        return make_scores(values, f"Logits of {listed}.", digest=digest)
    for place, name in enumerate(columns):
        _refuse_improbable(values[:, place], name)
    _require_sums_of_one(values, listed)
    clipped = int((values < CLIP).sum())
    how = f"Probabilities of {listed}, as logarithms."
    return make_scores(np.log(np.maximum(values, CLIP)), how, digest=digest, clipped=clipped)


def make_scores(
    logits: Floats,
    how: str,
    *,
    digest: str,
    clipped: int = 0,
    largest_difference: float | None = None,
    doubts: tuple[str, ...] = (),
) -> Scores:
    """Exclude scores that are not finite; several classes get log-probabilities."""
    usable = np.isfinite(logits)
    kept = np.where(usable, logits, np.nan)
    if logits.ndim > 1:
        usable = np.asarray(usable.all(axis=1))
        kept = np.full(logits.shape, np.nan)
        kept[usable] = log_softmax(np.asarray(logits[usable], dtype=np.float64), axis=1)
    excluded = int(usable.size - usable.sum())
    return Scores(kept, how, clipped, excluded, largest_difference, digest, doubts=doubts)


def require_ranking(scores: Scores) -> None:
    """Refuse scores that rank no row above another."""
    if scores.logit.ndim > 1:  # each of several classes has its own ranking
        return
    finite = scores.logit[scores.usable]
    if finite.size == 0:
        raise ScoreError(
            f"None of the {scores.logit.size:,} rows has a finite score.",
            "Calibration needs a number for each row.",
            "Check the score column, or missing values in the model's input columns.",
        )
    if finite.min() == finite.max():
        raise ScoreError(
            f"All scores are equal (logit {finite[0]:.6g}).",
            "A score that differs between rows is needed: a constant one ranks nothing.",
            "Check that the right score column or model output was chosen, and that the "
            "model's inputs are the columns it was trained on.",
        )


def _numbers(column: pd.Series, name: str) -> Floats:
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        texts = column[column.notna() & pd.to_numeric(column.astype("str"), errors="coerce").isna()]
        example = next(iter([*texts[:1], *column.dropna()[:1]]), "nothing")
        raise ScoreError(
            f"The score column '{name}' holds {example!r}, not numbers.",
            "A score is a logit or a probability.",
            "Choose a column of numbers.",
        )
    values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.where(np.isfinite(values), values, np.nan)


def _refuse_improbable(values: Floats, name: str) -> None:
    finite = values[np.isfinite(values)]
    outside = finite[(finite < 0) | (finite > 1)]
    if outside.size:
        percent = bool((finite >= 0).all() and (finite <= 100).all())
        raise ScoreError(
            f"The score column '{name}' has {counted(outside.size, 'value')} outside 0 to 1, "
            f"such as {outside[0]:.6g}.",
            "A probability lies between 0 and 1.",
            "Divide it by 100 if it holds percentages, or choose another column."
            if percent
            else "Say that the column holds logits (--score-kind logit on the command line), or "
            "choose another column.",
        )


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
