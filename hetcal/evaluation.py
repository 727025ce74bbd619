"""What calibration changed on the test rows, overall and leaf by leaf."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from hetcal.cells import Cells
from hetcal.contributions import lift_contributions
from hetcal.delong import Lift, paired_delong
from hetcal.leaf_measures import leaf_areas, leaf_counts, leaf_losses
from hetcal.metrics import Metrics, measure_cells
from hetcal.stratified import Groups, count_groups
from hetcal.ways import Ways


@dataclass(frozen=True)
class Evaluation:
    """The test rows scored in four ways.

    Parameters
    ----------
    before : Metrics
        The model as it is.
    pooled : Metrics
        One Platt map for all rows.
    tree : Metrics
        The tree alone: every row has the rate of its leaf.
    after : Metrics
        Heterogeneous calibration.
    lift : Lift
        AUC of `after` against `before`.
    leaves : DataFrame
        One row per leaf, see `evaluate_leaves`.
    rows : int
        Number of test rows.
    sketched : bool
        Whether the numbers come from a sketch of the rows; if not, they are exact.
    groups : int or None
        Number of groups of the test rows, which intervals count; None if rows are on their own.
    """

    before: Metrics
    pooled: Metrics
    tree: Metrics
    after: Metrics
    lift: Lift
    leaves: pd.DataFrame
    rows: int
    sketched: bool = False
    groups: int | None = None


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


def lift_of_cells(before: Cells, after: Cells, group: Groups | None = None) -> Lift:
    """Compare the AUC of the same cells before and after."""
    weights = before.given_weight, before.squares, before.rows
    return paired_delong(before.y, before.centre, after.centre, *weights, group)


def metrics_table(evaluation: Evaluation, chosen: str | None = None) -> pd.DataFrame:
    """Set the four ways side by side.

    Parameters
    ----------
    evaluation : Evaluation
        What was measured.
    chosen : str, optional
        What calibrates in place of the maps of the leaves, in words.

    Returns
    -------
    DataFrame
        `scheme`, in words, then the fields of `Metrics`.
    """
    schemes = {
        "the model as it is": evaluation.before,
        "one Platt map for all rows": evaluation.pooled,
        "the tree alone": evaluation.tree,
        f"chosen: {chosen}" if chosen else "heterogeneous calibration": evaluation.after,
    }
    return pd.DataFrame({"scheme": name} | asdict(each) for name, each in schemes.items())


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
