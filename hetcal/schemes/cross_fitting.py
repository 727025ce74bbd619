"""Evaluate candidates on rows that they were not fitted on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from hetcal.arrays import Floats, Groups, Ints
from hetcal.choices import plain_name
from hetcal.data.splits import draw_group_folds
from hetcal.errors import CalibrationError
from hetcal.metrics.classes import class_placements, macro_lift_of
from hetcal.metrics.delong import CONFIDENCE, Lift, lift_of, placements
from hetcal.metrics.metrics import mean_fall
from hetcal.progress import Progress, silent
from hetcal.schemes.candidates import Candidate, made
from hetcal.schemes.rows import SchemeRows

FEWEST = 20  # rows of a class whose AUC counts, and of all others


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows in folds: what is evaluated on one of them was fitted on the others."""

    held: SchemeRows  # rows that the model was not trained on
    number: Ints  # fold of each row; -1 for the earliest rows, which are fitted on only
    counted: tuple[int, ...] = (1,)  # classes whose AUCs count, of two the positive one

    @property
    def parts(self) -> list[Ints]:
        """The rows of each fold."""
        return [np.flatnonzero(self.number == each) for each in range(int(self.number.max()) + 1)]

    @property
    def judged(self) -> Ints:
        """The rows that are in a fold."""
        return np.flatnonzero(self.number >= 0)

    def fitted_on(self, fold: int) -> Ints:
        """Return the rows of other folds; with times only those that are earlier."""
        if self.held.time is None:
            return np.flatnonzero(self.number != fold)
        return np.flatnonzero(self.number < fold)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """A candidate evaluated on every row by maps of the other folds.

    A row of a class is placed by the share of the rows of other classes in its fold that it ranks
    above, any other row by the share of the rows of the class that it ranks below.
    """

    candidate: Candidate
    strength: float  # the shrinkage with the lowest log-loss
    logits: Floats
    placed: Floats  # rows x classes that count
    losses: Floats  # log-loss of each row that is judged
    log_loss: float  # their mean
    numbers: int = 0  # that decide
    seconds: float = 0.0  # that the fits took


@dataclass(frozen=True)
class Gain:
    """A difference in AUC (macro AUC for several classes) between two candidates, fold mean."""

    auc: float
    se: float  # by DeLong

    @property
    def p(self) -> float:
        """Two-sided p-value of no difference."""
        if self.auc == 0:
            return 1.0
        return float(2 * ndtr(-abs(self.auc) / self.se)) if self.se > 0 else 0.0

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.auc - float(ndtri((1 + CONFIDENCE) / 2)) * self.se

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.auc + float(ndtri((1 + CONFIDENCE) / 2)) * self.se


def divide_rows(held: SchemeRows, folds: int, seed: int) -> Folds:
    """Draw folds, and find the classes that have enough rows for their AUC to count."""
    classes, y = held.classes, np.asarray(held.y)
    rows = np.bincount(y, minlength=classes)
    often = np.minimum(rows, y.size - rows)
    if not (often >= FEWEST).any():
        raise _too_few(y.size, int(often.max(initial=0)))
    if held.time is None:
        number = draw_folds(y, folds, seed, held.group)
    else:
        number = time_folds(held.time, folds)
    # With times the earliest rows, which are in no fold, need both classes as well.
    inside = np.array([np.bincount(y[number == k], minlength=classes) for k in np.unique(number)])
    outside = inside.sum(axis=1, keepdims=True) - inside
    counted = np.flatnonzero((often >= FEWEST) & (np.minimum(inside, outside) > 0).all(axis=0))
    if not counted.size:
        raise _too_few(y.size, int(often.max()))
    return Folds(held, number, (1,) if classes == 2 else tuple(counted.tolist()))


def time_folds(time: Floats, folds: int) -> Ints:
    """Divide the rows into stretches of time; the earliest is no fold, but fitted on.

    Rows of the same time are never separated.
    """
    share = (rankdata(time, method="min") - 1) / time.size
    return np.asarray((share * (folds + 1)).astype(np.int64) - 1)


