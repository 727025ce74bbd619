"""Numbers from cells are believed while they are surer than the data itself.

A number from cells has a proven bound of its error. It stands while that is below the number's
standard error; otherwise the rows are asked.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from hetcal.arrays import Floats
from hetcal.bounds import bounded_metrics, calibration_bins
from hetcal.cells import Cells
from hetcal.checked_leaves import checked_leaves
from hetcal.delong import Lift, lift_between, lift_of
from hetcal.evaluation import Errors, Evaluation
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_map import are_straight
from hetcal.lift_bounds import lift_se_bound
from hetcal.metrics import Metrics
from hetcal.rank_bounds import balanced_influence, rank_cells
from hetcal.rank_statistics import class_variance
from hetcal.ranking import Labels
from hetcal.row_answers import RowAnswers, RowWay
from hetcal.sigmoid import sigmoid
from hetcal.stratified import count_groups
from hetcal.ways import Ways

ORDER = (
    "auc",
    "average_precision",
    "balanced_precision_area",
)  # what follows from the order of the rows alone
MOST_OF_SE = 0.1  # that a standard error may be off by, being an estimate itself
NAMES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "balanced_precision_area": "PR-AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "calibration_error_debiased": "debiased calibration error",
}


@dataclass(frozen=True)
class Checked:
    """Measures, how far each is off at most (0 for those of rows), and which are too far off."""

    values: Metrics
    errors: Metrics
    wide: frozenset[str] = frozenset()


def evaluate_sketch(
    ways: Ways,
    rows: RowAnswers | None,
    calibrator: LeafCalibrator,
    measured: Collection[str] = (),
) -> Evaluation:
    """Compare four logits of the same cells, and ask the rows where cells are too coarse.

    The bounds of all that does not follow from the order of the rows take the mean score of a
    cell to be mapped to the mean of its logits. So the rows are asked wherever the maps are not
    straight lines.

    Parameters
    ----------
    ways : Ways
        The test cells.
    rows : RowAnswers or None
        The test rows, asked only if they are needed; None if they are not at hand.
    calibrator : LeafCalibrator
        What the ways were made with.
    measured : collection of str, optional
        Ways whose mean scores are those of their rows, whatever the maps.
    """
    lift = _lift(ways.before, ways.after)
    se, se_off = _checked_se(ways, lift.se, rows, calibrator)
    before, after = (each.once(rank_cells).auc for each in (ways.before, ways.after))
    doubt_order = (after - before).error >= se
    straight = {"pooled": are_straight([calibrator.pooled_]), "after": calibrator.straight}
    bent = {way for way, is_straight in straight.items() if not is_straight} - set(measured)
    checked = {}
    for name, cells in vars(ways).items():
        found = told_by_cells(cells, name in bent)
        if rows is not None:
            checked[name] = asked(found, RowWay(rows, name, calibrator), doubt_order)
        else:
            checked[name] = replace(found, wide=found.wide | {"auc"}) if doubt_order else found
    leaves, in_leaves = checked_leaves(ways, rows, calibrator, "after" in bent)
    areas = checked["before"].values.auc, checked["after"].values.auc
    errors = {name: each.errors for name, each in checked.items()}
    wide = [name for name in NAMES if any(name in each.wide for each in checked.values())]
    if se_off >= MOST_OF_SE * se > 0:
        wide.append("lift_se")
    return Evaluation(
        **{name: each.values for name, each in checked.items()},
        lift=lift_between(*areas, se),
        leaves=leaves,
        rows=int(ways.before.rows.sum()),
        groups=None if rows is None else count_groups(rows.group),
        errors=Errors(
            **errors,
            lift=errors["before"].auc + errors["after"].auc,
            lift_se=se_off,
            leaves=in_leaves,
            wide=tuple(wide),
        ),
    )


def check(cells: Cells, rows: RowWay, doubt_order: bool = False) -> Checked:
    """Measure cells, or their rows where a bound is not below its standard error."""
    return asked(told_by_cells(cells), rows, doubt_order)


def told_by_cells(cells: Cells, bent: bool = False) -> Checked:
    """Measure cells; where maps are bent, only what follows from the order has a bound."""
    bounded, ses = cells.once(bounded_metrics), cells.once(standard_errors)
    values = Metrics(**{name: getattr(bounded, name).value for name in NAMES})
    bounds = {
        name: np.inf if bent and name not in ORDER else getattr(bounded, name).error
        for name in NAMES
    }
    wide = {name for name in NAMES if bounds[name] > 0 and not bounds[name] < getattr(ses, name)}
    return Checked(values, Metrics(**bounds), frozenset(wide))


def asked(found: Checked, rows: RowWay, doubt_order: bool) -> Checked:
    """Ask the rows for the measures whose bounds are too wide, or for those of the order."""
    values, errors = found.values, found.errors
    if found.wide - set(ORDER):
        return told_by(rows)
    if found.wide or (doubt_order and any(getattr(errors, name) > 0 for name in ORDER)):
        order = rows.order
        values = replace(values, **{name: getattr(order, name) for name in ORDER})
        errors = replace(errors, **dict.fromkeys(ORDER, 0.0))
    return Checked(values, errors)


def told_by(rows: RowWay) -> Checked:
    """Return the measures of the rows themselves."""
    return Checked(rows.measures, Metrics(*[0.0] * len(NAMES)))


def standard_errors(cells: Cells) -> Metrics:
    """Return the standard error of every measure.

    That of the AUC is DeLong's, and that of the balanced area is found likewise; that of average
    precision is `sqrt(AP (1 - AP) / n)` with `n` positive rows. Log-loss and Brier score are
    means over rows. The calibration error is the length of the vector of gaps and changes no
    faster than a gap does, so its error is taken to be that of the mean gap; for the debiased
    one see `hetcal.bin_gaps`.
    """
    ranks = cells.once(rank_cells)
    one, zero = (np.flatnonzero(cells.y == label) for label in (1, 0))
    sides = [(side, cells.chosen(side)) for side in (one, zero)]
    auc, balanced = (
        sum(_variance(chosen, influence[side]) for side, chosen in sides)
        for influence in (ranks.placed, balanced_influence(cells))
    )
    precision = min(ranks.average_precision.value, 1.0)  # a sum of shares may be rounded up
    worth = np.sum(cells.weight[one]) ** 2 / max(np.sum(cells.squares[one]), 1e-300)
    gap = sigmoid(cells.score) - cells.y
    return Metrics(
        auc=float(np.sqrt(auc)),
        average_precision=float(np.sqrt(precision * (1 - precision) / max(worth, 1.0))),
        balanced_precision_area=float(np.sqrt(balanced)),
        log_loss=float(np.sqrt(_variance(cells, _loss(cells.y, cells.score)))),
        brier=float(np.sqrt(_variance(cells, gap**2))),
        calibration_error=float(np.sqrt(_variance(cells, gap))),
        calibration_error_debiased=calibration_bins(cells).debiased_se if gap.size else np.nan,
    )


def _lift(before: Cells, after: Cells) -> Lift:
    one, other = (each.once(rank_cells).placed for each in (before, after))
    return lift_of(before.y, one, other, before.weight, before.squares, before.rows)


def _checked_se(
    ways: Ways, se: float, rows: RowAnswers | None, calibrator: LeafCalibrator
) -> tuple[float, float]:
    """Return the standard error of the lift, and how far it is off at most.

    Cells do not know the groups of their rows.
    """
    bound = lift_se_bound(ways.before, ways.after)
    doubtful = bound > 0 and bound >= MOST_OF_SE * se
    if rows is not None and (doubtful or rows.group is not None):
        return rows.lift(calibrator).se, 0.0
    return se, bound


def _variance(cells: Cells, values: Floats) -> float:
    return class_variance(values, cells.weight, cells.squares, float(cells.rows.sum()))


def _loss(y: Labels, scores: Floats) -> Floats:
    return np.logaddexp(0, np.where(y == 1, -scores, scores))
