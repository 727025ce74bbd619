"""How exact numbers from cells are, in words."""

import numpy as np

from hetcal.doubts import COUNTED, rounded_up
from hetcal.evaluation import Errors
from hetcal.exactness import NAMES

EXACT = "All numbers are exact."
IN_LEAVES = {
    "auc": "AUC of a leaf",
    "log_loss": "log-loss of a leaf",
    "share": "share of the lift of a leaf",
}
LIFT_SE = "standard error of the lift"
SHOWN = 1e-4  # the last digit of a number on a page


def exactness(errors: Errors | None) -> str:
    """Say in one sentence how exact the numbers of an evaluation are, by the worst of them."""
    if errors is None:
        return EXACT
    doubtful = ", ".join(_too_coarse(errors))
    overall, inside = (max(each, default=0.0) for each in _sure_bounds(errors))
    if not (doubtful or overall or inside):
        return EXACT
    told = f"no {'other ' if doubtful else ''}measure is off by more than {_digits(overall)}"
    if inside > max(overall, SHOWN):
        told += f", in a leaf by no more than {_digits(inside)}"
    return (
        f"{COUNTED}, too coarse here for {doubtful}; {told}." if doubtful else f"{COUNTED}: {told}."
    )


def exactness_details(errors: Errors | None) -> str:
    """Say of every measure how far it is off at most."""
    if errors is None:
        return EXACT
    largest = _largest(errors)
    bounded = [name for name in NAMES if 0 < largest[name] < np.inf]
    off = [f"{rounded_up(largest[name])} ({NAMES[name]})" for name in bounded]
    exact = [NAMES[key] for key in NAMES if not largest[key] > 0]
    told = f"Computed from cells of rows, off by at most {', '.join(off)}" if off else ""
    binned = sum(name.startswith("calibration_error") for name in bounded)
    if binned:
        told += f", the last {'two ' if binned == 2 else ''}in bins of whole cells"
    told += f"; exact: {', '.join(exact)}." if off and exact else "." if off else ""
    inside = [
        f"{rounded_up(bound)} ({IN_LEAVES[name]})"
        for name, bound in _in_a_leaf(errors).items()
        if 0 < bound < np.inf
    ]
    if errors.lift_se:
        told += f" The {LIFT_SE} is off by at most {rounded_up(errors.lift_se)}."
    told += f" In leaves off by at most {', '.join(inside)}." if inside else ""
    doubtful = ", ".join(_too_coarse(errors))
    if doubtful:
        told += f" Perhaps off by more than a standard error, with no rows to ask: {doubtful}."
    return told.strip() or EXACT


def _largest(errors: Errors) -> dict[str, float]:
    ways = (errors.before, errors.pooled, errors.tree, errors.after)
    return {name: max(getattr(each, name) for each in ways) for name in NAMES}


def _in_a_leaf(errors: Errors) -> dict[str, float]:
    return {name: errors.leaves.of(name) for name in IN_LEAVES}


def _sure_bounds(errors: Errors) -> tuple[list[float], list[float]]:
    """Return the bounds of all that is surer than its standard error, overall and in leaves."""
    overall, inside = _largest(errors).items(), _in_a_leaf(errors).items()
    return (
        [bound for name, bound in overall if name not in errors.wide],
        [bound for name, bound in inside if name not in errors.leaves.wide],
    )


def _digits(bound: float) -> str:
    return rounded_up(max(bound, SHOWN))


def _too_coarse(errors: Errors) -> list[str]:
    inside = [words for name, words in IN_LEAVES.items() if name in errors.leaves.wide]
    return [NAMES.get(each, LIFT_SE) for each in errors.wide] + inside
