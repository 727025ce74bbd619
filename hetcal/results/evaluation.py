"""What calibration changed on the test rows, overall and leaf by leaf."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, LeafMap
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.data.scores import to_logits
from hetcal.data.splits import count_groups
from hetcal.metrics.classes import (
    ClassMetrics,
    class_lifts,
    class_table,
    macro_lift,
    measure_classes,
    top_label_curve,
)
from hetcal.metrics.curves import ReliabilityCurve
from hetcal.metrics.delong import Lift, Ranks, lift_of_ranks
from hetcal.metrics.metrics import (
    LossChange,
    Metrics,
    loss_change,
    loss_of_rows,
    mean_fall,
    measure_cells,
)
from hetcal.results.contributions import lift_contributions


def leaf_counts(cells: Cells, leaves: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the number of rows in each leaf, and of those with label 1."""
    position = leaf_positions(cells.leaf, leaves)
    rows, positives = (
        np.bincount(position[side], cells.rows[side], len(leaves)).astype(np.int64)
        for side in (position >= 0, (position >= 0) & (cells.y == 1))
    )
    return rows, positives


def leaf_losses(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return the log-loss in each leaf; NaN without rows."""
    position = leaf_positions(cells.leaf, leaves)
    there = position >= 0
    loss = cells.weight * loss_of_rows(cells.y, cells.score)
    return _share(*(_sums(position[there], each[there], leaves) for each in (loss, cells.weight)))


def leaf_areas(cells: Cells, leaves: Sequence[int]) -> Floats:
    """Return the AUC in each leaf, ties counting half; NaN with one class only."""
    position = leaf_positions(cells.leaf, leaves)
    order = cells.order[position[cells.order] >= 0]
    order = order[np.argsort(position[order].astype(np.int32), kind="stable")]
    if not order.size:
        return np.full(len(leaves), np.nan)
    place, centre, weight = position[order], cells.centre[order], cells.weight[order]
    one = cells.y[order] == 1
    new = (place[1:] != place[:-1]) | (centre[1:] != centre[:-1])
    first = np.flatnonzero(np.append(True, new))  # of cells of one leaf that are tied
    zeros, ones = (np.add.reduceat(np.where(side, weight, 0.0), first) for side in (~one, one))
    place = place[first]
    all_zeros, all_ones = (_sums(place, each, leaves) for each in (zeros, ones))
    # Shares, for the weights of other leaves may be beyond comparison.
    zeros = zeros / np.where(all_zeros > 0, all_zeros, 1.0)[place]
    start = np.searchsorted(place, np.arange(len(leaves)))
    passed = np.append(0.0, np.cumsum(zeros))
    below = passed[:-1] - passed[start][place] + zeros / 2
    both = np.where(all_zeros > 0, all_ones, 0.0)
    return _share(_sums(place, ones * below, leaves), both)


def _sums(position: Ints, values: Floats, leaves: Sequence[int]) -> Floats:
    return np.bincount(position, values, len(leaves)).astype(np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0)


UNKNOWN_LOSS = LossChange(*[math.nan] * 4)


@dataclass(frozen=True)
class Comparison:
    """The same cells with the logits of four schemes, and what the model has to do with them."""

    before: Cells  # the uncalibrated model
    pooled: Cells  # one map for all rows
    tree: Cells  # the tree alone: every row has the rate of its leaf
    after: Cells  # heterogeneous calibration
    without: Cells | None = None  # the same scheme without the model; None where it is not known
    centred: Cells | None = None  # the scheme applied to the mean score in place of every own one


def score_four_schemes(test: Cells, calibration: Cells, calibrator: LeafCalibrator) -> Comparison:
    """Score test cells; the rates of the tree alone are those of the calibration cells.

    Only `after` depends on the maps of the leaves; the others are cached.
    """
    tree, mean = test.cached(_TreeAlone(calibration)), test.cached(_mean_score)
    return Comparison(
        before=test,
        pooled=test.cached(_PooledScheme(calibrator.pooled_)),
        tree=tree,
        after=test.mapped(calibrator.predict_logit),
        without=tree,
        centred=test.mapped(lambda _, leaf: calibrator.predict_logit(mean, leaf)),
    )


def _mean_score(cells: Cells) -> Floats:
    """Return the mean score of all rows, for every cell."""
    return np.full(cells.score.size, np.average(cells.score, weights=cells.weight))


@dataclass(frozen=True)
class _PooledScheme:
    pooled: LeafMap

    def __call__(self, test: Cells) -> Cells:
        return test.mapped(lambda scores, _: self.pooled.logit(scores))


@dataclass(frozen=True)
class _TreeAlone:
    calibration: Cells

    def __call__(self, test: Cells) -> Cells:
        return test.mapped(lambda _, leaf: tree_alone(self.calibration, leaf))


def tree_alone(calibration: Cells, leaf: Ints) -> Floats:
    """Logit of each leaf's rate: the paper's map with slope 0.

    The rates are those of the calibration rows, as in Section 5.2; a leaf without
    calibration rows has the rate of them all. A leaf of one class counts half a row of
    the other, for no rate is certain.
    """
    inside, weight = calibration.leaf, calibration.weight
    size = 1 + max(int(leaf.max(initial=0)), int(inside.max(initial=0)))
    total = np.bincount(inside, weight, size)
    positive = np.bincount(inside, weight * calibration.y, size)
    rows = np.bincount(inside, calibration.rows, size)
    overall = positive.sum() / total.sum()
    rate = np.divide(positive, total, out=np.full(size, overall), where=total > 0)
    half = np.divide(0.5, rows, out=np.zeros(size), where=rows > 0)
    return to_logits(np.clip(rate, half, 1 - half))[leaf]


def class_rates(calibration: tuple[Ints, Ints, Floats | None], leaf: Ints, classes: int) -> Floats:
    """Return the log-probabilities of the tree alone, for more than two classes.

    `calibration` holds class numbers, leaves and weights. Rates are as in `tree_alone`: a class
    without rows in a leaf counts half a row there.
    """
    y, inside, weight = calibration
    size = 1 + max(int(leaf.max(initial=0)), int(inside.max(initial=0)))
    place, cells = inside * classes + y, size * classes
    mass = np.bincount(place, weight, cells).reshape(size, classes).astype(np.float64)
    mass[mass.sum(axis=1) == 0] = mass.sum(axis=0)
    rows = np.bincount(inside, minlength=size)[:, None]
    rate = mass / mass.sum(axis=1, keepdims=True)
    rate = np.maximum(rate, 0.5 / np.where(rows > 0, rows, y.size))
    return np.log(rate / rate.sum(axis=1, keepdims=True))[leaf]


def network_share(after: Floats, centred: Floats, weight: Floats | None = None) -> float:
    """Return the share of the variance of the final logits that is the model's, from 0 to 1.

    The model's part of a logit is what changes if the row gets the mean score in place of its own:
    `after - centred`. Its share is `cov(part, after) / var(after)`; NaN if all logits are equal.
    Log-probabilities of several classes are taken from their mean over the classes.

    Examples
    --------
    >>> network_share(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.0, 2.0, 2.0]))
    0.2
    """
    if after.ndim == 2:
        after, centred = (each - each.mean(axis=1, keepdims=True) for each in (after, centred))
    with np.errstate(over="ignore", invalid="ignore"):
        part = after - centred
        part, whole = (each - np.average(each, axis=0, weights=weight) for each in (part, after))
        shared, total = (
            float(np.average(each * whole, axis=0, weights=weight).sum()) for each in (part, whole)
        )
    return min(max(shared / total, 0.0), 1.0) if total > 0 else math.nan


@dataclass(frozen=True)
class ByClass:
    """What calibration changed for more than two classes."""

    table: pd.DataFrame  # one row per class, see `hetcal.metrics.classes.class_table`
    top_label: tuple[ReliabilityCurve, ...]  # of the most probable class, before and after


@dataclass(frozen=True)
class Evaluation:
    """What calibration changed on the test rows.

    Parameters
    ----------
    before : Metrics or ClassMetrics
        The uncalibrated model.
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
        Number of groups of the test rows, which intervals allow for; None if rows are independent.
    by_class : ByClass or None
        What changed class by class, where there are more than two.
    without : Metrics, ClassMetrics or None
        The same scheme without the model: fitted with a constant score, or the tree alone. None
        where it is not known.
    network_adds : Lift or None
        AUC of `after` against `without`.
    network_share : float
        Share of the variance of the final logit that is the model's, see `network_share`.
    loss : LossChange
        How much lower the log-loss of `after` is than that of `before`.
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
    without: Metrics | ClassMetrics | None = None
    network_adds: Lift | None = None
    network_share: float = math.nan
    loss: LossChange = UNKNOWN_LOSS


