"""Where the model is over-confident: train against test, leaf by leaf, in words."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import logit

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.doubts import COUNTED, doubt, rounded_up, worst
from hetcal.leaf_sides import Side, checked_sides, doubt_of_test, fit_on_test
from hetcal.partition import Leaf
from hetcal.platt import PlattFit
from hetcal.role_cells import ScoredRows
from hetcal.scale_words import SURE, is_right, scale_words

SHIFTED = 0.1  # a difference in log-odds worth a word
ERRORS = "auc", "log_loss", "confidence_gap", "mean_probability", "slope", "intercept"
"""What has a bound."""


def diagnose(
    train: Cells,
    test: Cells,
    leaves: Sequence[Leaf],
    rows: Callable[[str, int | None], ScoredRows] | None = None,
) -> pd.DataFrame:
    """Compare the scores of train and test rows in each leaf and in all rows.

    A model is over-confident where it does worse on test rows than it did on the rows it
    learned from. Leaves are ranked by `log_loss_gap`, which counts both a lost order and
    scores that are too large; the largest gap has rank 1, ties go by leaf id, and leaves
    without a gap come last.

    Parameters
    ----------
    train, test : Cells
        The scores of both roles.
    leaves : sequence of Leaf
        The leaves, also those without rows.
    rows : callable, optional
        Gives the rows of the role of this name, or only those in one leaf, asked where cells
        are too coarse.

    Returns
    -------
    DataFrame
        The first row has leaf 0 and stands for all rows. Columns, NaN where not defined:
        `leaf`, `rule`, `rows_train`, `rows_test`, `auc_train`, `auc_test`,
        `auc_gap` (train minus test), `log_loss_train`, `log_loss_test`,
        `log_loss_gap` (test minus train), `confidence_gap` (mean confidence minus accuracy,
        test), `mean_probability`, `positive_rate` (test), `slope`, `slope_se`, `intercept`
        (of the Platt map fitted on test rows), `rank` (0 for all rows), `advice` (how test
        scores should change), `sentence` (the same after both AUCs), `auc_error`,
        `log_loss_error` (how far those of train and of test are off at most),
        `confidence_gap_error`, `mean_probability_error`, `slope_error`, `intercept_error`,
        `unsure` (whether a bound is not below its standard error, with no rows to ask).
    """
    ids = [each.id for each in leaves]
    ask = {role: None if rows is None else partial(rows, role) for role in ("train", "test")}
    groups = [
        [*checked_sides(train, ids, ask["train"], doubt)],
        [*checked_sides(test, ids, ask["test"], doubt_of_test)],
    ]
    sides = [(a, b) for (a, _), (b, _) in zip(*groups, strict=True)]
    fit, of_fit = fit_on_test(test, ids, ask["test"])
    found = zip(*([each for _, each in group] for group in groups), of_fit, strict=True)
    doubts = [worst(each) for each in found]
    table = pd.DataFrame(_record(a, b) for a, b in sides)
    table.insert(0, "leaf", [0, *ids])
    table.insert(1, "rule", ["all rows", *(each.rule for each in leaves)])
    table["slope"], table["slope_se"], table["intercept"] = fit.slope, fit.slope_se, fit.intercept
    table["rank"] = _ranks(table["log_loss_gap"].to_numpy())
    table["advice"] = [_advice(test, fit, i) for i, (_, test) in enumerate(sides)]
    told = zip(sides, table["advice"], strict=True)
    table["sentence"] = [_sentence(*both, advice) for both, advice in told]
    for name in ERRORS:
        table[f"{name}_error"] = [each.of(name) for each in doubts]
    table["unsure"] = [bool(each.wide) for each in doubts]
    return table


def diagnosis_exactness(diagnosis: pd.DataFrame) -> str:
    """Say in a sentence or two how exact the numbers of a diagnosis are."""
    bounds = diagnosis[[f"{name}_error" for name in ERRORS]].to_numpy()
    largest = bounds.max(initial=0.0, where=np.isfinite(bounds))
    told = f"{COUNTED}: no number is off by more than {rounded_up(largest)}." if largest else ""
    if diagnosis["unsure"].any():
        told += " Some are perhaps off by more than a standard error, with no rows to ask."
    return told.strip() or "All numbers are exact."


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


def _advice(test: Side, fit: PlattFit, i: int) -> str:
    """Say what to do with the test scores, or why that is not defined."""
    return _area_words("test", "test", test) if np.isnan(test.auc) else _change_words(test, fit, i)


def _area_words(name: str, kind: str, side: Side) -> str:
    """Give the AUC of a side, or why it has none."""
    if not np.isnan(side.auc):
        return f"{name} AUC {side.auc:.2f}"
    missing = "" if not side.rows else "positive " if not side.positives else "negative "
    return f"{name} AUC is not defined: no {missing}{kind} rows"


def _change_words(test: Side, fit: PlattFit, i: int) -> str:
    """Say how test scores should change, or why that cannot be told."""
    if fit.separated[i]:
        return "test scores part the classes completely, so their size cannot be judged"
    if fit.constant[i]:
        return "all test scores are equal"
    slope, se = float(fit.slope[i]), float(fit.slope_se[i])
    if np.isnan(slope) or not fit.converged[i]:
        return "no calibration slope could be fitted on the test rows"
    apart = abs(logit(test.mean_probability) - logit(test.positive_rate))
    if is_right(slope, se) and apart > SHIFTED and abs(test.shift) > SURE:
        return (
            f"test scores have about the right spread but are too "
            f"{'high' if test.shift > 0 else 'low'} (mean probability "
            f"{test.mean_probability:.3g}, positive rate {test.positive_rate:.3g})"
        )
    shift = float(fit.intercept[i])
    chance = max(SHIFTED, SURE * float(fit.intercept_se[i]))
    return scale_words(slope, se, shift if abs(shift) > chance else 0.0)
