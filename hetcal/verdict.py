"""What a lift means, in one sentence."""

from typing import Literal

from hetcal.delong import Lift

Outcome = Literal["backwards", "gain", "harm", "same", "unclear"]


def outcome(lift: Lift) -> Outcome:
    """Say whether the 95 % interval of the lift lies above, below or across zero.

    A model whose AUC is below one half ranks backwards: turning it round is no lift.
    """
    if lift.before < 0.5:
        return "backwards"
    if lift.low > 0:
        return "gain"
    if lift.auc == 0 and lift.se == 0:
        return "same"
    return "harm" if lift.high < 0 else "unclear"


def verdict(lift: Lift, rows: int, one_map: bool = False) -> str:
    """Tell the user what to do with their model, and how certain that is.

    Parameters
    ----------
    lift : Lift
        AUC after minus AUC before, with its interval.
    rows : int
        Number of test rows that it was measured on.
    one_map : bool, default=False
        Whether all rows have the same map of all classes, which can change the order of one.
    """
    check = "Check the positive value of the label and the sign of the score"
    return _advice(lift, rows, "AUC", check, one_map)


def class_verdict(lift: Lift, rows: int, one_map: bool = False) -> str:
    """Tell the same of a model with more than two classes, by its macro AUC."""
    return _advice(lift, rows, "Macro AUC", "Check the order of the classes", one_map)


def _advice(lift: Lift, rows: int, measure: str, check: str, one_map: bool) -> str:
    what = "One map for all rows" if one_map else "Heterogeneous calibration"
    measured = (
        f"{measure} {lift.before:.4f} before and {lift.after:.4f} after on {rows:,} test rows: "
        f"{lift.auc:+.4f}, 95 % interval {lift.low:+.4f} to {lift.high:+.4f}"
    )
    advice = {
        "backwards": f"{check}: the model ranks the test rows backwards. {measured}.",
        "gain": f"{what} helps. {measured}.",
        "same": "Leave the order of your model as it is: nothing that was tried ranks the rows "
        f"better. {measure} {lift.before:.4f} on {rows:,} test rows, before and after.",
        "harm": f"Leave your model as it is: this calibration hurts it. {measured}.",
        "unclear": "Leave your model as it is, unless you need its probabilities to be right: "
        f"no change of the ranking can be told from chance. {measured}, which includes zero.",
    }
    return advice[outcome(lift)]
