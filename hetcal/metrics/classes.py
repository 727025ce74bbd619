"""How good the probabilities of more than two classes are.

Log-probabilities are arrays of rows x classes, `y` holds class numbers from 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

from hetcal.arrays import Floats, Groups, Ints
from hetcal.cells.cells import Cells
from hetcal.metrics.curves import ReliabilityCurve, reliability_curve
from hetcal.metrics.delong import (
    Lift,
    error_of,
    lift_between,
    paired_delong,
    placements,
    spread_of_parts,
)
from hetcal.metrics.metrics import auc, calibration_error
from hetcal.metrics.ranking import mean_influence

LARGEST_PROBABILITY = 1 - 2.0**-52  # close to one, with a finite logit


@dataclass(frozen=True)
class ClassMetrics:
    """The measures that schemes for more than two classes are compared by."""

    macro_auc: float  # mean over the classes of the AUC of its probability, against the rest
    log_loss: float  # mean negative log-likelihood, in nats
    accuracy: float  # share of rows whose most probable class is theirs
    top_label_error: float  # calibration error of the largest probability


def measure_classes(y: Ints, logs: Floats, weight: Floats | None = None) -> ClassMetrics:
    """Compute every measure of `ClassMetrics`; a class without rows has no AUC."""
    areas = [
        auc((y == each).astype(np.int8), one_against_rest(logs, each), weight)
        for each in range(logs.shape[1])
    ]
    known = [area for area in areas if not np.isnan(area)]
    right, confidence = top_label(y, logs)
    return ClassMetrics(
        macro_auc=float(np.mean(known)) if known else float("nan"),
        log_loss=float(np.average(-logs[np.arange(y.size), y], weights=weight)),
        accuracy=float(np.average(right, weights=weight)),
        top_label_error=calibration_error(right, confidence, weight),
    )


def one_against_rest(logs: Floats, number: int) -> Floats:
    """Return the logit of the probability of one class.

    Computed from the logarithms of the others, so that it is exact where that probability
    is close to one.
    """
    rest = np.delete(logs, number, axis=1)
    most = rest.max(axis=1)
    rest -= most[:, None]
    total = np.exp(rest, out=rest).sum(axis=1)
    return logs[:, number] - (most + np.log(total))


def top_label(y: Ints, logs: Floats) -> tuple[Ints, Floats]:
    """Return whether the most probable class of each row is right, and the logit of it."""
    top = logs.argmax(axis=1)
    confidence = np.exp(logs[np.arange(top.size), top])
    return (top == y).astype(np.int64), logit(np.minimum(confidence, LARGEST_PROBABILITY))


def top_label_curve(
    name: str, y: Ints, logs: Floats, weight: Floats | None = None
) -> ReliabilityCurve:
    """Compare the probability of the most probable class with how often it is right."""
    right, confidence = top_label(y, logs)
    return reliability_curve(name, Cells.of_rows(confidence, right, np.zeros_like(y), weight))


def class_lifts(
    y: Ints,
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    group: Groups | None = None,
) -> tuple[Lift, ...]:
    """Compare the AUC of each class against the rest before and after, with DeLong's test."""
    return tuple(
        paired_delong(
            (y == each).astype(np.int8),
            one_against_rest(before, each),
            one_against_rest(after, each),
            weight,
            group=group,
        )
        for each in range(before.shape[1])
    )


def macro_lift(
    y: Ints,
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    group: Groups | None = None,
) -> Lift:
    """Compare the macro AUC before and after, over the classes that have rows as the rest has.

    All is NaN with one class only.
    """
    mass = np.bincount(y, weight, before.shape[1])
    present = np.flatnonzero((mass > 0) & (mass.sum() - mass > 0)).tolist()
    if not present:
        return Lift(*[float("nan")] * 9)
    placed = [class_placements(y, logs, present, weight) for logs in (before, after)]
    return macro_lift_of(y, present, placed[0], placed[1], weight, group)


def class_placements(
    y: Ints, logs: Floats, classes: Sequence[int], weight: Floats | None = None
) -> Floats:
    """Place every row for each of some classes against the rest, as `delong.placements` does."""
    return np.column_stack(
        [
            placements((y == each).astype(np.int8), one_against_rest(logs, each), weight)
            for each in classes
        ]
    )


def macro_lift_of(
    y: Ints,
    classes: Sequence[int],
    before: Floats,
    after: Floats,
    weight: Floats | None = None,
    group: Groups | None = None,
) -> Lift:
    """Compare the mean AUC of some classes by the placements of the rows for each.

    Its variance is DeLong's: the influence of a row on the AUC of a class is its difference in
    placement, and the influences of a row on all classes are added before they are squared; so
    are those of the rows of one group, which are not independent.
    """
    w = np.ones(y.size) if weight is None else weight
    influence, areas = np.zeros(y.size), np.zeros(2)
    for place, each in enumerate(classes):
        own, moved = y == each, after[:, place] - before[:, place]
        areas += [np.average(placed[own, place], weights=w[own]) for placed in (before, after)]
        for side in (own, ~own):
            influence[side] += mean_influence(moved[side], w[side])
    before_area, after_area = areas / len(classes)
    used = w > 0
    influence, group = influence[used] / len(classes), None if group is None else group[used]
    se = error_of(influence, group)
    return lift_between(before_area, after_area, se, spread_of_parts(influence, y[used], se, group))


def class_table(names: tuple[str, ...], y: Ints, lifts: tuple[Lift, ...]) -> pd.DataFrame:
    """List the classes with their rows, AUCs, lifts, 95 % intervals and p-values."""
    numbers = np.array(
        [(each.before, each.after, each.auc, each.low, each.high, each.p) for each in lifts]
    )
    columns = ["auc_before", "auc_after", "lift", "low", "high", "p"]
    table = pd.DataFrame(numbers, columns=columns)
    table.insert(0, "class", names)
    table.insert(1, "rows", np.bincount(y, minlength=len(names)))
    return table
