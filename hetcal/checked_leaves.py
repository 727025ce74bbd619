"""Before and after in every leaf, from cells as long as they are sure enough."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from hetcal.arrays import Floats
from hetcal.cells import Cells
from hetcal.contributions import moved_to
from hetcal.doubts import Doubt, doubt, judged, worst
from hetcal.evaluation import evaluate_leaves
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_measures import leaf_areas, leaf_losses
from hetcal.leaf_shares import leaf_shares
from hetcal.row_answers import RowAnswers
from hetcal.share_bounds import share_bounds
from hetcal.ways import Ways


def checked_leaves(
    ways: Ways, rows: RowAnswers | None, calibrator: LeafCalibrator, bent: bool
) -> tuple[pd.DataFrame, Doubt]:
    """Compare before and after in each leaf, and ask the rows where cells are too coarse.

    Returns
    -------
    DataFrame, Doubt
        As `hetcal.evaluation.evaluate_leaves`, and how far it is off at most.
    """
    ids = tuple(each.leaf for each in calibrator.maps_)
    table = evaluate_leaves(ways.before, ways.after, ids)
    before, after = ways.before.once(_InLeaves(ids)), ways.after.once(_InLeaves(ids, bent))
    left = worst([before, after, _share_doubt(ways, table)])
    if rows is None:
        return table, left

    def told(measure: Callable[[Cells, Sequence[int]], Floats]) -> Iterator[Floats]:
        return (rows.answer(_Measure(measure, ids), way, calibrator) for way in ("before", "after"))

    if "auc" in left.wide:
        was, now = told(leaf_areas)
        table = table.assign(auc_before=was, auc_after=now, lift=now - was)
    if "log_loss" in left.wide:
        was, now = told(leaf_losses)
        table = table.assign(log_loss_before=was, log_loss_after=now)
    if rows.group is not None:  # which cells do not know
        table = table.assign(**rows.contributions(calibrator, ids))
        return table, left.without(left.wide | {"share"})
    if "share" in left.wide:
        was, now = told(leaf_shares)
        table = moved_to(table, now - was)
    return table, left.without(left.wide)


def _share_doubt(ways: Ways, table: pd.DataFrame) -> Doubt:
    """Bound the shares of the lift; their standard errors are those of the cells."""
    bounds = share_bounds(ways.before, ways.after, table["leaf"].tolist())
    pairs = zip(bounds, table["contribution_se"], strict=True)
    return worst([judged({"share": bound}, {"share": se}) for bound, se in pairs if bound])


@dataclass(frozen=True)
class _InLeaves:
    """The question how far the numbers of leaves are off at most."""

    leaves: tuple[int, ...]
    bent: bool = False

    def __call__(self, cells: Cells) -> Doubt:
        return worst([doubt(cells.inside(leaf), self.bent) for leaf in self.leaves])


@dataclass(frozen=True)
class _Measure:
    """A measure of every leaf as a question."""

    measure: Callable[[Cells, Sequence[int]], Floats]
    leaves: tuple[int, ...]

    def __call__(self, cells: Cells) -> Floats:
        return self.measure(cells, self.leaves)
