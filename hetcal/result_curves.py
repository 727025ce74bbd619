"""The curves of the test rows before and after calibration, and points on them."""

from dataclasses import dataclass, replace

import numpy as np

from hetcal.cells import Cells
from hetcal.curves import PrecisionRecallCurve, RocCurve, threshold_curves
from hetcal.evaluation import Evaluation
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.metrics import Metrics
from hetcal.operating_points import OperatingPoint, at_false_positive_rate
from hetcal.reliability import ReliabilityCurve, reliability_curve
from hetcal.row_answers import RowAnswers
from hetcal.ways import Ways


@dataclass(frozen=True)
class Curves:
    """The curves of the test rows; each pair is before and after."""

    roc: tuple[RocCurve, ...]
    precision_recall: tuple[PrecisionRecallCurve, ...]
    reliability: tuple[ReliabilityCurve, ...]


def result_curves(ways: Ways, evaluation: Evaluation) -> Curves:
    """Compute all curves; their areas are those of the evaluation."""
    before = ways.before.once(_Drawing("before", evaluation.before))
    after = ways.after.once(_Drawing("after", evaluation.after))
    return Curves(
        roc=before.roc + after.roc,
        precision_recall=before.precision_recall + after.precision_recall,
        reliability=before.reliability + after.reliability,
    )


@dataclass(frozen=True)
class _Drawing:
    """The curves of one way; those of the model as it is stay the same when maps change."""

    name: str
    found: Metrics

    def __call__(self, cells: Cells) -> Curves:
        areas = self.found.auc, self.found.average_precision
        roc, precision_recall = threshold_curves(self.name, cells, *areas)
        return Curves((roc,), (precision_recall,), (reliability_curve(self.name, cells),))


def points_of_rate(
    ways: Ways,
    rate: float,
    rows: RowAnswers | None = None,
    calibrator: LeafCalibrator | None = None,
) -> tuple[OperatingPoint, OperatingPoint]:
    """Return the points before and after with this false positive rate.

    Rows of a cell are tied at its centre, so that the points lie on the curves. Where that
    leaves more doubt than chance does, the rows are asked.

    Parameters
    ----------
    ways : Ways
        The test cells.
    rate : float
        The false positive rate.
    rows : RowAnswers, optional
        The test rows.
    calibrator : LeafCalibrator, optional
        What the ways were made with.
    """
    points = []
    for name, cells in (("before", ways.before), ("after", ways.after)):
        point = _PointAt(rate)(cells)
        if point.error and rows is not None and calibrator is not None:
            rate_of_ones, ones = point.true_positive_rate, cells.rows[cells.y == 1].sum()
            if point.error >= np.sqrt(rate_of_ones * (1 - rate_of_ones) / ones):
                point = rows.answer(_PointAt(rate), name, calibrator)
        points.append(point)
    before, after = points
    return before, after


@dataclass(frozen=True)
class _PointAt:
    """The question for the point with a false positive rate."""

    rate: float

    def __call__(self, cells: Cells) -> OperatingPoint:
        y, one = cells.y, cells.y == 1
        point = at_false_positive_rate(y, cells.centre, self.rate, cells.given_weight)
        if cells.given_weight is None or np.array_equal(cells.low, cells.high):
            return point
        # No rate of true positives is higher than with positive rows at the upper ends of
        # their cells and negative ones at the lower ends, and none is lower than vice versa.
        ends = np.where(one, cells.low, cells.high), np.where(one, cells.high, cells.low)
        least, most = (
            at_false_positive_rate(y, each, self.rate, cells.weight).true_positive_rate
            for each in ends
        )
        found = point.true_positive_rate
        return replace(point, error=max(most - found, found - least))
