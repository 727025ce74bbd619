"""Why a row has its calibrated probability: the way from its score to the result, step by step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Bools, Floats
from hetcal.data.columns import column_kind, named_columns, value_text
from hetcal.errors import CalibrationError
from hetcal.partitions.terms import MISSING
from hetcal.schemes.scheme import Scheme
from hetcal.schemes.stages import (
    AdditiveStage,
    ClassMapsStage,
    ForestStage,
    LeafMapsStage,
    NestedStage,
    Stage,
)

BEFORE, TYPICAL, AFTER = "score before", "the trees, for a typical row", "after"

Step = tuple[str, str, float]
"""Name, value in words, and what is added to the logit."""


def typical_row(X: pd.DataFrame | Any) -> pd.DataFrame:
    """Return a row to compare with: the median of each number, the most frequent category.

    Each value is one that occurs; a column without any is missing.
    """
    frame = named_columns(X)
    return pd.DataFrame({name: [_typical(frame[name])] for name in frame.columns})


def _typical(column: pd.Series) -> Any:
    known = column.dropna()
    if known.empty:
        return np.nan
    if column_kind(column) == "number":
        return known.quantile(0.5, interpolation="lower")
    return known.mode().iloc[0]


def why_row(scheme: Scheme, score: float, row: pd.DataFrame, typical: pd.DataFrame) -> pd.DataFrame:
    """Return the steps from the score of a row to its calibrated probability.

    A map is one step, with the leaf's rule where it is that of a leaf. Of a correction by
    terms the steps are the weight of the score, the intercept and the terms, the largest first.
    Many trees have no terms: there the steps go from the typical row to this one, one column
    after the other, those first that change most when they alone are changed. They add up
    exactly, but columns that act together share what they do by this order.

    Parameters
    ----------
    scheme : Scheme
        For two classes.
    score : float
        Logit of the row before calibration.
    row : DataFrame
        The columns of the row.
    typical : DataFrame
        A row to compare with, as `typical_row` returns it.

    Returns
    -------
    DataFrame
        `name`, `value` (in words), `change` (of the logit), `logit` and `probability` after the
        step. The first step is the score, and its change is the score itself; the last one is the
        result and changes nothing. The changes add up to the logit after.
    """
    row, typical = named_columns(row), named_columns(typical)
    _check(len(row), score)
    steps: list[Step] = [(BEFORE, "", float(score))]
    logit = np.array([float(score)])
    for stage in scheme.stages:
        steps += _stage_steps(stage, logit, row, typical)
        logit = stage.logit(logit, row)
    return _step_table(steps)


def map_steps(score: float, after: float, name: str, value: str) -> pd.DataFrame:
    """Return the steps of a row that one map takes from its score to the logit `after`.

    `name` and `value` describe the map in words; the columns are those of `why_row`.
    """
    _check(1, score)
    return _step_table([(BEFORE, "", score), (name, value, after - score)])


def _check(rows: int, score: float) -> None:
    if rows != 1 or not np.isfinite(score):
        raise CalibrationError(
            f"There are {rows:,} rows and the score {score}.",
            "Steps are those of one row with a finite score.",
            "Choose another row.",
        )


def _step_table(steps: list[Step]) -> pd.DataFrame:
    table = pd.DataFrame([*steps, (AFTER, "", 0.0)], columns=["name", "value", "change"])
    table["logit"] = table["change"].cumsum()
    table["probability"] = expit(table["logit"])
    return table


def _stage_steps(
    stage: Stage, logit: Floats, row: pd.DataFrame, typical: pd.DataFrame
) -> list[Step]:
    if isinstance(stage, ClassMapsStage):
        raise CalibrationError(
            "The scheme is for more than two classes.",
            "Steps of one logit exist for two classes only.",
            "Look at the maps of the row's leaf on Calibration.",
        )
    if isinstance(stage, AdditiveStage):
        return list(_term_steps(stage, float(logit[0]), row))
    if isinstance(stage, ForestStage | NestedStage):
        return _column_steps(stage, logit, row, typical)
    change = float((stage.logit(logit, row) - logit)[0])
    if isinstance(stage, LeafMapsStage):
        leaf = int(stage.partition.apply(row)[0])
        rule = stage.partition.leaves[leaf - 1].rule
        shape = _line_words(stage.slope[leaf - 1], stage.intercept[leaf - 1])
        return [(f"map of leaf {leaf}", f"{rule}: {shape}", change)]
    return [("one map for all rows", _line_words(stage.slope, stage.intercept), change)]


def _line_words(slope: float, intercept: float) -> str:
    return f"slope {slope:.3f}, intercept {intercept:+.3f}"


def _term_steps(stage: AdditiveStage, logit: float, row: pd.DataFrame) -> Iterator[Step]:
    yield "weight of the score", f"{stage.weight:.3f}", (stage.weight - 1) * logit
    yield "intercept", "", stage.intercept
    added = stage.terms.values(row)[0]
    for i in np.argsort(-np.abs(added), kind="stable"):
        axes = stage.terms.terms[i].axes
        entries = (axis.labels[int(axis.place(row)[0])] for axis in axes)
        yield stage.terms.names[i], " × ".join(entries), float(added[i])


def _column_steps(
    stage: ForestStage | NestedStage, logit: Floats, row: pd.DataFrame, typical: pd.DataFrame
) -> list[Step]:
    names = list(dict.fromkeys(each.name for each in stage.trees.columns.features))
    both = pd.concat([typical[names], row[names]], ignore_index=True)
    differ = [name for name in names if not both[name].duplicated().iloc[1]]
    count = len(differ)

    def logits(own: Bools) -> Floats:
        """Map the score with the row's own value in some columns (cases x columns that differ)."""
        taken = {name: np.ones(len(own), dtype=np.int64) for name in names}
        taken |= {name: own[:, i].astype(np.int64) for i, name in enumerate(differ)}
        cases = pd.DataFrame({name: both[name].take(at).array for name, at in taken.items()})
        return stage.logit(np.repeat(logit, len(cases)), cases)

    alone = logits(np.vstack([np.zeros((1, count), bool), np.eye(count, dtype=bool)]))
    order = np.argsort(-np.abs(alone[1:] - alone[0]), kind="stable")
    changed = np.zeros((count + 1, count), bool)
    changed[:, order] = np.tri(count + 1, count, -1, dtype=bool)
    changes = np.diff(logits(changed), prepend=logit).tolist()
    columns = [(differ[i], _words(both[differ[i]].iloc[1])) for i in order]
    return [
        (name, value, change)
        for (name, value), change in zip([(TYPICAL, ""), *columns], changes, strict=True)
    ]


def _words(value: object) -> str:
    if pd.isna(value):
        return MISSING
    fraction = isinstance(value, float | np.floating) and not value.is_integer()
    return f"{value:.6g}" if fraction else value_text(value)
