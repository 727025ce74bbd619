"""The curves of the test rows before and after calibration, and points on them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hetcal.cells.cells import Cells
from hetcal.metrics.classes import ClassMetrics
from hetcal.metrics.curves import (
    OperatingPoint,
    PrecisionRecallCurve,
    ReliabilityCurve,
    RocCurve,
    at_false_positive_rate,
    reliability_curve,
    threshold_curves,
)
from hetcal.metrics.metrics import CALIBRATION_BINS, Metrics, auc, measure_cells
from hetcal.results.evaluation import Comparison, Evaluation

RARER = 15  # rows of the rarer class of a leaf for each bin of its reliability
FEWEST_BINS = 3


@dataclass(frozen=True)
class Curves:
    """The curves of the test rows; each pair is before and after."""

    roc: tuple[RocCurve, ...]
    precision_recall: tuple[PrecisionRecallCurve, ...]
    reliability: tuple[ReliabilityCurve, ...]


def result_curves(comparison: Comparison, evaluation: Evaluation) -> Curves:
    """Compute all curves of two classes; their areas are those of the evaluation."""
    if isinstance(evaluation.before, ClassMetrics) or isinstance(evaluation.after, ClassMetrics):
        raise TypeError("curves of more than two classes are drawn one by one")
    before = comparison.before.cached(_CurvesOf("before", evaluation.before))
    after = comparison.after.cached(_CurvesOf("after", evaluation.after))
    return _together(before, after)


def inside_leaves(comparison: Comparison, leaves: Collection[int]) -> Comparison:
    """Return the rows of some leaves with the logits of the four schemes."""
    inside = np.isin(comparison.before.leaf, list(leaves))
    schemes = comparison.before, comparison.pooled, comparison.tree, comparison.after
    return Comparison(*(each.chosen(inside) for each in schemes))


def leaf_curves(comparison: Comparison, leaves: Collection[int]) -> Curves:
    """Compute the curves of the rows of some leaves together.

    Rows of one class have no curves of thresholds, and leaves without rows have no curves.
    Reliability has fewer bins where the rarer class has few rows.
    """
    own = inside_leaves(comparison, leaves)
    named = {"before": own.before, "after": own.after}
    rows = np.bincount(own.before.y, own.before.rows, 2)
    if not rows.any():
        return Curves((), (), ())
    reliability = group_reliability(own.before, own.after)
    if not rows.all():
        return Curves((), (), reliability)
    before, after = (_CurvesOf(name, measure_cells(each))(each) for name, each in named.items())
    return replace(_together(before, after), reliability=reliability)


def group_reliability(before: Cells, after: Cells) -> tuple[ReliabilityCurve, ...]:
    """Compare predicted and observed rates, in fewer bins where the rarer class has few rows."""
    rarer = np.bincount(before.y, before.rows, 2).min()
    bins = int(np.clip(rarer // RARER, FEWEST_BINS, CALIBRATION_BINS))
    named = (("before", before), ("after", after))
    return tuple(reliability_curve(name, each, bins=bins) for name, each in named)


def _together(before: Curves, after: Curves) -> Curves:
    return Curves(
        roc=before.roc + after.roc,
        precision_recall=before.precision_recall + after.precision_recall,
        reliability=before.reliability + after.reliability,
    )


@dataclass(frozen=True)
class _CurvesOf:
    """Computes the curves of one scheme; those before calibration stay when maps change."""

    name: str
    found: Metrics

    def __call__(self, cells: Cells) -> Curves:
        areas = self.found.auc, self.found.average_precision
        roc, precision_recall = threshold_curves(self.name, cells, *areas)
        return Curves((roc,), (precision_recall,), (reliability_curve(self.name, cells),))


def rate_weights(comparison: Comparison) -> pd.DataFrame:
    """Return the AUC if the logit of its leaf's rate is added to each score.

    Returns
    -------
    DataFrame
        `weight` of the logit of the rate, from 0, the model as it is; `auc`.
    """
    before, rate = comparison.before, comparison.tree.centre
    weights = np.arange(0, 2.01, 0.1)
    areas = [auc(before.y, before.centre + each * rate, before.given_weight) for each in weights]
    return pd.DataFrame({"weight": weights, "auc": areas})


def points_of_rate(comparison: Comparison, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
    """Return the points before and after with this false positive rate.

    Rows of a cell are tied at its centre, so that the points lie on the curves.
    """
    before, after = (
        at_false_positive_rate(each.y, each.centre, rate, each.given_weight)
        for each in (comparison.before, comparison.after)
    )
    return before, after
