"""Where the model is over-confident: train against test, leaf by leaf, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.metrics import (
    log_loss,
    mean_confidence_minus_accuracy,
    order_of_cells,
    rows_of_leaves,
)
from hetcal.partition import Leaf
from hetcal.platt import PlattFit, fit_platt_cells
from hetcal.scale_words import SURE, is_right, scale_words

SHIFTED = 0.1  # a difference in log-odds worth a word


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

    Returns
    -------
    DataFrame
        The first row has leaf 0 and stands for all rows. Columns, NaN where not defined:
        `leaf`, `rule`, `rows_train`, `rows_test`, `auc_train`, `auc_test`,
        `auc_gap` (train minus test), `log_loss_train`, `log_loss_test`,
        `log_loss_gap` (test minus train), `confidence_gap` (mean confidence minus accuracy,
        test), `mean_probability`, `positive_rate` (test), `slope`, `slope_se`, `intercept`
        (of the Platt map fitted on test rows), `rank` (0 for all rows), `advice` (how test
        scores should change), `sentence` (the same after both AUCs).
    """
    ids = [each.id for each in leaves]
    sides = list(zip(_sides(train, ids), _sides(test, ids), strict=True))
    fit = _fit_on_test(test, ids)
    table = pd.DataFrame(_record(a, b) for a, b in sides)
    table.insert(0, "leaf", [0, *ids])
    table.insert(1, "rule", ["all rows", *(each.rule for each in leaves)])
    table["slope"], table["slope_se"], table["intercept"] = fit.slope, fit.slope_se, fit.intercept
    table["rank"] = _ranks(table["log_loss_gap"].to_numpy())
    table["advice"] = [_advice(test, fit, i) for i, (_, test) in enumerate(sides)]
    told = zip(sides, table["advice"], strict=True)
    table["sentence"] = [_sentence(*both, advice) for both, advice in told]
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


def _fit_on_test(test: Cells, ids: Sequence[int]) -> PlattFit:
    """Fit the Platt maps of all test rows (first) and of each leaf."""
    twice = test.chosen(np.tile(np.arange(test.leaf.size), 2))
    both = replace(twice, leaf=np.append(np.zeros_like(test.leaf), test.leaf))
    return fit_platt_cells(both, [0, *ids])


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
        return "test scores separate the classes completely, so their size cannot be judged"
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
