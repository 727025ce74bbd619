"""The ladder of schemes in a table and in words: what a rung gives, and what it costs."""

import math

import pandas as pd

from hetcal.choices import MANY_TREES, OF_ANY_RUN, OF_FEW_TREES, RUNGS, plain_name
from hetcal.data.columns import counted
from hetcal.schemes.cross_fitting import Gain


def ladder_table(candidates: pd.DataFrame, measure: str = "AUC") -> pd.DataFrame:
    """Return the rungs under names that need no explanation, the simplest first.

    Parameters
    ----------
    candidates : DataFrame
        The table of `hetcal.schemes.choice.Choice`.
    measure : str, default="AUC"
        What lifts are measured in.

    Returns
    -------
    DataFrame
        `rung`, `what it does`, `kind`, the measure, `lift`, `interval` (95 %, of the lift), the
        measure `without the network`, `network adds`, `interval of that`, `log-loss`, `numbers`
        (that decide), `seconds`, `rows`, `exports` (formats that hold the whole scheme), `in use`.
    """
    before = candidates["auc"] - candidates["lift"]
    return pd.DataFrame(
        {
            "rung": candidates["name"].map(plain_name),
            "what it does": candidates["words"],
            "kind": candidates["kind"],
            measure: candidates["auc"],
            "lift": candidates["lift"],
            "interval": _intervals(candidates, "low", "high"),
            f"{measure} without the network": before + candidates["without"],
            "network adds": candidates["adds"],
            "interval of that": _intervals(candidates, "adds_low", "adds_high"),
            "log-loss": candidates["log_loss"],
            "numbers": candidates["numbers"],
            "seconds": candidates["seconds"],
            "rows": candidates["rows"],
            "exports": [exports_of(name) for name in candidates["name"]],
            "in use": candidates["chosen"],
        }
    )


def exports_of(name: str) -> str:
    """Name the formats that hold the whole scheme, beside the artifact, which holds any.

    >>> exports_of("shrunken tree"), exports_of("forest"), exports_of("tree vector")
    ('all but scorecard', 'all but scorecard, sql, tflite', 'report, table')
    """
    if name not in RUNGS:  # maps of more than two classes
        return ", ".join(OF_ANY_RUN)
    missing = [] if name == "additive" else ["scorecard"]
    missing += OF_FEW_TREES if name in MANY_TREES else ()
    return f"all but {', '.join(missing)}" if missing else "all"


def price_in_words(candidates: pd.DataFrame, more: Gain | None = None, measure: str = "AUC") -> str:
    """Say what the rung in use gives up against the best, and gives beyond simpler ones.

    A simpler rung has fewer numbers.

    Parameters
    ----------
    candidates : DataFrame
        The table of `hetcal.schemes.choice.Choice`.
    more : Gain, optional
        How much more the rung with the largest lift gives than the one in use, on the same rows.
        Without it the difference is said without an interval: that of two rungs cannot be had
        from the intervals of each.
    measure : str, default="AUC"
        What lifts are measured in.
    """
    rungs = candidates.reset_index(drop=True)
    in_use = int(rungs["chosen"].to_numpy().argmax())
    used, best = rungs.loc[in_use], rungs.loc[rungs["lift"].idxmax()]
    said = [f"{_named(used, sentence=True)}: {used['lift']:+.4f} {measure}."]
    fewer = rungs["numbers"] < used["numbers"]
    simpler = rungs[fewer & (rungs["kind"] != "none")]
    if best["lift"] <= used["lift"]:
        said.append("No other rung gives more.")
    elif best.name not in simpler.index:  # else it is named below
        if used["kind"] == "none":  # its lift is against this rung
            more = Gain(best["lift"], best["se"])
        said.append(_dearer(best, best["lift"] - used["lift"], more))
    if len(simpler):
        said.append(_simpler(simpler.loc[simpler["lift"].idxmax()], used["lift"]))
    return " ".join(said)


def worth_in_words(candidates: pd.DataFrame, measure: str = "AUC") -> str:
    """Say what the best rung reaches without the network, and what the network adds to it.

    That is what the network is worth, whichever rung is in use; empty where it is not known.
    Parameters are as in `price_in_words`.
    """
    alone = candidates["auc"] - candidates["lift"] + candidates["without"]
    if alone.isna().all():
        return ""
    best = candidates.loc[alone.idxmax()]
    interval = _intervals(best.to_frame().T, "adds_low", "adds_high")[0]
    return (
        f"Without your network, {plain_name(best['name'])} would reach {measure} "
        f"{alone.max():.4f}, the most of all rungs; your network adds {best['adds']:+.4f} to that "
        f"({interval})."
    )


def _dearer(rung: pd.Series, gain: float, more: Gain | None) -> str:
    known = more is not None and not math.isnan(more.se)
    between = f" ({more.low:+.4f} to {more.high:+.4f})" if more is not None and known else ""
    return f"{_named(rung, sentence=True)} would add {gain:+.4f}{between}."


def _simpler(rung: pd.Series, lift: float) -> str:
    lost = lift - rung["lift"]
    change = f"would give up {lost:.4f}" if lost > 0 else f"gives {-lost:.4f} more"
    return f"The best simpler rung, {_named(rung)}, {change}."


def _named(rung: pd.Series, *, sentence: bool = False) -> str:
    words = plain_name(rung["name"])
    numbers = int(rung["numbers"])
    cost = f" ({counted(numbers, 'number')})" if numbers else ""
    return (words[:1].upper() + words[1:] if sentence else words) + cost


def _intervals(candidates: pd.DataFrame, low: str, high: str) -> list[str]:
    ends = zip(candidates[low], candidates[high], strict=True)
    return [
        "–" if math.isnan(bottom) or math.isnan(top) else f"{bottom:+.4f} to {top:+.4f}"
        for bottom, top in ends
    ]