def _too_few(rows: int, most: int) -> CalibrationError:
    return CalibrationError(
        f"No class has at least {FEWEST} rows inside and {FEWEST} outside of it, in every fold of "
        f"the {rows:,} validation and calibration rows with scores; the most are {most:,}.",
        "A scheme is chosen by how well it separates a class from the rest.",
        "Give more calibration rows, or choose the tree of Algorithm 1.",
    )


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
                "Schemes are evaluated on groups that they were not fitted on.",
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
    candidate: Candidate, folds: Folds, start: Floats, progress: Progress = silent
) -> CrossFit:
    """Fit a candidate on all folds but one, and evaluate it there, for each shrinkage in turn.

    The strongest comes first; once a weaker one is worse, the others are not tried. `start` are
    the scores that it maps: those of the model, or constant ones.
    """
    best: CrossFit | None = None
    held, parts, judged = folds.held, folds.parts, folds.judged
    fits, began = len(candidate.strengths) * len(parts), time.perf_counter()
    for step, strength in enumerate(candidate.strengths):
        logits = np.array(start)
        for number, here in enumerate(parts):
            progress((step * len(parts) + number) / fits, f"Trying: {plain_name(candidate.name)}")
            others = folds.fitted_on(number)
            fitted, makers = candidate.fit(start, held, others, strength)
            logits[here] = fitted[here]
        losses = row_losses(held.y[judged], logits[judged])
        log_loss = float(np.average(losses, weights=held.weights(judged)))
        if best is not None and log_loss >= best.log_loss:
            break  # weaker shrinkage is worse still
        placed, numbers = place_rows(logits, folds), made(makers).numbers
        best = CrossFit(candidate, strength, logits, placed, losses, log_loss, numbers)
    if best is None:
        raise ValueError(f"the candidate {candidate.name!r} has no strengths")
    return replace(best, seconds=time.perf_counter() - began)


def row_losses(y: Ints, logits: Floats) -> Floats:
    """Return the log-loss of each row, from one logit or the log-probabilities of all classes."""
    if logits.ndim == 1:
        return np.logaddexp(0.0, logits) - y * logits
    return -logits[np.arange(y.size), y]


def place_rows(logits: Floats, folds: Folds) -> Floats:
    """Place every row within its fold: maps of different folds are not compared."""
    placed = np.full((len(logits), len(folds.counted)), np.nan)
    for rows in folds.parts:
        y, weight = folds.held.y[rows], folds.held.weights(rows)
        if logits.ndim == 1:
            placed[rows, 0] = placements(y, logits[rows], weight)
        else:
            placed[rows] = class_placements(y, logits[rows], folds.counted, weight)
    return placed


def gain_between(before: CrossFit, after: CrossFit, folds: Folds) -> Gain:
    """Compare the AUC of two candidates in every fold; the gain is the mean."""
    held, lifts = folds.held, []
    for rows in folds.parts:
        y, weight = held.y[rows], held.weights(rows)
        placed = before.placed[rows], after.placed[rows]
        if held.classes == 2 and held.group is None:
            lifts.append(lift_of(y, placed[0][:, 0], placed[1][:, 0], weight))
        else:
            group = None if held.group is None else held.group[rows]
            lifts.append(macro_lift_of(y, folds.counted, *placed, weight, group))
    return mean_gain(lifts)


def mean_gain(lifts: Sequence[Lift]) -> Gain:
    """Return the mean of the lifts of all folds.

    Where a fold is a single group, the error is estimated from the variance between folds.
    """
    count, total, variance = len(lifts), 0.0, 0.0
    for lift in lifts:
        total, variance = total + lift.auc, variance + lift.se**2
    if np.isnan(variance):
        variance = count * float(np.var([lift.auc for lift in lifts], ddof=1))
    return Gain(total / count, float(np.sqrt(variance)) / count)


def loss_gain(before: CrossFit, after: CrossFit, folds: Folds) -> tuple[float, float]:
    """Return by how much the mean of the rows' log-losses fell, and its standard error."""
    held, judged = folds.held, folds.judged
    group = None if held.group is None else held.group[judged]
    change = mean_fall(before.losses - after.losses, held.weights(judged), group=group)
    return change.fall, change.se


def simplest_near(
    best: int, others: Sequence[int], gap: Callable[[int, int], tuple[float, float]]
) -> int:
    """Return the simplest candidate within one standard error of the best.

    `others` are positions, from the simplest; `gap` takes two positions and gives how much better
    the second is, and the standard error of that.
    """
    for i in others:
        short, se = gap(i, best)
        if short <= se:
            return i
    return best