def evaluate(
    comparison: Comparison, leaves: Sequence[int], group: Groups | None = None
) -> Evaluation:
    """Compare four logits of the same test rows, or of the same cells of a sketch.

    Parameters
    ----------
    comparison : Comparison
        The test rows with the logits of the four schemes, see `score_four_schemes`.
    leaves : sequence of int
        Ids of all leaves, also of those without test rows.
    group : array, optional
        Group of each test row: those of one group are not independent.
    """
    before, after, without = comparison.before, comparison.after, comparison.without
    centred, share = comparison.centred, math.nan
    if centred is not None:
        share = network_share(after.score, centred.score, after.given_weight)
    return Evaluation(
        before=before.cached(measure_cells),
        pooled=comparison.pooled.cached(measure_cells),
        tree=comparison.tree.cached(measure_cells),
        after=measure_cells(after),
        lift=lift_of_cells(before, after, group),
        leaves=evaluate_leaves(before, after, leaves, group),
        rows=int(before.rows.sum()),
        sketched=before.sketched,
        groups=count_groups(group),
        without=None if without is None else without.cached(measure_cells),
        network_adds=None if without is None else lift_of_cells(without, after, group),
        network_share=share,
        loss=loss_change(before, after, group),
    )


@dataclass(frozen=True, eq=False)
class Controls:
    """What the test rows would get if the model did not know them."""

    without: Floats  # logits, or log-probabilities, of the same scheme without the model
    centred: Floats  # of the scheme applied to the mean score in place of every own one


