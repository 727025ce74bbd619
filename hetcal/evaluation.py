"""What calibration changed on the test rows, overall and leaf by leaf."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.class_metrics import (
    ClassMetrics,
    class_lifts,
    class_table,
    macro_lift,
    measure_classes,
    top_label_curve,
)
from hetcal.contributions import lift_contributions
from hetcal.delong import Lift, paired_delong
from hetcal.leaf_measures import leaf_areas, leaf_counts, leaf_losses
from hetcal.metrics import Metrics, measure_cells
from hetcal.reliability import ReliabilityCurve
from hetcal.stratified import Groups, count_groups
from hetcal.ways import Ways


@dataclass(frozen=True)
class ByClass:
    """What calibration changed for more than two classes.

    Parameters
    ----------
    table : DataFrame
        One row per class, see `hetcal.class_metrics.class_table`.
    top_label : tuple of ReliabilityCurve
        How sure of their top label rows are and how often it is right, before and after.
    """

    table: pd.DataFrame
    top_label: tuple[ReliabilityCurve, ...]


@dataclass(frozen=True)
class Evaluation:
    """What calibration is worth on the test rows.

    Parameters
    ----------
    before : Metrics or ClassMetrics
        The model as it is.
    pooled : Metrics or ClassMetrics
        One map for all rows, for two classes that of Platt.
    tree : Metrics or None
        The tree alone: every row has the rate of its leaf. For two classes only.
    after : Metrics or ClassMetrics
        Heterogeneous calibration.
    lift : Lift
        AUC of `after` against `before`, with more than two classes the macro AUC.
    leaves : DataFrame
        One row per leaf, see `evaluate_leaves`; empty with more than two classes.
    rows : int
        Number of test rows.
    sketched : bool
        Whether the numbers come from a sketch of the rows; if not, they are exact.
    groups : int or None
        Number of groups of the test rows, which intervals count; None if rows are on their own.
    by_class : ByClass or None
        What changed class by class, where there are more than two.
    """

    before: Metrics | ClassMetrics
    pooled: Metrics | ClassMetrics
    tree: Metrics | None
    after: Metrics | ClassMetrics
    lift: Lift
    leaves: pd.DataFrame
    rows: int
    sketched: bool = False
    groups: int | None = None
    by_class: ByClass | None = None


def evaluate(ways: Ways, leaves: Sequence[int], group: Groups | None = None) -> Evaluation:
    """Compare four logits of the same test rows, or of the same cells of a sketch.

    Parameters
    ----------
    ways : Ways
        The test rows.
    leaves : sequence of int
        Ids of all leaves, also of those without test rows.
    group : array, optional
        Group of each test row: those of one group are not independent.
    """
    return Evaluation(
        before=ways.before.once(measure_cells),
        pooled=ways.pooled.once(measure_cells),
        tree=ways.tree.once(measure_cells),
        after=measure_cells(ways.after),
        lift=lift_of_cells(ways.before, ways.after, group),
        leaves=evaluate_leaves(ways.before, ways.after, leaves, group),
        rows=int(ways.before.rows.sum()),
        sketched=ways.before.sketched,
        groups=count_groups(group),
    )


def evaluate_classes(
    names: tuple[str, ...],
    y: Ints,
    logs: tuple[Floats, Floats, Floats],
    weight: Floats | None = None,
    group: Groups | None = None,
) -> Evaluation:
    """Compare the log-probabilities of more than two classes on the same test rows.

    Parameters
    ----------
    names : tuple of str
        The classes.
    y : array of int
        Their numbers.
    logs : tuple of arrays, each rows x classes
        Before calibration, by one map for all rows, and after.
    weight : array, optional
        Row weights.
    group : array, optional
        Group of each test row: those of one group are not independent.
    """
    before, pooled, after = logs
    lifts = class_lifts(y, before, after, weight, group)
    curves = [
        top_label_curve(name, y, each, weight)
        for name, each in (("before", before), ("after", after))
    ]
    return Evaluation(
        before=measure_classes(y, before, weight),
        pooled=measure_classes(y, pooled, weight),
        tree=None,
        after=measure_classes(y, after, weight),
        lift=macro_lift(y, before, after, weight, group),
        leaves=pd.DataFrame(),
        rows=y.size,
        groups=count_groups(group),
        by_class=ByClass(class_table(names, y, lifts), tuple(curves)),
    )


def lift_of_cells(before: Cells, after: Cells, group: Groups | None = None) -> Lift:
    """Compare the AUC of the same cells before and after."""
    weights = before.given_weight, before.squares, before.rows
    return paired_delong(before.y, before.centre, after.centre, *weights, group)


def metrics_table(evaluation: Evaluation, chosen: str | None = None) -> pd.DataFrame:
    """Set the schemes that are compared side by side.

    Parameters
    ----------
    evaluation : Evaluation
        What was measured.
    chosen : str, optional
        What calibrates in place of the maps of the leaves, in words.

    Returns
    -------
    DataFrame
        `scheme`, in words, then the fields of `Metrics` or `ClassMetrics`.
    """
    two = evaluation.by_class is None
    schemes = {
        "the model as it is": evaluation.before,
        "one Platt map for all rows" if two else "one map for all rows": evaluation.pooled,
        "the tree alone": evaluation.tree,
        f"chosen: {chosen}" if chosen else "heterogeneous calibration": evaluation.after,
    }
    return pd.DataFrame(
        {"scheme": name} | asdict(each) for name, each in schemes.items() if each is not None
    )


def evaluate_leaves(
    before: Cells, after: Cells, leaves: Sequence[int], group: Groups | None = None
) -> pd.DataFrame:
    """Compare the logits before and after within each leaf.

    An increasing map leaves the order within a leaf as it is, so the lift there is 0; what a
    leaf gains shows in its log-loss and in its contribution to the overall lift.

    Returns
    -------
    DataFrame
        `leaf`, `rows`, `positives`, `auc_before`, `auc_after`, `lift` (their difference),
        `log_loss_before`, `log_loss_after`, and the columns of
        `hetcal.contributions.lift_contributions`; NaN where not defined.
    """
    rows, positives = leaf_counts(before, leaves)
    areas = [leaf_areas(each, leaves) for each in (before, after)]
    inside = pd.DataFrame(
        {
            "leaf": list(leaves),
            "rows": rows,
            "positives": positives,
            "auc_before": areas[0],
            "auc_after": areas[1],
            "lift": areas[1] - areas[0],
            "log_loss_before": leaf_losses(before, leaves),
            "log_loss_after": leaf_losses(after, leaves),
        }
    )
    return inside.join(lift_contributions(before, after, leaves, group))
