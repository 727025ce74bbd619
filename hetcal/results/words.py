"""What a lift means, in words."""

import math
from typing import Literal

from hetcal.data.columns import counted
from hetcal.metrics.delong import Lift

DEFINITIONS = {
    "AUC": "Area under the ROC curve: the probability that a random positive row scores higher "
    "than a random negative one, where a tie counts one half. 0.5 is random ranking, 1 is perfect. "
    "Higher is better.",
    "Lift": "AUC after minus AUC before on the same test rows, with DeLong's 95 % confidence "
    "interval for paired scores. In percent: 100 · (AUC after / AUC before − 1).",
    "p-value": "The probability of a lift at least this far from zero if calibration did not "
    "change the AUC (DeLong's paired test, two-sided).",
    "Share of the lift": "The part of the lift that comes from a leaf: the pairs of a positive and "
    "a negative row that calibration put in the right order, minus those that it put in the wrong "
    "order. A pair counts half for the leaf of each of its rows, so the shares add up to the lift.",
    "TPR and FPR at (T, q)": "Rows with t(s) above the threshold T are called positive, and so is "
    "a random share q of the rows with t(s) = T. The true and the false positive rate are the "
    "shares of positive and of negative rows called positive. The ROC curve shows both for every "
    "(T, q).",
    "Average precision": "Mean over the positive rows of the precision at their own score, where "
    "precision is the share of positive rows among those called positive. It depends on the base "
    "rate. Higher is better.",
    "PR-AUC": "As the paper defines it: the area under TPR / (TPR + FPR) against recall (TPR). "
    "This is precision with both classes weighted equally, so it does not depend on the base rate. "
    "0.5 is random ranking. Higher is better.",
    "Log-loss": "Mean of −log p, where p is the predicted probability of the true label. Given the "
    "partition, perfect calibration in every leaf gives the lowest possible log-loss. Lower is "
    "better.",
    "Brier score": "Mean squared difference between predicted probability and label, "
    "mean (p − y)². Lower is better.",
    "Calibration error": "The paper's expected calibration error: the root mean squared gap "
    "between predicted probability and observed positive rate, over 15 bins of equal mass. "
    "It need not fall when leaves are calibrated separately, and a useless score can have an error "
    "of zero. Lower is better.",
    "Calibration error, debiased": "The calibration error without the bias of sampling noise: in "
    "every bin the variance of the observed rate is subtracted from the squared gap (Kumar, Liang "
    "and Ma, 2019). It is 0 where sampling noise explains the gaps.",
    "Over-confidence": "Mean predicted probability of the predicted class minus accuracy. Above "
    "zero, the model is more confident than it is accurate.",
    "Log-loss gap": "Log-loss on test rows minus log-loss on train rows. The larger it is, the "
    "more the model over-fits.",
    "Slope and intercept": "The Platt map t(s) = σ(slope · s + intercept) that fits the labels "
    "best. Slope 1 and intercept 0 leave the score unchanged, slope 0.5 halves the logit, and "
    "slope 0 ignores the score: every row of the leaf gets the same probability.",
    "Standard error": "Typical sampling error; about 95 % of estimates lie within two standard "
    "errors of the truth.",
}


BACKWARDS = 0.45  # an AUC between this and one half may be that of a random ranking
Outcome = Literal["backwards", "gain", "harm", "same", "unclear"]
LEAST_P = 1e-300  # smaller p-values underflow


def outcome(lift: Lift) -> Outcome:
    """Say whether the 95 % interval of the lift lies above, below or across zero.

    A model whose AUC is well below one half ranks backwards: reversing it is no lift.
    """
    if lift.before < BACKWARDS:
        return "backwards"
    if lift.low > 0:
        return "gain"
    if same_order(lift):
        return "same"
    return "harm" if lift.high < 0 else "unclear"


def same_order(lift: Lift) -> bool:
    """Return whether calibration kept the order of all pairs of rows."""
    return lift.auc == 0 and lift.se == 0


def verdict(
    lift: Lift,
    rows: int,
    one_map: bool = False,
    groups: int | None = None,
    *,
    several_classes: bool = False,
) -> str:
    """Advise the user what to do with their model, and say how certain that is.

    Parameters
    ----------
    lift : Lift
        AUC after minus AUC before, with its interval.
    rows : int
        Number of test rows that it was measured on.
    one_map : bool, default=False
        Whether all rows share one map of all classes, which can change the ranking of one class.
    groups : int, optional
        Number of groups of the test rows, where the interval allows for these.
    several_classes : bool, default=False
        Whether the lift is that of the macro AUC of more than two classes.
    """
    where, measure = measured_on(rows, groups), "AUC"
    check = "Check the positive value of the label and the sign of the score"
    if several_classes:
        measure, check = "Macro AUC", "Check the order of the classes"
    what = "One map for all rows" if one_map else "Heterogeneous calibration"
    measured = (
        f"{measure} {lift.before:.4f} before and {lift.after:.4f} after on {where}: "
        f"{lift.auc:+.4f}, {_interval(lift)}"
    )
    advice = {
        "backwards": f"{check}: the model ranks the test rows backwards. {measured}.",
        "gain": f"{what} helps. {measured}.",
        "same": "Keep the ranking of your model: no scheme that was tried ranks the rows better. "
        f"{measure} {lift.before:.4f} on {where}, before and after.",
        "harm": f"Leave your model as it is: this calibration makes its ranking worse. {measured}.",
        "unclear": "Leave your model as it is, unless you need calibrated probabilities: "
        f"the change in ranking is not significant. {measured}"
        f"{'' if math.isnan(lift.low) else ', which includes zero'}.",
    }
    return advice[outcome(lift)]


def measured_on(rows: int, groups: int | None = None) -> str:
    """Say on how many rows something was measured.

    Examples
    --------
    >>> measured_on(1200), measured_on(1200, 1)
    ('1,200 test rows', '1,200 test rows of 1 group')
    """
    of_groups = "" if groups is None else f" of {counted(groups, 'group')}"
    return f"{counted(rows, 'test row')}{of_groups}"


def p_in_words(p: float) -> str:
    """Write a p-value, which is never 0; one that is not defined is a dash.

    >>> p_in_words(0.0312), p_in_words(2e-17), p_in_words(0.0), p_in_words(float("nan"))
    ('0.031', '2e-17', '< 1e-300', '–')
    """
    if math.isnan(p):
        return "–"
    return f"{p:.2g}" if p >= LEAST_P else f"< {LEAST_P:g}"


def _interval(lift: Lift) -> str:
    if math.isnan(lift.low):
        return "without an interval, because there are too few rows or groups"
    return f"95 % interval {lift.low:+.4f} to {lift.high:+.4f}"
