"""The paper's rates at a threshold, where a draw decides on the rows that tie with it.

Without ties the rates are the usual ones. With them, the share q of tied rows that pass
makes every false positive rate reachable, and the curves through all (threshold, q) are the
ROC curve joined by straight lines and what follows from it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.ranking import Labels, RankedClass, rank_classes


@dataclass(frozen=True)
class OperatingPoint:
    """One way to call rows positive.

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

    @property
    def balanced_precision(self) -> float:
        """The paper's precision, TPR / (TPR + FPR): that of classes of equal weight."""
        passed = self.true_positive_rate + self.false_positive_rate
        return self.true_positive_rate / passed if passed else 1.0


def at_false_positive_rate(
    y: Labels, scores: Floats, rate: float, weight: Floats | None = None
) -> OperatingPoint:
    """Return the operating point with this false positive rate.

    Where positive rows lie between two negative ones, or below all of them, every threshold
    between these has the same false positive rate; the lowest is taken, which passes the most
    positive rows.

    Examples
    --------
    >>> at_false_positive_rate(np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, 0.5, 2.0]), 0.125)
    OperatingPoint(threshold=0.5, tied_share=0.25, true_positive_rate=0.625, \
false_positive_rate=0.125)
    """
    if weight is None:
        positive = np.asarray(y) == 1
        return _point_of_rows(scores[positive], scores[~positive], rate)
    return point_of_rate(*rank_classes(y, scores, weight), rate)


def point_of_rate(positive: RankedClass, negative: RankedClass, rate: float) -> OperatingPoint:
    """Do what `at_false_positive_rate` does for classes that are already ranked."""
    if not positive.total * negative.total:
        return OperatingPoint(float("nan"), float("nan"), float("nan"), float("nan"))
    if rate >= 1:
        return _all_pass(positive.scores[0], negative.scores[0])
    # The weight that scores more than each negative row falls along the ascending scores.
    above = negative.above(negative.scores)
    place = int(np.searchsorted(-above, -rate * negative.total, "left"))
    place = min(place, negative.scores.size - 1)
    threshold = float(negative.scores[place])
    tied = float(negative.at_or_above(negative.scores[place : place + 1])[0] - above[place])
    share = float(np.clip((rate * negative.total - above[place]) / tied, 0.0, 1.0))
    true = _rate(positive, threshold, share)
    return OperatingPoint(threshold, share, true, _rate(negative, threshold, share))


def _point_of_rows(positive: Floats, negative: Floats, rate: float) -> OperatingPoint:
    """Find the point of rows that count once without sorting them."""
    if not positive.size * negative.size:
        return OperatingPoint(float("nan"), float("nan"), float("nan"), float("nan"))
    if rate >= 1:
        return _all_pass(positive.min(), negative.min())
    passed = rate * negative.size
    from_top = min(int(passed), negative.size - 1)
    place = negative.size - 1 - from_top
    threshold = float(np.partition(negative, place)[place])
    above, tied = _counts(negative, threshold)
    share = float(np.clip((passed - above) / tied, 0.0, 1.0))
    more, equal = _counts(positive, threshold)
    true = (more + share * equal) / positive.size
    return OperatingPoint(threshold, share, true, (above + share * tied) / negative.size)


def _all_pass(*lowest: float) -> OperatingPoint:
    """Return the point that passes every row, given the lowest score of either class."""
    return OperatingPoint(float(min(lowest)), 1.0, 1.0, 1.0)


def _counts(scores: Floats, threshold: float) -> tuple[int, int]:
    """Count the scores above a threshold, and those equal to it."""
    return int(np.count_nonzero(scores > threshold)), int(np.count_nonzero(scores == threshold))


def points_in_words(before: OperatingPoint, after: OperatingPoint) -> str:
    """Say what a false positive rate buys before and after calibration."""
    if np.isnan(before.true_positive_rate + after.true_positive_rate):
        return "There are no rates, for the test rows are of one class."
    found = " and ".join(
        f"{100 * point.true_positive_rate:.1f} % {name} (T = {point.probability:.4f})"
        for name, point in (("before", before), ("after", after))
    )
    return f"At this false positive rate the true positive rate is {found}."


def _rate(ranked: RankedClass, threshold: float, tied_share: float) -> float:
    at = np.array([threshold])
    above, with_ties = ranked.above(at)[0], ranked.at_or_above(at)[0]
    if not ranked.total:
        return float("nan")
    return float((above + tied_share * (with_ties - above)) / ranked.total)
