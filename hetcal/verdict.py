"""What a lift means, in words."""

import math
from typing import Literal

from hetcal.columns import counted
from hetcal.delong import Lift

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
    """Tell whether calibration kept the order of all pairs of rows."""
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
    where = measured_on(rows, groups)
    if several_classes:
        return _advice(lift, where, "Macro AUC", "Check the order of the classes", one_map)
    check = "Check the positive value of the label and the sign of the score"
    return _advice(lift, where, "AUC", check, one_map)


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


def _advice(lift: Lift, where: str, measure: str, check: str, one_map: bool) -> str:
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
        f"{'' if math.isnan(lift.se) else ', which includes zero'}.",
    }
    return advice[outcome(lift)]


def _interval(lift: Lift) -> str:
    if math.isnan(lift.se):
        return "without an interval, because there are too few rows or groups"
    return f"95 % interval {lift.low:+.4f} to {lift.high:+.4f}"
