"""What the train or the test rows of each leaf say, from cells as long as they are sure enough."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from hetcal.arrays import Floats
from hetcal.cells import Cells
from hetcal.doubts import Doubt, doubt, judged, probability_doubt, worst
from hetcal.metrics import (
    log_loss,
    mean_confidence_minus_accuracy,
    order_of_cells,
    rows_of_leaves,
)
from hetcal.platt import PlattFit, fit_platt, fit_platt_cells
from hetcal.platt_bounds import platt_bounds
from hetcal.rank_statistics import rank_statistics
from hetcal.ranking import Labels
from hetcal.role_cells import ScoredRows

AskRows = Callable[[int | None], ScoredRows]
"""Gives all rows, or only those in one leaf."""


@dataclass(frozen=True)
class Side:
    """The train or the test rows of a leaf."""

    rows: int
    positives: int
    auc: float
    log_loss: float
    confidence_gap: float
    mean_probability: float
    positive_rate: float
    shift: float  # of the mean probability from the rate of positives, in standard errors


def checked_sides(
    cells: Cells,
    ids: Sequence[int],
    rows: AskRows | None,
    question: Callable[[Cells], Doubt],
) -> Iterator[tuple[Side, Doubt]]:
    """Yield all leaves together and each leaf, with numbers from rows where need be.

    Parameters
    ----------
    cells : Cells
        The train or the test rows.
    ids : sequence of int
        The leaves.
    rows : callable or None
        Gives the rows themselves.
    question : callable
        Tells how far the numbers of cells are off at most.
    """
    leaves = (cells.chosen(inside) for inside in rows_of_leaves(cells.leaf, ids))
    for leaf, group in zip((None, *ids), (cells, *leaves), strict=True):
        side, found = _side(group), question(group)
        if rows is not None and found.wide:
            asked = rows(leaf)
            told: dict[str, Any] = {name: ROW_MEASURES[name](*asked) for name in found.wide}
            side = replace(side, **told)
            found = found.without(found.wide)
        yield side, found


def doubt_of_test(cells: Cells) -> Doubt:
    """Bound all measures of test rows; of train rows only two are looked at, see `doubt`."""
    return worst([doubt(cells), probability_doubt(cells)])


def _side(cells: Cells) -> Side:
    y, s, w, given = cells.y, cells.score, cells.weight, cells.given_weight
    probability = expit(s)
    total = w.sum() if w.any() else np.nan
    excess = float(np.sum(w * (probability - y)))
    doubt = float(np.sqrt(np.sum(cells.squares * probability * (1 - probability))))
    return Side(
        rows=int(cells.rows.sum()),
        positives=int(cells.rows[y == 1].sum()),
        auc=order_of_cells(cells).auc,
        log_loss=log_loss(y, s, given),
        confidence_gap=mean_confidence_minus_accuracy(y, s, given),
        mean_probability=float(np.sum(w * probability) / total),
        positive_rate=float(np.sum(w * y) / total),
        shift=excess / doubt if doubt else 0.0,
    )


def fit_on_test(
    test: Cells, ids: Sequence[int], rows: AskRows | None
) -> tuple[PlattFit, list[Doubt]]:
    """Fit the Platt maps of all test rows (first) and of each leaf, on rows where need be."""
    twice = test.chosen(np.tile(np.arange(test.leaf.size), 2))
    both = replace(twice, leaf=np.append(np.zeros_like(test.leaf), test.leaf))
    fit = fit_platt_cells(both, [0, *ids])
    bounds = zip(*platt_bounds(both, fit, [0, *ids]), strict=True)
    errors = zip(fit.slope_se, fit.intercept_se, strict=True)
    names = "slope", "intercept"
    doubts = [
        judged(dict(zip(names, bound, strict=True)), dict(zip(names, error, strict=True)))
        for bound, error in zip(bounds, errors, strict=True)
    ]
    for i, leaf in enumerate((None, *ids)):
        if rows is not None and doubts[i].wide:
            chosen = np.arange(len(doubts)) == i
            fit, doubts[i] = fit.with_maps(chosen, _row_fit(*rows(leaf))), Doubt()
    return fit, doubts


def _row_fit(y: Labels, scores: Floats, weight: Floats | None) -> PlattFit:
    return fit_platt(scores, y, np.zeros(len(y), dtype=np.int64), [0], weight)


def _auc(y: Labels, scores: Floats, weight: Floats | None) -> float:
    return rank_statistics(y, scores, weight).auc


def _mean_probability(_: Labels, scores: Floats, weight: Floats | None) -> float:
    return float(np.average(expit(scores), weights=weight))


ROW_MEASURES = {
    "auc": _auc,
    "log_loss": log_loss,
    "confidence_gap": mean_confidence_minus_accuracy,
    "mean_probability": _mean_probability,
}
