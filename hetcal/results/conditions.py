"""The paper's three conditions for a lift: an over-confident model, structure it ignores, rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import chdtrc, expit

from hetcal.arrays import Floats
from hetcal.calibrators.platt import fit_platt_cells
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.data.columns import counted
from hetcal.metrics.delong import Lift
from hetcal.results.evaluation import Comparison
from hetcal.results.overconfidence import SIGNIFICANT, is_right, whether_overconfident
from hetcal.results.words import p_in_words

Level = Literal["holds", "open", "fails"]

SMALL_LIFT, LARGE_LIFT = 0.005, 0.02  # what has to be detectable for enough rows, and for some
SIGNIFICANT_P = 0.05
VISIBLE = 0.3  # logit: rows that would not show differences of this size show nothing


@dataclass(frozen=True)
class Condition:
    """One condition: whether it holds, the number that tells, and why in words."""

    name: str
    level: Level
    number: str
    reason: str
    after: str = ""  # the same number of the calibrated scores, where it has one


@dataclass(frozen=True)
class Spread:
    """How leaves differ in what the score does not say, on rows the model was not trained on."""

    deviation: float  # of the leaves' log-odds beyond the score and beyond chance
    p: float  # of the hypothesis that they do not differ
    loss: float  # log-loss that ignoring them costs
    visible: float  # deviation that would have been significant
    leaves: int  # with rows


@dataclass(frozen=True)
class _Pooled:
    """The one map that fits best in all leaves, and what differs between them beyond it."""

    slope: float
    spread: Spread | None  # None where no map can be fitted


def conditions(
    diagnosis: pd.DataFrame, comparison: Comparison, lift: Lift
) -> tuple[Condition, ...]:
    """Judge the three conditions on the scores of the model, and measure them on those after.

    Parameters
    ----------
    diagnosis : DataFrame
        What `hetcal.results.overconfidence.diagnose` returns.
    comparison : Comparison
        The test rows before and after.
    lift : Lift
        Of the scheme on the test rows.
    """
    leaves = diagnosis["leaf"].iloc[1:].tolist()
    before, after = (_pooled(cells, leaves) for cells in (comparison.before, comparison.after))
    return (
        replace(_overconfident(diagnosis), after=_slope_words(after.slope)),
        replace(_ignores(before.spread), after=_spread_words(after.spread).removesuffix(" logit")),
        _enough(comparison.before, lift, leaves),
    )


def first_conditions(diagnosis: pd.DataFrame, test: Cells, area: Lift) -> tuple[Condition, ...]:
    """Judge the three conditions before anything is fitted to the scores.

    Parameters
    ----------
    diagnosis : DataFrame
        What `hetcal.results.overconfidence.diagnose` returns.
    test : Cells
        The test rows.
    area : Lift
        The AUC of the test rows against that of a score that ranks nothing.
    """
    leaves = diagnosis["leaf"].iloc[1:].tolist()
    found = _pooled(test, leaves).spread
    return _overconfident(diagnosis), _ignores(found), _enough_at_first(test, area, leaves)


def _pooled(cells: Cells, leaves: Sequence[int]) -> _Pooled:
    fit = fit_platt_cells(replace(cells, leaf=np.zeros_like(cells.leaf)), [0])
    slope, intercept = float(fit.slope[0]), float(fit.intercept[0])
    if not math.isfinite(slope + intercept):
        return _Pooled(slope, None)
    return _Pooled(slope, leaf_spread(cells, slope * cells.score + intercept, leaves))


def _slope_words(slope: float) -> str:
    return f"{round(slope, 2) + 0.0:.2f}" if math.isfinite(slope) else "not known"


def _spread_words(found: Spread | None) -> str:
    if found is None:
        return "not known"
    return f"±{found.deviation:.2f} logit" if found.p < SIGNIFICANT_P else "none seen"


def _overconfident(diagnosis: pd.DataFrame) -> Condition:
    first = diagnosis.iloc[0]
    slope, se = float(first["slope"]), float(first["slope_se"])
    level: Level = "open"
    low = slope - SIGNIFICANT * se
    if is_right(slope, se) or low > 1:
        level = "fails"
    elif low > 0 and slope + SIGNIFICANT * se < 1:  # what ranks nothing has no confidence to judge
        level = "holds"
    gap = first["log_loss_gap"]
    more = f" Its log-loss is {gap:.3f} higher on test rows than on train rows." if gap > 0 else ""
    reason = whether_overconfident(diagnosis) + more
    return Condition("Over-confident", level, f"slope needed {_slope_words(slope)}", reason)


def _ignores(found: Spread | None) -> Condition:
    name, number = "Misses structure", _spread_words(found)
    if found is None:
        return Condition(name, "open", number, "The test rows allow no map of the score.")
    if found.leaves < 2:
        return Condition(name, "fails", "one leaf", "All test rows are in one leaf.")
    tested = f"(p-value {p_in_words(found.p)})"
    if found.p < SIGNIFICANT_P:
        reason = (
            f"Rows of equal score differ from leaf to leaf {tested}. One map for all leaves costs "
            f"{found.loss:.4f} of log-loss."
        )
        return Condition(name, "holds", number, reason)
    if found.visible > VISIBLE:
        reason = f"Differences between leaves would show only above {found.visible:.2f} logit."
        return Condition(name, "open", number, reason)
    reason = f"Beyond the score, the leaves do not differ by more than chance {tested}."
    return Condition(name, "fails", number, reason)


def leaf_spread(cells: Cells, logit: Floats, leaves: Sequence[int]) -> Spread:
    """Measure how far leaves are from logits that ought to hold in all of them.

    Of each leaf, positives minus those expected, and the variance of that; the sum of their squares
    is that of Rao's score test. What exceeds its degrees of freedom is the variance of the leaves'
    log-odds, estimated as DerSimonian and Laird do.
    """
    place = leaf_positions(cells.leaf, leaves)
    probability = expit(logit)
    doubt = probability * (1 - probability)
    missed = np.bincount(place, cells.weight * (cells.y - probability), len(leaves))
    squared = np.bincount(place, cells.squares * doubt, len(leaves))
    steep = np.bincount(place, cells.weight * doubt, len(leaves))
    known = squared > 0
    leaves_with_rows = int(known.sum())
    if leaves_with_rows < 2:
        return Spread(0.0, math.nan, 0.0, math.inf, leaves_with_rows)
    missed, squared, steep = missed[known], squared[known], steep[known]
    freedom = leaves_with_rows - 1
    excess = float(np.sum(missed**2 / squared))
    precision = steep**2 / squared  # of a leaf's log-odds
    scale = float(precision.sum() - np.sum(precision**2) / precision.sum())
    variance = max(0.0, (excess - freedom) / scale)
    visible = math.sqrt(1.645 * math.sqrt(2 * freedom) / scale)
    # What one step of Newton gains in every leaf, less what it gains by chance.
    gained = float(np.sum((missed**2 - squared * freedom / leaves_with_rows) / steep)) / 2
    loss = max(0.0, gained) / float(cells.weight.sum())
    p = float(chdtrc(freedom, excess))
    return Spread(math.sqrt(variance), p, loss, visible, leaves_with_rows)


def _enough_at_first(test: Cells, area: Lift, leaves: Sequence[int]) -> Condition:
    """Judge the rows by about the largest standard error that a lift has.

    That is the one between two AUCs which are known as well as that of the model and vary
    independently of each other; hardly any scheme makes errors where the model makes none.
    """
    counts, most = _counts(test, leaves), math.sqrt(2) * area.detectable
    if area.se == 0:
        number, why = "not known", "All pairs count alike, so how far the AUC varies is not seen."
        if area.after == 1:
            number, why = "no lift to tell", "All pairs are in order: no lift is left to find."
        return Condition("Enough rows", "open", number, f"{counts}. {why}")
    if math.isnan(most):
        reason = f"{counts}: too few for an interval of the AUC."
        return Condition("Enough rows", "fails", "not known", reason)
    reason = (
        f"{counts}. The AUC {area.after:.3f} is known to ±{1.96 * area.se:.3f}. A lift from "
        f"{most:.4f} would be told from zero for nearly any scheme; most change the order of few "
        "rows, and then smaller lifts are told, too."
    )
    level: Level = "holds" if most <= LARGE_LIFT else "open"
    return Condition("Enough rows", level, f"lifts from {most:.4f} in nearly any case", reason)


def _counts(test: Cells, leaves: Sequence[int]) -> str:
    """Count the test rows, and name the leaf with the fewest of its rarer class."""
    rows, positives = int(test.rows.sum()), int(test.rows[test.y == 1].sum())
    counts = f"{counted(rows, 'test row')}, {positives:,} of them positive"
    if len(leaves) > 1:
        place = leaf_positions(test.leaf, leaves)
        sides = (
            np.bincount(place[own], test.rows[own], len(leaves))
            for own in (test.y == 0, test.y == 1)
        )
        rarer = np.minimum(*sides)
        fewest = int(rarer.argmin())
        counts += f" (leaf {leaves[fewest]} has only {int(rarer[fewest]):,} of its rarer class)"
    return counts


def _enough(test: Cells, lift: Lift, leaves: Sequence[int]) -> Condition:
    counts = _counts(test, leaves)
    smallest = lift.detectable
    if math.isnan(smallest) and lift.auc == 0 and lift.se == 0:
        reason = f"{counts}. Their order is as before, so there is no lift to tell from zero."
        return Condition("Enough rows", "open", "no lift to tell", reason)
    if math.isnan(smallest):
        reason = f"{counts}: too few for an interval of the lift."
        return Condition("Enough rows", "open", "not known", reason)
    reason = f"With {counts}, a lift under {smallest:.4f} would mostly not be told from zero."
    told = lift.low > 0 or lift.high < 0
    level: Level = "holds" if told or smallest <= SMALL_LIFT else "open"
    if told:
        reason = f"{reason.removesuffix('.')}; this one is."
    elif smallest > LARGE_LIFT:
        level = "fails"
    return Condition("Enough rows", level, f"for lifts from {smallest:.4f}", reason)
