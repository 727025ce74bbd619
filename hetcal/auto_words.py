"""Why a scheme was chosen, in words, and what it was chosen from."""

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from hetcal.arrays import Floats
from hetcal.cross_fitting import Gain

LEAST_SHOWN = 5e-5  # a smaller lift is written as 0


class Named(Protocol):
    """What was tried, before it is fitted."""

    @property
    def name(self) -> str:
        """For the table."""

    @property
    def words(self) -> str:
        """What it does, for a person."""


class Tried(Protocol):
    """A candidate that was tried on rows that it was not fitted on, of any number of classes."""

    @property
    def candidate(self) -> Named:
        """What was tried."""

    @property
    def strength(self) -> float:
        """The shrinkage with the lowest log-loss."""

    @property
    def losses(self) -> Floats:
        """Log-loss of each row."""

    @property
    def log_loss(self) -> float:
        """Their mean."""


def lift_reason(
    tried: Sequence[Tried],
    gains: Sequence[Gain],
    chosen: int,
    best: int,
    measure: str = "AUC",
) -> str:
    """Say why a candidate was chosen for its lift.

    Parameters
    ----------
    tried, gains : sequence
        The candidates, and the gain of each over the model as it is.
    chosen, best : int
        Positions of what was chosen, and of the largest lift that is clear of chance.
    measure : str
        What the lift is measured in.
    """
    name, top = tried[chosen].candidate.name, tried[best].candidate.name
    if chosen == best:
        return f"The lift of '{name}' is the largest: {_shown(gains[chosen], measure)}."
    return (
        f"The lift of '{name}' is {_shown(gains[chosen], measure)}, within one standard error of "
        f"the largest, {_shown(gains[best], measure)} of '{top}', and it is simpler."
    )


def no_lift_reason(
    said: str, tried: Sequence[Tried], gains: Sequence[Gain], measure: str = "AUC"
) -> str:
    """Add to why nothing was chosen for its lift how large the largest lift is, if there is one."""
    best = max(range(1, len(gains)), key=lambda i: gains[i].auc)
    if gains[best].auc < LEAST_SHOWN:
        return f"{said} None has a higher {measure}."
    largest = f"{_shown(gains[best], measure)} ({tried[best].candidate.name})"
    return f"{said} The largest lift is {largest}."


def asked_for(tried: Tried, gain: Gain) -> str:
    """Say what a scheme that was asked for gives on rows that it was not fitted on."""
    name = tried.candidate.name
    better = "by more than chance" if gain.low > 0 else "by no more than chance"
    if gain.high < 0:
        return f"'{name}' was asked for, and it hurts: {_shown(gain)}."
    return f"'{name}' was asked for. It is better than the model {better}: {_shown(gain)}."


def candidate_table(tried: Sequence[Tried], gains: Sequence[Gain], chosen: int) -> pd.DataFrame:
    """List the candidates as `hetcal.auto.Choice` holds them."""
    return pd.DataFrame(
        {
            "name": [each.candidate.name for each in tried],
            "words": [each.candidate.words for each in tried],
            "lift": [gain.auc for gain in gains],
            "se": [gain.se for gain in gains],
            "low": [gain.low for gain in gains],
            "high": [gain.high for gain in gains],
            "log_loss": [each.log_loss for each in tried],
            "strength": [each.strength for each in tried],
            "rows": [each.losses.size for each in tried],
            "chosen": [i == chosen for i in range(len(tried))],
        }
    )


def candidate_lines(candidates: pd.DataFrame, measure: str = "AUC") -> str:
    """Write the candidates as a table of text, the simplest first, and what was chosen."""
    wide = max(map(len, candidates["name"]))
    lines = [f"  {'candidate':{wide}} {measure} lift (95 % interval), cross-fitted"]
    for each in candidates.itertuples():
        mark = ">" if each.chosen else " "
        interval = f"{each.low:+.4f} to {each.high:+.4f}"
        lines.append(f"{mark} {each.name:{wide}} {each.lift:+.4f} ({interval})")
    chosen = candidates[candidates["chosen"]]
    lines += [f"Chosen: {each.name} ({each.words})." for each in chosen.itertuples()]
    return "\n".join(lines)


def _shown(gain: Gain, measure: str = "AUC") -> str:
    return f"{gain.auc:+.4f} {measure} ({gain.low:+.4f} to {gain.high:+.4f})"
