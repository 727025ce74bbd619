"""Scores of each class in order, from which ranking measures and curves are computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints

FEW_ROWS = 1024

Labels = NDArray[np.integer[Any]]
"""Labels 0 and 1 of any integer type."""


@dataclass(frozen=True)
class RankedClass:
    """The scores of one class in ascending order and the weight from each upwards.

    Sorting values class by class is several times faster than ordering all rows.

    Parameters
    ----------
    scores : array
        Ascending.
    weight_from : array
        `weight_from[i]` is the weight of `scores[i:]`; the last of its
        `len(scores) + 1` entries is 0.
    """

    scores: Floats
    weight_from: Floats

    @property
    def total(self) -> float:
        """Weight of the class."""
        return float(self.weight_from[0])

    def at_or_above(self, scores: Floats) -> Floats:
        """Weight of the class that scores at least this much."""
        return self.weight_from[np.searchsorted(self.scores, scores, "left")]

    def above(self, scores: Floats) -> Floats:
        """Weight of the class that scores more than this."""
        return self.weight_from[np.searchsorted(self.scores, scores, "right")]

    def below(self, scores: Floats) -> Floats:
        """Weight of the class that scores less than this, ties counting half."""
        return self.total - (self.at_or_above(scores) + self.above(scores)) / 2


def rank_class(scores: Floats, weight: Floats | None = None) -> RankedClass:
    """Sort the scores of one class and accumulate their weight from the top."""
    if weight is None:
        return RankedClass(np.sort(scores), np.arange(scores.size, -1, -1, dtype=np.float64))
    order = ascending_order(scores)
    return RankedClass(scores[order], weight_from(weight[order]))


def weight_from(weight: Floats) -> Floats:
    """Add up weights from each of the ascending scores upwards, and from above them all."""
    summed = np.zeros(weight.size + 1)
    summed[:-1] = np.cumsum(weight[::-1])[::-1]
    return summed


def ascending_order(scores: Floats) -> Ints:
    """Order rows by score and tied rows by their number.

    Then tied weights are always added in the same order, and scores that rank the rows alike
    give equal sums to the last bit.
    """
    if scores.size < FEW_ROWS or scores.size >= 2**32:
        return np.argsort(scores, kind="stable")
    order, top = _packed_order(scores)
    ranked = scores[order]
    if np.any(ranked[1:] < ranked[:-1]):
        # Rows with equal leading bits are neighbours; only these are sorted again.
        same = top[1:] == top[:-1]
        close = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[close]
        order[close] = rows[np.argsort(scores[rows], kind="stable")]
    return order


def _packed_order(scores: Floats) -> tuple[Ints, Ints]:
    """Order rows by the leading bits of their scores, and by row number where these are equal.

    Row number and leading bits (the second array) share one integer: sorting integers is several
    times faster than `argsort`.
    """
    bits = (scores + 0.0).view(np.int64)  # minus zero becomes zero
    bits ^= (bits >> 63) & np.int64(2**63 - 1)
    number = np.int64(2 ** (scores.size - 1).bit_length() - 1)
    bits &= ~number
    bits |= np.arange(scores.size)
    bits.sort()
    return bits & number, bits & ~number


def rank_classes(
    y: Labels, scores: Floats, weight: Floats | None = None
) -> tuple[RankedClass, RankedClass]:
    """Return the ranked positive and the ranked negative rows; rows of weight 0 are left out."""
    positive = np.asarray(y) == 1
    if weight is None:
        return rank_class(scores[positive]), rank_class(scores[~positive])
    one, zero = positive & (weight > 0), ~positive & (weight > 0)
    return rank_class(scores[one], weight[one]), rank_class(scores[zero], weight[zero])
