"""What calibration changed on the test rows, overall and leaf by leaf."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.contributions import lift_contributions
from hetcal.delong import Lift, paired_delong
from hetcal.metrics import Metrics, auc, log_loss, measure, rows_of_leaves
from hetcal.ranking import Labels


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
    """

    before: Metrics
    pooled: Metrics
    tree: Metrics
    after: Metrics
    lift: Lift
    leaves: pd.DataFrame
    rows: int


def evaluate(
    y: Labels,
    before: Floats,
    pooled: Floats,
    tree: Floats,
    after: Floats,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
) -> Evaluation:
    """Compare four logits of the same test rows.

    Parameters
    ----------
    y : array of 0 and 1
        Labels.
    before, pooled, tree, after : array
        Logits of the model, of one map for all rows, of the tree alone, and of the leaf maps.
    leaf : array of int
        Leaf id of each row.
    leaves : sequence of int
        Ids of all leaves, also of those without test rows.
    weight : array, optional
        Row weights.
    """
    return Evaluation(
        before=measure(y, before, weight),
        pooled=measure(y, pooled, weight),
        tree=measure(y, tree, weight),
        after=measure(y, after, weight),
        lift=paired_delong(y, before, after, weight),
        leaves=evaluate_leaves(y, before, after, leaf, leaves, weight),
        rows=int(np.size(y)),
    )


def metrics_table(evaluation: Evaluation) -> pd.DataFrame:
    """Set the four ways side by side.

    Returns
    -------
    DataFrame
        `scheme`, in words, then the fields of `Metrics`.
    """
    schemes = {
        "the model as it is": evaluation.before,
        "one Platt map for all rows": evaluation.pooled,
        "the tree alone": evaluation.tree,
        "heterogeneous calibration": evaluation.after,
    }
    return pd.DataFrame({"scheme": name} | asdict(each) for name, each in schemes.items())


def evaluate_leaves(
    y: Labels,
    before: Floats,
    after: Floats,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
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
    inside = pd.DataFrame(
        {"leaf": i}
        | _compare(y[rows], before[rows], after[rows], None if weight is None else weight[rows])
        for i, rows in zip(leaves, rows_of_leaves(leaf, leaves), strict=True)
    )
    return inside.join(lift_contributions(y, before, after, leaf, leaves, weight))


def _compare(y: Labels, before: Floats, after: Floats, weight: Floats | None) -> dict[str, float]:
    """Return the columns of `evaluate_leaves` for the rows of one leaf."""
    area_before, area_after = auc(y, before, weight), auc(y, after, weight)
    return {
        "rows": y.size,
        "positives": int(np.count_nonzero(y == 1)),
        "auc_before": area_before,
        "auc_after": area_after,
        "lift": area_after - area_before,
        "log_loss_before": log_loss(y, before, weight),
        "log_loss_after": log_loss(y, after, weight),
    }
