"""The curves of the test rows before and after calibration, and points on them."""

from dataclasses import dataclass

from hetcal.cells import Cells
from hetcal.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from hetcal.evaluation import Evaluation
from hetcal.operating_points import OperatingPoint, point_of_rate
from hetcal.ranking import RankedClass, rank_classes
from hetcal.reliability import ReliabilityCurve, reliability_curve
from hetcal.ways import Ways


@dataclass(frozen=True)
class Curves:
    """The curves of the test rows; each pair is before and after."""

    roc: tuple[RocCurve, ...]
    precision_recall: tuple[PrecisionRecallCurve, ...]
    reliability: tuple[ReliabilityCurve, ...]


def result_curves(ways: Ways, evaluation: Evaluation) -> Curves:
    """Draw up all curves; their areas are those of the evaluation."""
    pairs = (
        ("before", ways.before, evaluation.before),
        ("after", ways.after, evaluation.after),
    )
    return Curves(
        roc=tuple(roc_curve(name, cells, found.auc) for name, cells, found in pairs),
        precision_recall=tuple(
            precision_recall_curve(name, cells, found.average_precision)
            for name, cells, found in pairs
        ),
        reliability=tuple(reliability_curve(name, cells) for name, cells, _ in pairs),
    )


def points_of_rate(ways: Ways, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
    """Return the points before and after with this false positive rate.

    Rows of a cell are tied at its centre, so that the points lie on the curves.
    """
    before, after = (
        point_of_rate(*cells.once(_ranked), rate) for cells in (ways.before, ways.after)
    )
    return before, after


def _ranked(cells: Cells) -> tuple[RankedClass, RankedClass]:
    return rank_classes(cells.y, cells.centre, cells.given_weight)
