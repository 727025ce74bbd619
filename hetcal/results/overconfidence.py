"""Where the model is over-confident: train against test, leaf by leaf, in words.

Over-confident has one meaning: on rows that the model was not trained on, its logits have to be
multiplied by less than 1. That they separate the labels worse there than on train rows is
over-fitting.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.platt import PlattFit, fit_platt_cells
from hetcal.cells.cells import Cells
from hetcal.metrics.metrics import (
    log_loss,
    mean_confidence_minus_accuracy,
    order_of_cells,
    rows_of_leaves,
)
from hetcal.partitions.partition import Leaf

SIGNIFICANT = 2.0  # standard errors
RIGHT = (0.8, 1.25)  # holds the whole interval of a slope where scores are called about right
NEAR = 0.05  # a difference from 1, or from a slope that has a name, that is not mentioned
OVERCONFIDENT = "Your model is over-confident."
SHIFTED = 0.1  # a difference in log-odds that is mentioned
CHANGES = {
    0.1: "shrunk to {}a tenth",
    0.125: "shrunk to {}an eighth",
    1 / 6: "shrunk to {}a sixth",
    0.2: "shrunk to {}a fifth",
    0.25: "shrunk to {}a quarter",
    1 / 3: "shrunk to {}a third",
    0.4: "shrunk to {}two fifths",
    0.5: "{}halved",
    0.6: "shrunk to {}three fifths",
    2 / 3: "shrunk by {}a third",
    0.75: "shrunk by {}a quarter",
    0.8: "shrunk by {}a fifth",
    0.9: "shrunk by {}a tenth",
    1.1: "stretched by {}a tenth",
    1.2: "stretched by {}a fifth",
    1.25: "stretched by {}a quarter",
    4 / 3: "stretched by {}a third",
    1.5: "stretched by {}a half",
    1.75: "stretched by {}three quarters",
    2.0: "{}doubled",
    2.5: "multiplied by {}two and a half",
    3.0: "{}tripled",
}


def scale_words(slope: float, se: float, shift: float = 0.0) -> str:
    """Say how the scores should change, given the map that calibrates them.

    Two standard errors to either side make an interval. An interval that contains 1 but
    reaches beyond 0.8 or 1.25 leaves open whether the scores are right.

    `shift` is what is added after that; 0 where it is not significant.

    Examples
    --------
    >>> scale_words(0.5, 0.03)
    'test scores should be halved'
    >>> scale_words(0.97, 0.05)
    'test scores are about right'
    >>> scale_words(2.1, 0.1)
    'test scores should be doubled (under-confident)'
    >>> scale_words(2.0, 0.1, -3.68)
    'test scores should be doubled and lowered (by 3.7)'
    """
    if slope < -SIGNIFICANT * se:
        return "test scores rank the rows in reverse"
    if is_right(slope, se):
        return "test scores are about right"
    if abs(slope - 1) <= SIGNIFICANT * se:
        return "too few test rows to judge the size of the scores"
    if slope <= SIGNIFICANT * se:
        return "test scores show no reliable relation to the label"
    if shift:
        note = f" and {'raised' if shift > 0 else 'lowered'} (by {abs(shift):.2g})"
    else:
        note = " (under-confident)" if slope > 1 else ""
    return f"test scores should be {_change(slope)}{note}"


def whether_overconfident(diagnosis: pd.DataFrame) -> str:
    """Answer in a sentence whether the model is over-confident, from the first row: all rows.

    The interval of the factor is two standard errors to either side, as in `scale_words`.
    """
    slope, se, auc = (float(diagnosis[name].iloc[0]) for name in ("slope", "slope_se", "auc_test"))
    if not math.isfinite(slope + se):
        advice = diagnosis["advice"].iloc[0]
        return f"The test rows do not show whether the model is over-confident: {advice}."
    low, high = slope - SIGNIFICANT * se, slope + SIGNIFICANT * se
    factor = f"{slope:.2f} {slope_interval(diagnosis.iloc[0])}"
    found = f"on rows it was not trained on its logits should be multiplied by {factor}"
    if high < 0:
        return f"The scores rank the rows in reverse: {found}."
    if low <= 0 and high < 1:
        return (
            "No factor corrects it: on rows it was not trained on its scores show no relation to "
            f"the label (AUC {auc:.3f})."
        )
    if is_right(slope, se):
        return f"No: {found}, which is about 1."
    if high < 1:
        return f"Yes: {found}."
    if low > 1:
        return f"No, it is under-confident: {found}."
    return f"The test rows are too few to tell: {found}."


def state_of_model(diagnosis: pd.DataFrame) -> str:
    """Say in a few words what `whether_overconfident` answers; nothing where it has no answer."""
    slope, se = (float(diagnosis[name].iloc[0]) for name in ("slope", "slope_se"))
    if not math.isfinite(slope + se) or slope - SIGNIFICANT * se <= 0:
        return ""
    if is_right(slope, se):
        return "Your model is not over-confident."
    if slope + SIGNIFICANT * se < 1:
        return OVERCONFIDENT
    return "Your model is under-confident." if slope - SIGNIFICANT * se > 1 else ""


def slope_interval(leaf: "pd.Series[Any]") -> str:
    """Write the interval of the slope of a row of `diagnose`: two standard errors either way."""
    slope, se = float(leaf["slope"]), float(leaf["slope_se"])
    if not math.isfinite(slope + se):
        return ""
    return f"({slope - SIGNIFICANT * se:.2f} to {slope + SIGNIFICANT * se:.2f})"


def in_brief(advice: str) -> str:
    """Shorten advice for where it is clear that it is about test scores, without its remarks.

    >>> in_brief("test scores should be doubled (under-confident)")
    'should be doubled'
    """
    return advice.partition(" (")[0].removeprefix("test scores ")


def is_right(slope: float, se: float) -> bool:
    """Whether the slope may be 1, or nearly is, and its interval lies between 0.8 and 1.25."""
    low, high = slope - SIGNIFICANT * se, slope + SIGNIFICANT * se
    return RIGHT[0] <= low and high <= RIGHT[1] and (low <= 1 <= high or abs(slope - 1) <= NEAR)


def _change(slope: float) -> str:
    """Name the change nearest to a positive slope."""
    if slope < 0.09:
        return "shrunk to less than a tenth"
    if slope > 3.25:
        return f"multiplied by {slope:.2g}"
    nearest = min(CHANGES, key=lambda each: abs(math.log(slope / each)))
    close = abs(math.log(slope / nearest)) <= NEAR
    return CHANGES[nearest].format("" if close else "roughly ")


@dataclass(frozen=True)
class Side:
    """The train or the test rows of a leaf."""

    rows: int
    positives: int
    auc: float
    log_loss: float
    confidence_gap: float
    mean_probability: float
    positive_rate: float
    shift: float  # of the mean probability from the rate of positives, in standard errors


def diagnose(train: Cells, test: Cells, leaves: Sequence[Leaf]) -> pd.DataFrame:
    """Compare the scores of train and test rows in each leaf and in all rows.

    A model is over-fitted where it does worse on test rows than it did on the rows it
    learned from, and over-confident where `slope` is below 1. Leaves are ranked by
    `log_loss_gap`, which counts both a lost order and scores that are too large; the largest gap
    has rank 1, ties go by leaf id, and leaves without a gap come last.

    Returns
    -------
    DataFrame
        The first row has leaf 0: all rows. Columns, NaN where not defined:
        `leaf`, `rule`, `rows_train`, `rows_test`, `auc_train`, `auc_test`,
        `auc_gap` (train minus test), `log_loss_train`, `log_loss_test`,
        `log_loss_gap` (test minus train), `confidence_gap` (mean confidence minus accuracy,
        test), `mean_probability`, `positive_rate` (test), `slope`, `slope_se`, `intercept`
        (of the Platt map fitted on test rows), `rank` (0 for all rows), `advice` (how test
        scores should change), `sentence` (the same after both AUCs).
    """
    ids = [each.id for each in leaves]
    sides = list(zip(_sides(train, ids), _sides(test, ids), strict=True))
    # The maps of all test rows (first) and of each leaf.
    twice = test.chosen(np.tile(np.arange(test.leaf.size), 2))
    both = replace(twice, leaf=np.append(np.zeros_like(test.leaf), test.leaf))
    fit = fit_platt_cells(both, [0, *ids])
    table = pd.DataFrame(_record(a, b) for a, b in sides)
    table.insert(0, "leaf", [0, *ids])
    table.insert(1, "rule", ["all rows", *(each.rule for each in leaves)])
    table["slope"], table["slope_se"], table["intercept"] = fit.slope, fit.slope_se, fit.intercept
    table["rank"] = _ranks(table["log_loss_gap"].to_numpy())
    table["advice"] = [_advice(test, fit, i) for i, (_, test) in enumerate(sides)]
    table["sentence"] = [
        _sentence(*pair, advice) for pair, advice in zip(sides, table["advice"], strict=True)
    ]
    return table


def _sides(cells: Cells, ids: Sequence[int]) -> Iterator[Side]:
    """Yield all leaves together, then each leaf."""
    yield _side(cells)
    for inside in rows_of_leaves(cells.leaf, ids):
        yield _side(cells.chosen(inside))


def _side(cells: Cells) -> Side:
    y, s, w, given = cells.y, cells.score, cells.weight, cells.given_weight
    probability = expit(s)
    total = w.sum() if w.any() else np.nan
    excess = float(np.sum(w * (probability - y)))
    error = float(np.sqrt(np.sum(cells.squares * probability * (1 - probability))))
    return Side(
        rows=int(cells.rows.sum()),
        positives=int(cells.rows[y == 1].sum()),
        auc=order_of_cells(cells).auc,
        log_loss=log_loss(y, s, given),
        confidence_gap=mean_confidence_minus_accuracy(y, s, given),
        mean_probability=float(np.sum(w * probability) / total),
        positive_rate=float(np.sum(w * y) / total),
        shift=excess / error if error else 0.0,
    )


def _record(train: Side, test: Side) -> dict[str, float]:
    return {
        "rows_train": train.rows,
        "rows_test": test.rows,
        "auc_train": train.auc,
        "auc_test": test.auc,
        "auc_gap": train.auc - test.auc,
        "log_loss_train": train.log_loss,
        "log_loss_test": test.log_loss,
        "log_loss_gap": test.log_loss - train.log_loss,
        "confidence_gap": test.confidence_gap,
        "mean_probability": test.mean_probability,
        "positive_rate": test.positive_rate,
    }


def _ranks(gap: Floats) -> Ints:
    """Rank all but the first from the largest gap down, NaN last; the first has rank 0."""
    rank = np.zeros(gap.size, dtype=np.int64)
    # NaN sorts last, and a stable sort leaves ties in the order of the leaves.
    rank[1 + np.argsort(-gap[1:], kind="stable")] = np.arange(1, gap.size)
    return rank


def _sentence(train: Side, test: Side, advice: str) -> str:
    """Say in one sentence what train and test rows show."""
    areas = [_area_words("train", "training", train), _area_words("test", "test", test)]
    both = not np.isnan(train.auc + test.auc)
    words = (", " if both else "; ").join(areas)
    return words if np.isnan(test.auc) else f"{words}; {advice}"


def _area_words(name: str, kind: str, side: Side) -> str:
    """Give the AUC of a side, or why it has none."""
    if not np.isnan(side.auc):
        return f"{name} AUC {side.auc:.2f}"
    missing = "" if not side.rows else "positive " if not side.positives else "negative "
    return f"{name} AUC is not defined: no {missing}{kind} rows"


def _advice(test: Side, fit: PlattFit, i: int) -> str:
    """Say how test scores should change, or why that cannot be said."""
    if np.isnan(test.auc):
        return _area_words("test", "test", test)
    if fit.separated[i]:
        return "test scores separate the classes completely, so their size cannot be judged"
    if fit.constant[i]:
        return "all test scores are equal"
    slope, se = float(fit.slope[i]), float(fit.slope_se[i])
    if np.isnan(slope) or not fit.converged[i]:
        return "no calibration slope could be fitted on the test rows"
    apart = abs(logit(test.mean_probability) - logit(test.positive_rate))
    if is_right(slope, se) and apart > SHIFTED and abs(test.shift) > SIGNIFICANT:
        return (
            f"test scores have about the right spread but are too "
            f"{'high' if test.shift > 0 else 'low'} (mean probability "
            f"{test.mean_probability:.3g}, positive rate {test.positive_rate:.3g})"
        )
    shift = float(fit.intercept[i])
    threshold = max(SHIFTED, SIGNIFICANT * float(fit.intercept_se[i]))
    return scale_words(slope, se, shift if abs(shift) > threshold else 0.0)
