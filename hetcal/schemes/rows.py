"""Rows of one role, as a scheme is fitted on them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Groups, Ints
from hetcal.calibrators.class_map import identity_map
from hetcal.errors import CalibrationError


@dataclass(frozen=True, eq=False)
class SchemeRows:
    """Rows of one role.

    Parameters
    ----------
    X : DataFrame
        The columns.
    y : array of int
        Class numbers, from 0.
    scores : array of float or None
        What the model says of each row: one logit for two classes, the log-probability of every
        class (rows x classes) for more. Those of training rows are never read.
    weight : array of float, optional
        Importance weights.
    group : array, optional
        Maps are evaluated on groups that they were not fitted on.
    time : array of float, optional
        Maps are evaluated on rows that are later than those that they were fitted on.
    """

    X: pd.DataFrame
    y: Ints
    scores: Floats | None
    weight: Floats | None = None
    group: Groups | None = None
    time: Floats | None = None

    def __post_init__(self) -> None:
        shape = (0,) if self.scores is None else np.shape(self.scores)
        if len(shape) != 1 and (len(shape) != 2 or shape[1] < 3):
            raise CalibrationError(
                f"The scores are an array of shape {shape}.",
                "Two classes have one logit per row, more classes the log-probability of each.",
                "Pass such an array.",
            )

    def weights(self, rows: Ints) -> Floats | None:
        """Return the weights of some rows."""
        return None if self.weight is None else self.weight[rows]

    @property
    def known_scores(self) -> Floats:
        """The scores of rows that need them."""
        if self.scores is None:
            raise ValueError("held-out rows need scores")
        return self.scores

    @property
    def constant_scores(self) -> Floats:
        """What a scheme without the model starts from: every row and every class alike."""
        return constant_scores(self.known_scores)

    @property
    def classes(self) -> int:
        """Number of classes that the scores are of."""
        return 2 if self.scores is None or self.scores.ndim == 1 else self.scores.shape[1]


def constant_scores(scores: Floats) -> Floats:
    """Return scores for as many rows and classes, in which every row and every class is alike."""
    return np.full(scores.shape, 0.0 if scores.ndim == 1 else -np.log(scores.shape[1]))


def joined(first: SchemeRows, second: SchemeRows | None) -> SchemeRows:
    """Put rows of two roles one after the other."""
    if second is None:
        return first
    scores = weight = group = time = None
    if first.scores is not None and second.scores is not None:
        scores = np.concatenate([first.scores, second.scores])
    if first.weight is not None or second.weight is not None:
        weight = np.concatenate([_weight(first), _weight(second)])
    if first.group is not None or second.group is not None:
        group = np.concatenate([_group(first), _group(second)])
    if first.time is not None and second.time is not None:
        time = np.concatenate([first.time, second.time])
    X = pd.concat([first.X, second.X], ignore_index=True)
    return SchemeRows(X, np.concatenate([first.y, second.y]), scores, weight, group, time)


def _group(rows: SchemeRows) -> Groups:
    """Return the groups; a row without one is a group of its own."""
    if rows.group is not None:
        return np.asarray(rows.group, dtype=object)
    return np.array([object() for _ in rows.y], dtype=object)


def _weight(rows: SchemeRows) -> Floats:
    return np.ones(len(rows.y)) if rows.weight is None else rows.weight


def sampled(rows: SchemeRows, most: int, seed: int) -> SchemeRows:
    """Draw at most so many rows with a weight and, where there are scores, a finite one."""
    use, scores = _weight(rows) > 0, rows.scores
    if scores is not None:
        use &= finite_rows(scores)
    inside = drawn(use, most, seed)
    if scores is not None:
        scores = scores[inside].astype(np.float64)
        if scores.ndim == 2:  # log-probabilities, whatever the logits
            scores = identity_map(scores.shape[1]).logits(scores)
    group = None if rows.group is None else np.asarray(rows.group)[inside]
    time = None if rows.time is None else rows.time[inside]
    y = np.asarray(rows.y)[inside]
    return SchemeRows(rows.X.iloc[inside], y, scores, rows.weights(inside), group, time)


def finite_rows(scores: Floats) -> Bools:
    """Return which rows have finite scores only."""
    finite: Bools = np.isfinite(scores)
    return finite if scores.ndim == 1 else np.asarray(finite.all(axis=1))


def drawn(use: Bools, most: int, seed: int) -> Ints:
    """Draw at most so many of the rows that can be used."""
    inside = np.flatnonzero(use)
    if inside.size > most:
        inside = np.sort(np.random.default_rng(seed).choice(inside, most, replace=False))
    return inside