def evaluate_classes(
    names: tuple[str, ...],
    y: Ints,
    logs: tuple[Floats, Floats, Floats],
    controls: Controls,
    weight: Floats | None = None,
    group: Groups | None = None,
) -> Evaluation:
    """Compare the log-probabilities of more than two classes on the same test rows.

    `y` holds class numbers, `logs` arrays of rows x classes: before calibration, by one map for
    all rows, and after.
    """
    before, pooled, after = logs
    own = np.arange(y.size), y
    lifts = class_lifts(y, before, after, weight, group)
    schemes = {"before": before, "after": after}
    curves = [top_label_curve(name, y, each, weight) for name, each in schemes.items()]
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
        without=measure_classes(y, controls.without, weight),
        network_adds=macro_lift(y, controls.without, after, weight, group),
        network_share=network_share(after, controls.centred, weight),
        loss=mean_fall(after[own] - before[own], weight, group=group),
    )


def lift_of_cells(before: Cells, after: Cells, group: Groups | None = None) -> Lift:
    """Compare the AUC of the same cells before and after."""
    was, now = before.cached(_ranks), after.cached(_ranks)
    weights = before.given_weight, before.squares, before.rows
    return lift_of_ranks(before.y, was, now, *weights, group)


def _ranks(cells: Cells) -> Ranks:
    return Ranks.of(cells.y, cells.centre, cells.given_weight)


def metrics_table(evaluation: Evaluation, chosen: str | None = None) -> pd.DataFrame:
    """Compare the schemes: `scheme`, in words, then the fields of `Metrics` or `ClassMetrics`.

    `chosen` says in words what calibrates in place of the maps of the leaves.
    """
    two = evaluation.by_class is None
    schemes = {
        "the model as it is": evaluation.before,
        "one Platt map for all rows" if two else "one map for all rows": evaluation.pooled,
        "the tree alone": evaluation.tree,
        "the same scheme without the model": evaluation.without if chosen else None,
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
        `hetcal.results.contributions.lift_contributions`; NaN where not defined.
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


def measured_ladder(evaluation: Evaluation, name: str, words: str, numbers: int) -> pd.DataFrame:
    """List the model as it is and one scheme of leaf maps, as measured on the test rows.

    The columns are those of `hetcal.schemes.choice.candidate_table`; what is not known is NaN.
    """
    lift, adds, loss = evaluation.lift, evaluation.network_adds, evaluation.loss
    first = {
        "name": "identity",
        "words": "leave the model as it is",
        "kind": "none",
        "auc": lift.before,
        **dict.fromkeys(("lift", "se", "low", "high"), 0.0),
        "without": 0.5 - lift.before,
        "adds": lift.before - 0.5,
        **dict.fromkeys(("adds_low", "adds_high", "adds_p"), math.nan),
        "log_loss": evaluation.before.log_loss,
        **dict.fromkeys(("loss_fall", "loss_se"), 0.0),
        "strength": math.nan,
        "numbers": 0,
        "seconds": math.nan,
        "rows": evaluation.rows,
        "allowed": True,
        "chosen": False,
    }
    second = first | {
        "name": name,
        "words": words,
        "kind": "calibration",
        "auc": lift.after,
        "lift": lift.auc,
        "se": lift.se,
        "low": lift.low,
        "high": lift.high,
        "without": math.nan if adds is None else adds.before - lift.before,
        "adds": math.nan if adds is None else adds.auc,
        "adds_low": math.nan if adds is None else adds.low,
        "adds_high": math.nan if adds is None else adds.high,
        "adds_p": math.nan if adds is None else adds.p,
        "log_loss": evaluation.after.log_loss,
        "loss_fall": loss.fall,
        "loss_se": loss.se,
        "numbers": numbers,
        "chosen": True,
    }
    return pd.DataFrame([first, second])


def mean_probabilities(
    roles: Sequence[str],
    y: Sequence[Labels],
    logits: Sequence[tuple[Floats, Floats]],
    weights: Sequence[Floats | None],
) -> pd.DataFrame:
    """Compare the mean probability with the rate of positive rows, role by role.

    Where they differ after calibration, the rows of that role are not like those that the maps
    were fitted on.

    Parameters
    ----------
    roles : sequence of str
        Their names.
    y, logits, weights : sequences
        For each role the labels, the logits before and after, and the weights of its rows.

    Returns
    -------
    DataFrame
        `role`, `rows`, `rate`, `before` and `after` (mean probabilities); NaN without rows.
    """
    found = []
    for role, label, (before, after), weight in zip(roles, y, logits, weights, strict=True):
        w = np.ones(len(label)) if weight is None else weight
        total = w.sum()
        means = [
            float(w @ each / total) if total else math.nan
            for each in (label, expit(before), expit(after))
        ]
        found.append((role, len(label), *means))
    return pd.DataFrame(found, columns=["role", "rows", "rate", "before", "after"])
