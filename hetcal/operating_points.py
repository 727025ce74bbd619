"""True and false positive rate at a threshold, where a random draw decides on tied rows.

Without ties the rates are the usual ones. With them, the share q of tied rows that are called
positive makes every false positive rate reachable: the points of all (threshold, q) are the ROC
curve with straight lines between its corners.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hetcal.arrays import Bools, Floats
from hetcal.ranking import Labels


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and its rates.

    Parameters
    ----------
    threshold : float
        Rows that score above it are called positive.
    tied_share : float
        The share q of the rows that score exactly the threshold and are called positive.
    true_positive_rate, false_positive_rate : float
        Of the positive and of the negative rows, the share called positive.
    """

    threshold: float
    tied_share: float
    true_positive_rate: float
    false_positive_rate: float

    @property
    def probability(self) -> float:
        """The threshold of a logit as a probability."""
        return float(expit(self.threshold))


def at_false_positive_rate(
    y: Labels, scores: Floats, rate: float, weight: Floats | None = None
) -> OperatingPoint:
    """Return the operating point with this false positive rate; NaN with one class only.

    Where several thresholds have the same false positive rate, the lowest is taken, which has the
    highest true positive rate.

    Examples
    --------
    >>> at_false_positive_rate(np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, 0.5, 2.0]), 0.125)
    OperatingPoint(threshold=0.5, tied_share=0.25, true_positive_rate=0.625, \
false_positive_rate=0.125)
    """
    positive = np.asarray(y) == 1

    def total(rows: Bools) -> float:
        return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())

    positives, negatives = total(positive), total(~positive)
    if not positives * negatives:
        return OperatingPoint(*[float("nan")] * 4)
    if rate >= 1:
        lowest = scores.min() if weight is None else scores[weight > 0].min()
        return OperatingPoint(float(lowest), 1.0, 1.0, 1.0)
    wanted = rate * negatives
    threshold = _threshold(scores[~positive], wanted, None if weight is None else weight[~positive])
    above, tied = scores > threshold, scores == threshold
    false, false_tied = total(above & ~positive), total(tied & ~positive)
    share = float(np.clip((wanted - false) / false_tied, 0.0, 1.0))
    true = total(above & positive) + share * total(tied & positive)
    return OperatingPoint(
        threshold, share, true / positives, (false + share * false_tied) / negatives
    )


def _threshold(scores: Floats, wanted: float, weight: Floats | None) -> float:
    """Return the lowest score with at most the wanted weight above it."""
    if weight is None:
        place = scores.size - 1 - min(int(wanted), scores.size - 1)
        return float(np.partition(scores, place)[place])
    order = np.argsort(-scores, kind="stable")
    order = order[weight[order] > 0]
    place = int(np.searchsorted(np.cumsum(weight[order]), wanted, "right"))
    return float(scores[order[min(place, order.size - 1)]])


def points_in_words(before: OperatingPoint, after: OperatingPoint) -> str:
    """Compare the true positive rates before and after calibration."""
    if np.isnan(before.true_positive_rate + after.true_positive_rate):
        return "There are no rates: all test rows are of one class."
    found = " and ".join(
        f"{100 * point.true_positive_rate:.1f} % {name} (T = {point.probability:.4f})"
        for name, point in (("before", before), ("after", after))
    )
    return f"At this false positive rate the true positive rate is {found}."
