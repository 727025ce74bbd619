"""What makes a cut good: criteria that read nothing but sums of rows.

Sums are arrays of shape (channels, labels, ...). Channel 0 counts rows; each further
channel adds up one value per row. Everything after the first two axes is free, so that
one call judges many cuts.
"""

from itertools import product
from typing import Protocol

import numpy as np

from hetcal.arrays import Floats

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


class Criterion(Protocol):
    """A score of cuts from the sums on their left side; the largest score wins."""

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return the score of each cut."""

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return what no cut between the sums `start` and the sums `end` can exceed."""


class Gini:
    """scikit-learn's Gini criterion, in its own order of operations.

    The mass of a class is its last channel: the weight if rows have weights, else the
    number of rows.
    """

    def score(self, left: Floats, total: Floats) -> Floats:
        """Return minus the impurity of both sides."""
        mass = left[-1]
        return -_impurity(_like(total, left)[-1] - mass) - _impurity(mass)

    def bound(self, start: Floats, end: Floats, total: Floats) -> Floats:
        """Return the largest score over all orders in which the rows in between can come.

        With two classes the score is convex in their masses on the left, so over the rectangle
        that these can reach it is largest at one of the four corners. The impurity of more
        classes is half the sum of those of each class against the rest.
        """
        masses = start[-1], end[-1], total[-1]
        if len(total[-1]) == 2:
            return -_least_impurity(*masses)
        least = np.zeros(start.shape[2:])
        for each in range(len(total[-1])):
            pairs = (np.stack([mass.sum(axis=0) - mass[each], mass[each]]) for mass in masses)
            least -= 0.5 * _least_impurity(*pairs)
        return least

    def finished(self, total: Floats) -> bool:
        """Tell whether the rows are of one class, or as good as that by their weights.

        Rows are counted exactly, while sums of weights may leave a trace of a class that
        has gone.
        """
        pure = _impurity(total[-1]) <= EPSILON * total[-1].sum()
        return bool(pure or np.count_nonzero(total[0]) < 2)


def _impurity(mass: Floats) -> Floats:
    """Return mass times Gini impurity; 0 where there is no mass."""
    whole = np.asarray(mass.sum(axis=0))
    square = np.asarray(whole * whole)
    square[whole <= 0] = 1.0
    return np.asarray(whole * (1.0 - (mass * mass).sum(axis=0) / square))


def _least_impurity(start: Floats, end: Floats, total: Floats) -> Floats:
    """Return the least impurity of both sides with two classes, at the corners."""
    least = np.asarray(np.inf)
    for zero, one in product((start[0], end[0]), (start[1], end[1])):
        both = _rough_impurity(zero, one) + _rough_impurity(total[0] - zero, total[1] - one)
        least = np.minimum(least, both)
    return least


def _rough_impurity(zero: Floats, one: Floats) -> Floats:
    """Return about the same in fewer steps."""
    return 2.0 * zero * one / np.maximum(zero + one, TINY)


def _like(total: Floats, sums: Floats) -> Floats:
    return total.reshape(*total.shape, *[1] * (sums.ndim - 2))
