"""Where the model is over-confident: train against test, leaf by leaf, in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.doubts import COUNTED, Doubt, doubt, rounded_up, worst
from hetcal.metrics import (
    log_loss,
    mean_confidence_minus_accuracy,
    order_of_cells,
    rows_of_leaves,
)
from hetcal.partition import Leaf
from hetcal.platt import PlattFit, fit_platt_cells
from hetcal.rank_statistics import rank_statistics
from hetcal.role_cells import ScoredRows
from hetcal.scale_words import SURE, is_right, scale_words

SHIFTED = 0.1  # a difference in log-odds worth a word


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
        Gives the rows of the role of this name, or only those in one leaf, asked for AUC and
        log-loss where cells are too coarse.

    Returns
    -------
    DataFrame
        The first row has leaf 0 and stands for all rows. Columns, NaN where not defined:
        `leaf`, `rule`, `rows_train`, `rows_test`, `auc_train`, `auc_test`,
        `auc_gap` (train minus test), `log_loss_train`, `log_loss_test`,
        `log_loss_gap` (test minus train), `confidence_gap` (mean confidence minus accuracy,
        test), `mean_probability`, `positive_rate` (test), `slope`, `slope_se`, `intercept`
        (of the Platt map fitted on test rows), `rank` (0 for all rows), `sentence`,
        `auc_error`, `log_loss_error` (how far those of train and of test are off at most),
        `unsure` (whether a bound is not below its standard error, with no rows to ask).
    """
    ids = [each.id for each in leaves]
    groups = [
        [*_checked(cells, ids, None if rows is None else partial(rows, role))]
        for role, cells in (("train", train), ("test", test))
    ]
    sides = [(a, b) for (a, _), (b, _) in zip(*groups, strict=True)]
    doubts = [worst([a, b]) for (_, a), (_, b) in zip(*groups, strict=True)]
    fit = _test_fit(test, ids)
    table = pd.DataFrame(_record(a, b) for a, b in sides)
    table.insert(0, "leaf", [0, *ids])
    table.insert(1, "rule", ["all rows", *(each.rule for each in leaves)])
    table["slope"], table["slope_se"], table["intercept"] = fit.slope, fit.slope_se, fit.intercept
    table["rank"] = _ranks(table["log_loss_gap"].to_numpy())
    table["sentence"] = [_sentence(a, b, fit, i) for i, (a, b) in enumerate(sides)]
    table["auc_error"] = [each.auc for each in doubts]
    table["log_loss_error"] = [each.log_loss for each in doubts]
    table["unsure"] = [bool(each.wide) for each in doubts]
    return table


def diagnosis_exactness(diagnosis: pd.DataFrame) -> str:
    """Say in a sentence or two how exact AUC and log-loss of a diagnosis are."""
    bounds = {"AUC": diagnosis["auc_error"].max(), "log-loss": diagnosis["log_loss_error"].max()}
    off = [f"{rounded_up(bound)} ({name})" for name, bound in bounds.items() if 0 < bound < np.inf]
    told = f"{COUNTED}: off by at most {', '.join(off)}." if off else ""
    if diagnosis["unsure"].any():
        told += " Perhaps off by more than a standard error in some leaf, with no rows to ask."
    return told.strip() or "AUC and log-loss are exact."


@dataclass(frozen=True)
class _Side:
    """The train or the test rows of a leaf."""

    rows: int
    positives: int
    auc: float
    log_loss: float
    confidence_gap: float
    mean_probability: float
    positive_rate: float
    shift: float  # of the mean probability from the rate of positives, in standard errors


def _checked(
    cells: Cells, ids: Sequence[int], rows: Callable[[int | None], ScoredRows] | None
) -> Iterator[tuple[_Side, Doubt]]:
    """Yield all leaves together and each leaf, with numbers from rows where need be."""
    leaves = (cells.chosen(inside) for inside in rows_of_leaves(cells.leaf, ids))
    for leaf, group in zip((None, *ids), (cells, *leaves), strict=True):
        side, found = _side(group), doubt(group)
        if rows is None or not found.wide:
            yield side, found
            continue
        asked = rows(leaf)
        if "auc" in found.wide:
            side, found = replace(side, auc=rank_statistics(*asked).auc), replace(found, auc=0.0)
        if "log_loss" in found.wide:
            side, found = replace(side, log_loss=log_loss(*asked)), replace(found, log_loss=0.0)
        yield side, replace(found, wide=frozenset())


def _side(cells: Cells) -> _Side:
    y, s, w, given = cells.y, cells.score, cells.weight, cells.given_weight
    probability = expit(s)
    total = w.sum() if w.any() else np.nan
    excess = float(np.sum(w * (probability - y)))
    doubt = float(np.sqrt(np.sum(cells.squares * probability * (1 - probability))))
    return _Side(
        rows=int(cells.rows.sum()),
        positives=int(cells.rows[y == 1].sum()),
        auc=order_of_cells(cells).auc,
        log_loss=log_loss(y, s, given),
        confidence_gap=mean_confidence_minus_accuracy(y, s, given),
        mean_probability=float(np.sum(w * probability) / total),
        positive_rate=float(np.sum(w * y) / total),
        shift=excess / doubt if doubt else 0.0,
    )


def _test_fit(test: Cells, ids: Sequence[int]) -> PlattFit:
    """Fit the Platt maps of all rows (first) and of each leaf on the test rows."""
    twice = test.chosen(np.tile(np.arange(test.leaf.size), 2))
    leaf = np.append(np.zeros_like(test.leaf), test.leaf)
    return fit_platt_cells(replace(twice, leaf=leaf), [0, *ids])


def _record(train: _Side, test: _Side) -> dict[str, float]:
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


def _sentence(train: _Side, test: _Side, fit: PlattFit, i: int) -> str:
    """Say in one sentence what train and test rows show."""
    areas = [_area_words("train", "training", train), _area_words("test", "test", test)]
    both = not np.isnan(train.auc + test.auc)
    words = (", " if both else "; ").join(areas)
    return words if np.isnan(test.auc) else f"{words}; {_change_words(test, fit, i)}"


def _area_words(name: str, kind: str, side: _Side) -> str:
    """Give the AUC of a side, or why it has none."""
    if not np.isnan(side.auc):
        return f"{name} AUC {side.auc:.2f}"
    missing = "" if not side.rows else "positive " if not side.positives else "negative "
    return f"{name} AUC is not defined: no {missing}{kind} rows"


def _change_words(test: _Side, fit: PlattFit, i: int) -> str:
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
    return scale_words(slope, se)
