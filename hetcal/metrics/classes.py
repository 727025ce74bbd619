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
from hetcal.metrics.delong import Lift, error_of, lift_between, paired_delong, placements
from hetcal.metrics.metrics import auc, calibration_error
from hetcal.metrics.ranking import mean_influence

# A probability of one is pulled in as far as double precision can tell it from one.
SUREST = 1 - 2.0**-52


@dataclass(frozen=True)
class ClassMetrics:
    """The measures that ways of scoring are compared by.

    Parameters
    ----------
    macro_auc : float
        Mean over the classes of the AUC of its probability, the class against the rest.
    log_loss : float
        Mean negative log-likelihood, in nats.
    accuracy : float
        Share of rows whose most probable class is theirs.
    top_label_error : float
        Root mean squared gap of the largest probability and the share of right top labels,
        over equal-mass bins.
    """

    macro_auc: float
    log_loss: float
    accuracy: float
    top_label_error: float


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
    """Tell for each row whether its most probable class is right, and the logit of how sure."""
    top = logs.argmax(axis=1)
    sure = np.exp(logs[np.arange(top.size), top])
    return (top == y).astype(np.int64), logit(np.minimum(sure, SUREST))


def top_label_curve(
    name: str, y: Ints, logs: Floats, weight: Floats | None = None
) -> ReliabilityCurve:
    """Compare how sure of their top label rows are with how often it is right."""
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
    influence, group = influence[w > 0], None if group is None else group[w > 0]
    return lift_between(before_area, after_area, error_of(influence, group) / len(classes))


def class_table(names: tuple[str, ...], y: Ints, lifts: tuple[Lift, ...]) -> pd.DataFrame:
    """List the classes.

    Returns
    -------
    DataFrame
        `class`, `rows`, `auc_before`, `auc_after`, `lift`, `low`, `high` (95 % interval), `p`.
    """
    return pd.DataFrame(
        {
            "class": names,
            "rows": np.bincount(y, minlength=len(names)),
            "auc_before": [each.before for each in lifts],
            "auc_after": [each.after for each in lifts],
            "lift": [each.auc for each in lifts],
            "low": [each.low for each in lifts],
            "high": [each.high for each in lifts],
            "p": [each.p for each in lifts],
        }
    )
