"""The curves of the test rows before and after calibration."""

from dataclasses import dataclass

from hetcal.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from hetcal.evaluation import Evaluation
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
