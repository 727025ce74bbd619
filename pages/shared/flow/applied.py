"""What is applied to the rows, as pages show it: cached calls into hetcal."""

import numpy as np
import pandas as pd

from hetcal.artifacts.saved_run import SavedRun
from hetcal.cells.cells import Cells
from hetcal.metrics.curves import OperatingPoint
from hetcal.metrics.metrics import (
    LossChange,
    Metrics,
    brier_change,
    loss_change,
    measure_cells,
)
from hetcal.metrics.thresholds import CostCurve, Costs, cost_curve
from hetcal.results.applied import Applied, applied_to_leaves
from hetcal.results.contributions import pair_gains
from hetcal.results.curves import (
    Curves,
    inside_leaves,
    leaf_curves,
    points_of_rate,
    rate_weights,
)
from hetcal.results.evaluation import Comparison
from hetcal.results.plane import leaf_plane, network_to_tree
from hetcal.runs.cohorts import cohort_cells
from hetcal.runs.role_cells import groups_of
from hetcal.runs.rows import explain_row, listed_rows, rows_with, typical_of
from hetcal.runs.run import Run
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import AdditiveStage
from pages.shared.flow.cache import cached
from pages.shared.flow.compute import artifact_of
from pages.shared.flow.flow import Flow
from pages.shared.state import ALL_ROWS


def scheme_of(flow: Flow) -> Scheme | None:
    """Return the scheme that takes the place of leaf maps, for two classes."""
    if flow.classes or flow.choice is None:
        return None
    return flow.choice.scheme if flow.saved is None else artifact_of(flow.saved).scheme


def correction_of(flow: Flow) -> AdditiveStage | None:
    """Return the terms that correct the score, if the scheme is such a correction."""
    scheme = scheme_of(flow)
    stages = () if scheme is None else scheme.stages
    return next((each for each in stages if isinstance(each, AdditiveStage)), None)


def has_maps(flow: Flow) -> bool:
    """Whether each leaf has one map of the score of two classes, which is what is applied."""
    return flow.run.applied and not flow.classes


def applied_of(flow: Flow) -> Applied:
    """Return what is done to the test rows of every leaf."""
    return _applied(_key(flow), flow.run)


def applied_inside(flow: Flow, leaf: int) -> tuple[pd.Series, pd.DataFrame | None]:
    """Return what is done to the test rows of a leaf or branch, or to all; None without rows."""
    found, number = applied_of(flow), leaf
    if leaf < ALL_ROWS:
        found, number = _applied_inside(_key(flow), inside(flow, leaf), leaf), ALL_ROWS
    return found.leaves.set_index("leaf").loc[number], found.maps.get(number)


def curves_inside(flow: Flow, leaf: int) -> Curves:
    """Return the curves of the test rows of a leaf or branch, or of all rows."""
    if leaf == ALL_ROWS:
        return flow.curves
    return _curves(_key(flow), flow.run, flow.partition.members(leaf))


def inside(flow: Flow, leaf: int) -> Comparison:
    """Return the test rows of a leaf or branch, or all, with the logits of the schemes."""
    if leaf == ALL_ROWS:
        return flow.run.comparison
    return _inside(_key(flow), flow.run, flow.partition.members(leaf))


def measures_inside(flow: Flow, leaf: int) -> tuple[Metrics, Metrics]:
    """Return the measures of the test rows of a leaf or branch, before and after."""
    return _measures(_key(flow), inside(flow, leaf), leaf)


def changes_inside(flow: Flow, leaf: int) -> tuple[LossChange, LossChange] | None:
    """Return how log-loss and Brier score of the same rows change; None if groups are not known.

    A saved run does not hold the groups of its rows.
    """
    if flow.saved is not None and flow.run.evaluation.groups is not None:
        return None
    return _changes(_key(flow), flow.run, flow.partition.members(leaf))


def cost_curves(flow: Flow, leaf: int, costs: Costs) -> tuple[CostCurve, CostCurve]:
    """Return what thresholds cost on the same rows, before and after."""
    return _cost_curves(_key(flow), inside(flow, leaf), leaf, costs)


def group_inside(flow: Flow, group: int | str) -> tuple[Cells, Cells]:
    """Return the test rows of a leaf, a branch, all rows or a cohort, before and after."""
    if isinstance(group, str):
        return _cohort(flow.run, group)
    own = inside(flow, group)
    return own.before, own.after


def weighted_areas(flow: Flow) -> pd.DataFrame:
    """Return the AUC of the test rows against the weight of their leaf's rate."""
    return _weighted_areas(_key(flow), flow.run)


