"""Why a scheme was chosen, in words, and what it was chosen from."""

import pandas as pd

from hetcal.cross_fitting import CrossFit, Gain


def reason(tried: list[CrossFit], gains: list[Gain], chosen: int, best: int) -> str:
    """Say what was chosen and why.

    Parameters
    ----------
    tried, gains : list
        The candidates, and the gain of each over the model as it is.
    chosen, best : int
        Positions of what was chosen and of the largest lift.
    """
    name, top = tried[chosen].candidate.name, tried[best].candidate.name
    if chosen == 0:
        return (
            "Leave the model as it is: on rows that it was not fitted on, no candidate is "
            f"better by more than chance. The largest lift is {_shown(gains[best])} ({top})."
        )
    if chosen == 1:
        return (
            "One map for all rows: it makes the probabilities better and leaves the order as "
            f"it is. No candidate has a better order by more than chance; the largest lift is "
            f"{_shown(gains[best])} ({top})."
        )
    if chosen == best:
        return f"The lift of '{name}' is the largest: {_shown(gains[chosen])}."
    return (
        f"The lift of '{name}' is {_shown(gains[chosen])}, within one standard error of the "
        f"largest, {_shown(gains[best])} of '{top}', and it is simpler."
    )


def asked_for(tried: CrossFit, gain: Gain) -> str:
    """Say what a scheme that was asked for gives on rows that it was not fitted on."""
    name = tried.candidate.name
    better = "by more than chance" if gain.low > 0 else "by no more than chance"
    if gain.high < 0:
        return f"'{name}' was asked for, and it hurts: {_shown(gain)}."
    return f"'{name}' was asked for. It is better than the model {better}: {_shown(gain)}."


def candidate_lines(candidates: pd.DataFrame) -> str:
    """Write the candidates as a table of text, the simplest first."""
    wide = max(map(len, candidates["name"]))
    lines = [f"  {'candidate':{wide}}    lift (95 % interval), cross-fitted"]
    for each in candidates.itertuples():
        mark = ">" if each.chosen else " "
        interval = f"{each.low:+.4f} to {each.high:+.4f}"
        lines.append(f"{mark} {each.name:{wide}} {each.lift:+.4f} ({interval})")
    return "\n".join(lines)


def _shown(gain: Gain) -> str:
    return f"{gain.auc:+.4f} AUC ({gain.low:+.4f} to {gain.high:+.4f})"
