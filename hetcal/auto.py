"""The recommended scheme: candidates compared by cross-fitting, the simplest good one kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.auto_words import asked_for, candidate_table, lift_reason, no_lift_reason
from hetcal.candidates import (
    IDENTITY,
    POOLED,
    Candidate,
    named_candidate,
    standard_candidates,
)
from hetcal.cross_fitting import (
    CrossFit,
    Gain,
    cross_fit,
    draw_folds,
    gain_between,
    loss_gain,
    simplest_of_best,
)
from hetcal.errors import CalibrationError
from hetcal.progress import Progress, between, silent
from hetcal.scheme import Scheme
from hetcal.scheme_rows import SchemeRows, joined, sampled

FOLDS = 5
GROWN = 0.75  # share of the work that is done when all trees are grown
MAX_TRAINING = 100_000
MAX_HELD = 40_000
FEWEST = 20  # rows of the rarer class for which anything is tried
WILDEST = 1e150  # squares of scores up to here can be added up
LEFT = (
    "Leave the model as it is: on rows that it was not fitted on, no candidate is better by more "
    "than chance."
)
MENDED = (
    "One map for all rows: it makes the probabilities better and leaves the order as it is. No "
    "candidate has a better order by more than chance."
)


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and what it was chosen from.

    Parameters
    ----------
    scheme : Scheme
        Fitted on all rows that were given.
    chosen : str
        Name of the candidate.
    why : str
        In one or two sentences.
    candidates : DataFrame
        From the simplest to the least simple, with the columns `name`, `words`, `lift` (AUC
        against the model as it is, by cross-fitting), `se`, `low`, `high`, `log_loss`,
        `strength` (shrinkage), `rows` (that it was tried on) and `chosen`.
    seconds : float
        Time taken.
    """

    scheme: Scheme
    chosen: str
    why: str
    candidates: pd.DataFrame
    seconds: float

    @property
    def digest(self) -> str:
        """Equal for equal schemes."""
        return f"{self.chosen} {self.scheme.digest}"


def choose_scheme(
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None = None,
    *,
    more: Sequence[Candidate] | Callable[[SchemeRows], Sequence[Candidate]] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Choose a scheme by cross-fitting on rows that the model was not trained on.

    Trees that read columns and labels only are grown on training rows; boosted trees on the
    other rows, too, each of which gets its margin from trees that have not seen it. Whatever
    reads scores is fitted on all but one of five folds of the validation and calibration rows
    and tried on that one; rows of one group stay together in all this. A candidate has to be
    better than the model as it is by more than chance: the 95 % interval of its lift lies above
    0. Of those within one standard error of the best the simplest is chosen.

    Parameters
    ----------
    training, calibration, validation : SchemeRows
        Rows by role.
    more : sequence of Candidate, or callable
        Further candidates, simpler than boosted trees and less simple than the forest; a
        callable gets the rows on which candidates are compared.
    seed : int, default=0
        Decides folds, forests and samples of large tables.
    progress : callable, optional
        Is told how far the work has come; what it raises ends the choice.
    """
    start = time.perf_counter()
    held = sampled(joined(calibration, validation), MAX_HELD, seed)
    _check(held)
    fold = draw_folds(held.y, FOLDS, seed, held.group)
    extra = tuple(more(held) if callable(more) else more)
    training = sampled(training, MAX_TRAINING, seed)
    candidates = standard_candidates(training, held, extra, seed, between(progress, 0.0, GROWN))
    tried = _try(candidates, held, fold, between(progress, GROWN, 1.0))
    gains = [gain_between(tried[0], each, held, fold) for each in tried]
    chosen, why = _choose(tried, gains, held, fold)
    return _chosen(tried, gains, held, chosen, why, start)


def fit_scheme(
    name: str,
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Fit the scheme of this name, `forest` or `boosted`, whether or not it helps.

    Parameters are as in `choose_scheme`. The candidates of the result are the model as it is,
    one map for all rows, and the scheme.
    """
    start = time.perf_counter()
    held = sampled(joined(calibration, validation), MAX_HELD, seed)
    _check(held)
    fold = draw_folds(held.y, FOLDS, seed, held.group)
    training = sampled(training, MAX_TRAINING, seed)
    candidate = named_candidate(name, training, held, seed, between(progress, 0.0, GROWN))
    tried = _try([IDENTITY, POOLED, candidate], held, fold, between(progress, GROWN, 1.0))
    gains = [gain_between(tried[0], each, held, fold) for each in tried]
    return _chosen(tried, gains, held, 2, asked_for(tried[2], gains[2]), start)


def _try(
    candidates: Sequence[Candidate], held: SchemeRows, fold: Ints, progress: Progress
) -> list[CrossFit]:
    """Cross-fit all candidates; each takes as long as it has strengths to choose from."""
    ends = np.cumsum([len(each.strengths) for each in candidates])
    shares = [0.0, *(ends / ends[-1]).tolist()]
    spans = zip(candidates, shares[:-1], shares[1:], strict=True)
    return [cross_fit(each, held, fold, between(progress, *span)) for each, *span in spans]


def _chosen(
    tried: list[CrossFit], gains: list[Gain], held: SchemeRows, chosen: int, why: str, start: float
) -> Choice:
    found = tried[chosen]
    scheme = found.candidate.scheme(held, found.strength)
    table = candidate_table(tried, gains, chosen)
    return Choice(scheme, found.candidate.name, why, table, time.perf_counter() - start)


def _choose(
    tried: list[CrossFit], gains: list[Gain], held: SchemeRows, fold: Ints
) -> tuple[int, str]:
    """Return the position of what is chosen, and why."""
    clear = [i for i, gain in enumerate(gains) if gain.low > 0]
    if clear:
        chosen, best = simplest_of_best(
            clear, gains, lambda i, best: gain_between(tried[i], tried[best], held, fold)
        )
        return chosen, lift_reason(tried, gains, chosen, best)
    fall, se = loss_gain(tried[0].losses, tried[1].losses, held.weight, held.group)
    mended = fall > 2 * se
    return int(mended), no_lift_reason(MENDED if mended else LEFT, tried, gains)


def _check(held: SchemeRows) -> None:
    fewest = int(min(held.y.sum(), (1 - held.y).sum()))
    if held.scores is None or fewest < FEWEST:
        raise CalibrationError(
            f"The calibration rows have {fewest:,} rows of the rarer class with a score.",
            f"A scheme is chosen on at least {FEWEST} of each class.",
            "Give more calibration rows, or choose the tree of Algorithm 1.",
        )
    wildest = held.scores[np.abs(held.scores).argmax()]
    if abs(wildest) > WILDEST:
        raise CalibrationError(
            f"The calibration rows have scores as wild as {wildest:.3g}.",
            "A scheme is chosen on scores whose squares can be added up.",
            "Leave such scores empty, or choose a partition with other maps.",
        )