def plane_of(flow: Flow) -> pd.DataFrame:
    """Return the Platt map of each leaf's calibration rows alone, with its covariance."""
    return _plane(_key(flow), flow.run)


def way_of(flow: Flow) -> pd.DataFrame:
    """Return the AUC of the test rows on the way from the network to the rates of the leaves."""
    return _way(_key(flow), flow.run)


def pairs_of(flow: Flow) -> pd.DataFrame:
    """Return what each pair of leaves gained on the test rows."""
    return _pairs(_key(flow), flow.run)


def points_inside(
    flow: Flow, leaf: int, rate: float
) -> tuple[OperatingPoint, OperatingPoint] | None:
    """Return the points of a false positive rate before and after; None with one class only."""
    if leaf == ALL_ROWS:
        return flow.run.points(rate)
    if not curves_inside(flow, leaf).roc:
        return None
    return _points(_key(flow), flow.run, flow.partition.members(leaf), rate)


def rows_of(flow: Flow, text: str) -> pd.DataFrame:
    """Return the test rows that can be looked at, or those of them in which a text is found."""
    return _found_rows(flow.run, text) if text else _rows(flow.run)


def steps_of(flow: Flow, row: int) -> pd.DataFrame:
    """Return the steps of a row from its score to its probability."""
    return _steps(flow.run, row)


def _key(flow: Flow) -> object:
    """Return what the results of a run depend on."""
    if flow.saved is None:
        return flow.run
    return flow.saved, flow.number, flow.workspace.settings.min_rows


@cached
def _applied(key: object, _run: Run | SavedRun) -> Applied:
    leaves = [each.id for each in _run.partition.leaves]
    return applied_to_leaves(_run.comparison.before, _run.comparison.after, leaves)


@cached
def _applied_inside(key: object, _own: Comparison, leaf: int) -> Applied:
    return applied_to_leaves(_own.before, _own.after, ())


@cached
def _measures(key: object, _own: Comparison, leaf: int) -> tuple[Metrics, Metrics]:
    return measure_cells(_own.before), measure_cells(_own.after)


@cached
def _changes(
    key: object, _run: Run | SavedRun, leaves: tuple[int, ...]
) -> tuple[LossChange, LossChange]:
    found = _run.comparison
    inside = np.isin(found.before.leaf, leaves)
    group = groups_of(_run.table, _run.split.test) if isinstance(_run, Run) else None
    own = found.before.chosen(inside), found.after.chosen(inside)
    given = None if group is None else group[inside]
    return loss_change(*own, given), brier_change(*own, given)


@cached
def _curves(key: object, _run: Run | SavedRun, leaves: tuple[int, ...]) -> Curves:
    return leaf_curves(_run.comparison, leaves)


@cached
def _inside(key: object, _run: Run | SavedRun, leaves: tuple[int, ...]) -> Comparison:
    return inside_leaves(_run.comparison, leaves)


@cached
def _cost_curves(
    key: object, _own: Comparison, leaf: int, costs: Costs
) -> tuple[CostCurve, CostCurve]:
    return cost_curve("before", _own.before, costs), cost_curve("after", _own.after, costs)


@cached
def _weighted_areas(key: object, _run: Run | SavedRun) -> pd.DataFrame:
    return rate_weights(_run.comparison)


@cached
def _plane(key: object, _run: Run | SavedRun) -> pd.DataFrame:
    return leaf_plane(_run.role_cells.calibration, [each.id for each in _run.partition.leaves])


@cached
def _way(key: object, _run: Run | SavedRun) -> pd.DataFrame:
    return network_to_tree(_run.comparison)


@cached
def _pairs(key: object, _run: Run | SavedRun) -> pd.DataFrame:
    leaves = [each.id for each in _run.partition.leaves]
    return pair_gains(_run.comparison.before, _run.comparison.after, leaves)


@cached
def _points(
    key: object, _run: Run | SavedRun, leaves: tuple[int, ...], rate: float
) -> tuple[OperatingPoint, OperatingPoint]:
    return points_of_rate(_inside(key, _run, leaves), rate)


@cached
def _cohort(run: Run, text: str) -> tuple[Cells, Cells]:
    return cohort_cells(run, text)


@cached
def _rows(run: Run) -> pd.DataFrame:
    return listed_rows(run)


@cached
def _found_rows(run: Run, text: str) -> pd.DataFrame:
    rows = _rows(run)
    return rows[rows_with(run.table.X, rows["row"].to_numpy(), text)]


@cached
def _typical(run: Run) -> pd.DataFrame:
    return typical_of(run)


@cached
def _steps(run: Run, row: int) -> pd.DataFrame:
    return explain_row(run, row, _typical(run))
