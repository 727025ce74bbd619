"""Try candidates on rows that they were not fitted on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from hetcal.arrays import Floats, Ints
from hetcal.candidates import Candidate
from hetcal.class_metrics import macro_lift_of
from hetcal.delong import CONFIDENCE, Lift, error_of, lift_of, placements
from hetcal.errors import CalibrationError
from hetcal.progress import Progress, silent
from hetcal.scheme_rows import SchemeRows
from hetcal.stratified import Groups, draw_group_folds


@dataclass(frozen=True, eq=False)
class CrossFit:
    """A candidate tried on every row by maps of the other folds.

    Parameters
    ----------
    candidate : Candidate
        What was tried.
    strength : float
        The shrinkage with the lowest log-loss.
    logits : array of float
        Of every row.
    placed : array of float
        Share of the other class of its fold that each row is on the right side of.
    losses : array of float
        Log-loss of each row.
    log_loss : float
        Their mean.
    """

    candidate: Candidate
    strength: float
    logits: Floats
    placed: Floats
    losses: Floats
    log_loss: float


@dataclass(frozen=True)
class Gain:
    """A difference in AUC between two candidates, the mean over the folds.

    Parameters
    ----------
    auc, se : float
        The difference and its standard error by DeLong.
    """

    auc: float
    se: float

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.auc - float(ndtri((1 + CONFIDENCE) / 2)) * self.se

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.auc + float(ndtri((1 + CONFIDENCE) / 2)) * self.se


def draw_folds(y: Ints, folds: int, seed: int, group: Groups | None = None) -> Ints:
    """Draw a fold for each row, with an equal share of each class in all.

    Rows of one group share a fold: what is fitted on rows of a group fits its others too well.
    """
    if group is not None:
        drawn = draw_group_folds(y, group, folds, seed)
        if drawn is None:
            raise CalibrationError(
                "The groups of the calibration and validation rows cannot be divided in two so "
                "that both parts have rows of both classes.",
                "Schemes are tried on groups that they were not fitted on.",
                "Give calibration rows of more groups, name no group column, or choose the tree "
                "of Algorithm 1.",
            )
        return drawn
    rng, fold = np.random.default_rng(seed), np.empty(y.size, dtype=np.int64)
    for label in np.unique(y):
        inside = np.flatnonzero(y == label)
        fold[rng.permutation(inside)] = np.arange(inside.size) % folds
    return fold


def cross_fit(
    candidate: Candidate, held: SchemeRows, fold: Ints, progress: Progress = silent
) -> CrossFit:
    """Fit a candidate on all folds but one, and try it there, for each shrinkage in turn."""
    found: CrossFit | None = None
    folds = int(fold.max()) + 1
    fits = len(candidate.strengths) * folds
    for step, strength in enumerate(candidate.strengths):
        logits = np.empty(held.y.size)
        for number in range(folds):
            progress((step * folds + number) / fits, f"Trying: {candidate.name}")
            here = fold == number
            logits[here] = candidate.logits(held, np.flatnonzero(~here), strength)[here]
        losses = np.logaddexp(0.0, logits) - held.y * logits
        log_loss = float(np.average(losses, weights=held.weight))
        if found is None or log_loss < found.log_loss:
            placed = _placed(held, logits, fold)
            found = CrossFit(candidate, strength, logits, placed, losses, log_loss)
    if found is None:
        raise ValueError(f"the candidate {candidate.name!r} has no strengths")
    return found


def _placed(held: SchemeRows, logits: Floats, fold: Ints) -> Floats:
    """Place every row within its fold: maps of different folds are not compared."""
    placed = np.empty(logits.size)
    for number in range(fold.max() + 1):
        rows = np.flatnonzero(fold == number)
        placed[rows] = placements(held.y[rows], logits[rows], held.weights(rows))
    return placed


def gain_between(before: CrossFit, after: CrossFit, held: SchemeRows, fold: Ints) -> Gain:
    """Compare two candidates in every fold; the gain is the mean."""
    lifts = []
    for number in range(int(fold.max()) + 1):
        rows = np.flatnonzero(fold == number)
        y, weight = held.y[rows], held.weights(rows)
        if held.group is None:
            lifts.append(lift_of(y, before.placed[rows], after.placed[rows], weight))
        else:
            placed = before.placed[rows, None], after.placed[rows, None]
            lifts.append(macro_lift_of(y, (1,), *placed, weight, held.group[rows]))
    return mean_gain(lifts)


def mean_gain(lifts: Sequence[Lift]) -> Gain:
    """Return the mean of the lifts of all folds.

    Where a fold is a single group, how much the lifts of the folds differ tells the error.
    """
    count, total, variance = len(lifts), 0.0, 0.0
    for lift in lifts:
        total, variance = total + lift.auc, variance + lift.se**2
    if np.isnan(variance):
        variance = count * float(np.var([lift.auc for lift in lifts], ddof=1))
    return Gain(total / count, float(np.sqrt(variance)) / count)


def loss_gain(
    before: Floats, after: Floats, weight: Floats | None, group: Groups | None = None
) -> tuple[float, float]:
    """Return by how much the mean of the rows' log-losses fell, and its standard error."""
    w = np.ones(before.size) if weight is None else weight
    fall = before - after
    mean = float(np.average(fall, weights=w))
    if group is not None:
        return mean, error_of(w * (fall - mean) / w.sum(), group)
    return mean, float(np.sqrt((w**2) @ (fall - mean) ** 2) / w.sum())


def simplest_of_best(
    clear: Sequence[int], gains: Sequence[Gain], between: Callable[[int, int], Gain]
) -> tuple[int, int]:
    """Return the simplest candidate within one standard error of the best, and the best.

    Parameters
    ----------
    clear : sequence of int
        Positions of those that may be chosen, from the simplest.
    gains : sequence of Gain
        Of every candidate over the model as it is.
    between : callable
        Takes two positions and gives the gain of the second over the first.
    """
    best = max(clear, key=lambda i: gains[i].auc)
    for i in clear:
        short = between(i, best)
        if short.auc <= short.se:
            return i, best
    return best, best
