"""What the test rows say where cells are too coarse; the same question is answered once."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from hetcal.cells import Cells
from hetcal.contributions import lift_contributions
from hetcal.delong import Lift
from hetcal.evaluation import lift_of_cells
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.metrics import Metrics, measure_cells, order_of_cells
from hetcal.rank_statistics import RankStatistics
from hetcal.stratified import Groups
from hetcal.ways import score_in


class RowAnswers:
    """The test rows, and what they have answered so far.

    Parameters
    ----------
    make_rows : callable
        Gives the test rows as cells; not called before the first question.
    calibration : Cells
        The calibration rows, or cells of them.
    group : array, optional
        Group of each test row: those of one group are not independent.
    """

    def __init__(
        self,
        make_rows: Callable[[], Cells],
        calibration: Cells,
        group: Groups | None = None,
    ) -> None:
        self._make_rows = make_rows
        self._calibration = calibration
        self.group = group
        self._kept: dict[Hashable, Any] = {}

    @cached_property
    def _rows(self) -> Cells:
        return self._make_rows()

    def answer(self, question: Callable[[Cells], Any], way: str, calibrator: LeafCalibrator) -> Any:
        """Put a question to the rows, scored in the way of this name."""
        maps = {"pooled": (calibrator.pooled_,), "after": calibrator.maps_}.get(way, ())
        key = question, way, maps
        if key not in self._kept:
            scored = score_in(way, self._rows, self._calibration, calibrator)
            self._kept[key] = question(scored)
        return self._kept[key]

    def lift(self, calibrator: LeafCalibrator) -> Lift:
        """Compare the AUC of the rows before and after."""
        return self.answer(_Compared(self._rows, self.group, lift_of_cells), "after", calibrator)

    def contributions(self, calibrator: LeafCalibrator, leaves: tuple[int, ...]) -> pd.DataFrame:
        """Divide that lift among the leaves."""
        compared = _Compared(self._rows, self.group, _Shared(leaves))
        return self.answer(compared, "after", calibrator)


@dataclass(frozen=True)
class _Compared:
    """A question about other scores of the same rows."""

    before: Cells
    group: Groups | None = field(compare=False)
    question: Callable[[Cells, Cells, Groups | None], Any]

    def __call__(self, after: Cells) -> Any:
        return self.question(self.before, after, self.group)


@dataclass(frozen=True)
class _Shared:
    """The question for the shares of leaves in the lift."""

    leaves: tuple[int, ...]

    def __call__(self, before: Cells, after: Cells, group: Groups | None) -> pd.DataFrame:
        return lift_contributions(before, after, self.leaves, group)


@dataclass(frozen=True)
class RowWay:
    """The test rows, scored in one way with the maps of a calibrator."""

    rows: RowAnswers
    way: str
    calibrator: LeafCalibrator

    @property
    def order(self) -> RankStatistics:
        """What the order of the rows says."""
        return self.rows.answer(order_of_cells, self.way, self.calibrator)

    @property
    def measures(self) -> Metrics:
        """All measures of the rows."""
        return self.rows.answer(measure_cells, self.way, self.calibrator)
