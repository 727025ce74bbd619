"""What calibration changed on the test rows, overall and leaf by leaf."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.delong import Lift, lift_of, paired_delong, placements
from hetcal.metrics import Metrics, log_loss, measure, rows_of_leaves
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
    placed = placements(y, before, weight), placements(y, after, weight)
    contribution = lift_contributions(y, placed[1] - placed[0], leaf, leaves, weight)
    return Evaluation(
        before=measure(y, before, weight),
        pooled=measure(y, pooled, weight),
        tree=measure(y, tree, weight),
        after=measure(y, after, weight),
        lift=lift_of(y, *placed, weight),
        leaves=evaluate_leaves(y, before, after, leaf, leaves, weight).assign(
            contribution=contribution
        ),
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
        `se`, `low`, `high`, `p` (of the lift, by paired DeLong), `log_loss_before`,
        `log_loss_after`; NaN where not defined. `Evaluation.leaves` adds `contribution`.
    """
    return pd.DataFrame(
        {"leaf": i}
        | _compare(y[rows], before[rows], after[rows], None if weight is None else weight[rows])
        for i, rows in zip(leaves, rows_of_leaves(leaf, leaves), strict=True)
    )


def lift_contributions(
    y: Labels,
    difference: Floats,
    leaf: Ints,
    leaves: Sequence[int],
    weight: Floats | None = None,
) -> Floats:
    """Divide the lift in AUC among the leaves.

    A pair of a positive and a negative row belongs half to the leaf of the one and half to
    the leaf of the other, so that the contributions of all leaves add up to the lift.

    Parameters
    ----------
    y, leaf, leaves, weight
        As in `evaluate`.
    difference : array
        Placement after minus placement before of each row, see `hetcal.delong.placements`.
    """
    w = np.ones(difference.size) if weight is None else weight
    size = max(int(leaf.max(initial=0)), *leaves, 0) + 1
    halves = np.zeros(size)
    for side in (y == 1, y != 1):
        total = w[side].sum()
        gained = np.bincount(leaf[side], w[side] * difference[side], size)
        halves += gained / (2 * total) if total else np.nan
    return halves[list(leaves)]


def _compare(y: Labels, before: Floats, after: Floats, weight: Floats | None) -> dict[str, float]:
    """Return the columns of `evaluate_leaves` for the rows of one leaf."""
    lift = paired_delong(y, before, after, weight)
    return {
        "rows": y.size,
        "positives": int(np.count_nonzero(y == 1)),
        "auc_before": lift.before,
        "auc_after": lift.after,
        "lift": lift.auc,
        "se": lift.se,
        "low": lift.low,
        "high": lift.high,
        "p": lift.p,
        "log_loss_before": log_loss(y, before, weight),
        "log_loss_after": log_loss(y, after, weight),
    }
