"""Decisions by a threshold: who is called positive, what the errors cost, who changes side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from hetcal.arrays import Floats
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.metrics.ranking import RankedClass, rank_classes

GRID = np.linspace(0.0, 1.0, 501)


@dataclass(frozen=True)
class Costs:
    """What an error costs, in any unit."""

    false_alarm: float = 1.0  # a negative row is called positive
    miss: float = 1.0  # a positive row is not

    @property
    def threshold(self) -> float:
        """The cheapest threshold if probabilities are right: there both errors cost the same.

        >>> Costs(false_alarm=1, miss=4).threshold
        0.2
        """
        total = self.false_alarm + self.miss
        return self.false_alarm / total if total else 0.5


@dataclass(frozen=True)
class CostCurve:
    """The mean cost of a row against the threshold."""

    name: str  # what was scored, for the legend
    threshold: Floats  # rows with at least this probability are called positive
    cost: Floats
    cheapest: float  # the threshold with the lowest cost, and what it costs
    lowest: float
    rows: int


def cost_curve(name: str, cells: Cells, costs: Costs) -> CostCurve:
    """Compute the cost at thresholds in even steps, and the cheapest of all thresholds.

    Of thresholds that cost the same the highest is taken. It lies halfway between the
    probabilities of the rows above and below it; at 1 no row is called positive, at 0 every row.
    """
    classes = cells.cached(_classes)
    scores = np.unique(np.concatenate([each.scores for each in classes]))[::-1]
    edges = np.concatenate([[np.inf], scores])
    found = _cost(*_errors(classes, edges), classes, costs)
    at = int(np.argmin(found))
    above, below = expit(np.append(edges, -np.inf)[at : at + 2])
    cheapest = above if at == 0 else below if at == scores.size else (above + below) / 2
    return CostCurve(
        name,
        GRID,
        _cost(*_errors(classes, logit(GRID)), classes, costs),
        float(cheapest),
        float(found[at]),
        int(cells.rows.sum()),
    )


def decision_table(
    schemes: Mapping[str, Cells], thresholds: Mapping[str, float], costs: Costs
) -> pd.DataFrame:
    """Count who is called positive.

    Parameters
    ----------
    schemes : mapping
        The same rows as scored by each scheme.
    thresholds : mapping
        For each scheme; rows with at least this probability are called positive.
    costs : Costs
        Of the errors.

    Returns
    -------
    DataFrame
        One row per scheme: `scored`, `threshold`, the weights `true_positives`, `false_positives`,
        `false_negatives`, `true_negatives`, then `precision`, `recall` (NaN where nobody is called
        positive, or is), `cost` (mean of a row).
    """
    rows = []
    for name, cells in schemes.items():
        classes = cells.cached(_classes)
        positive, negative = classes
        alarms, misses = _errors(classes, logit(np.array([thresholds[name]])))
        cost = _cost(alarms, misses, classes, costs)
        false, missed = float(alarms[0]), float(misses[0])
        true = positive.total - missed
        called = true + false
        rows.append(
            (
                name,
                thresholds[name],
                true,
                false,
                missed,
                negative.total - false,
                true / called if called else np.nan,
                true / positive.total if positive.total else np.nan,
                float(cost[0]),
            )
        )
    return pd.DataFrame(rows, columns=list(DECISION_COLUMNS))


DECISION_COLUMNS = (
    "scored",
    "threshold",
    "true_positives",
    "false_positives",
    "false_negatives",
    "true_negatives",
    "precision",
    "recall",
    "cost",
)


def changed_sides(
    before: Cells, after: Cells, threshold: float, leaves: Sequence[int]
) -> pd.DataFrame:
    """Count the rows that are on the other side of a threshold after calibration.

    `before` and `after` are the same cells.

    Returns
    -------
    DataFrame
        One row for all rows (leaf 0) and for each leaf: `leaf`, the rows that are newly called
        positive, `raised` (label 1) and `raised_wrongly` (label 0), and those that are no longer,
        `lowered` (label 0) and `lowered_wrongly` (label 1).
    """
    edge = logit(threshold)
    was, now, one = before.centre >= edge, after.centre >= edge, before.y == 1
    place = leaf_positions(before.leaf, leaves)
    moves = {
        "raised": ~was & now & one,
        "raised_wrongly": ~was & now & ~one,
        "lowered": was & ~now & ~one,
        "lowered_wrongly": was & ~now & one,
    }
    columns: dict[str, object] = {"leaf": [0, *leaves]}
    for name, moved in moves.items():
        inside = moved & (place >= 0)
        count = np.bincount(place[inside], before.rows[inside], len(leaves)).astype(np.int64)
        columns[name] = [int(before.rows[moved].sum()), *count]
    return pd.DataFrame(columns)


MOVES = ("raised", "raised_wrongly", "lowered", "lowered_wrongly")


def sides_in_words(sides: pd.DataFrame) -> str:
    """Say how many rows change side, and whether that is right, by what `changed_sides` returns.

    >>> sides_in_words(pd.DataFrame([(0, 3, 1, 2, 0)], columns=["leaf", *MOVES]))
    'Rows that change side: 6. Newly called positive: 4, of which 3 are positive. No longer: 2, of \
which 2 are negative.'
    """
    up, up_wrongly, down, down_wrongly = (int(sides[name].iloc[0]) for name in MOVES)
    raised, lowered = up + up_wrongly, down + down_wrongly
    if not raised + lowered:
        return "At this threshold no row changes side."
    return (
        f"Rows that change side: {raised + lowered:,}. Newly called positive: {raised:,}, of which "
        f"{up:,} are positive. No longer: {lowered:,}, of which {down:,} are negative."
    )


def _classes(cells: Cells) -> tuple[RankedClass, RankedClass]:
    return rank_classes(cells.y, cells.centre, cells.given_weight)


def _errors(classes: tuple[RankedClass, RankedClass], scores: Floats) -> tuple[Floats, Floats]:
    """Return the weights of false alarms and of misses at each threshold of the logit."""
    positive, negative = classes
    return negative.at_or_above(scores), positive.total - positive.at_or_above(scores)


def _cost(
    alarms: Floats, misses: Floats, classes: tuple[RankedClass, RankedClass], costs: Costs
) -> Floats:
    total = sum(each.total for each in classes)
    return (costs.false_alarm * alarms + costs.miss * misses) / total
