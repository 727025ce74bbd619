"""The rows of a finished run: which are worth a look, and why each has its probability."""

from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Bools, Ints
from hetcal.data.columns import category_names, column_kind
from hetcal.metrics.metrics import loss_of_rows
from hetcal.results.applied import MOST_ROWS
from hetcal.results.why import map_steps, typical_row, why_row
from hetcal.runs.run import Run

RowOrder = Literal["most changed", "most wrong", "random", "as in the table"]
ROW_ORDERS: tuple[RowOrder, ...] = get_args(RowOrder)


def listed_rows(run: Run, most: int = MOST_ROWS) -> pd.DataFrame:
    """List test rows of two classes with their probabilities, at most so many, evenly drawn.

    Returns
    -------
    DataFrame
        `row` (its position in the table, from 0), `leaf`, `y`, `before` and `after`
        (probabilities), `change` (of the logit) and `loss` (log-loss after).
    """
    rows = run.split.test
    if rows.size > most:
        rows = rows[(np.arange(most) * (rows.size / most)).astype(np.int64)]
    before, after, y = run.scores.logit[rows], run.after_of(rows), run.table.y[rows]
    return pd.DataFrame(
        {
            "row": rows,
            "leaf": run.leaf[rows],
            "y": y,
            "before": expit(before),
            "after": expit(after),
            "change": after - before,
            "loss": loss_of_rows(y, after),
        }
    )


def chosen_rows(
    rows: pd.DataFrame, order: RowOrder, leaf: int = 0, seed: int = 0, most: int = 50
) -> pd.DataFrame:
    """Return the first rows of a table of `listed_rows` in some order, of one leaf or of all."""
    inside = rows if leaf == 0 else rows[rows["leaf"] == leaf]
    if order == "most changed":
        inside = inside.iloc[np.argsort(-inside["change"].abs().to_numpy(), kind="stable")]
    elif order == "most wrong":
        inside = inside.iloc[np.argsort(-inside["loss"].to_numpy(), kind="stable")]
    elif order == "random":
        drawn = np.random.default_rng(seed).permutation(len(inside))[:most]
        inside = inside.iloc[drawn]
    return inside.head(most).reset_index(drop=True)


def rows_with(X: pd.DataFrame, rows: Ints, text: str) -> Bools:
    """Say which of some rows have a value: part of a category's name, or a number.

    `text` is the value, of any column, or `column = value`; capital letters do not matter.
    """
    name, equals, value = (each.strip() for each in text.partition("="))
    if not equals:
        name, value = "", name
    found = np.zeros(rows.size, dtype=bool)
    for column in X.columns:
        if not name or str(column).casefold() == name.casefold():
            found |= _has(X[column].iloc[rows], value)
    return found


def _has(column: pd.Series, value: str) -> Bools:
    if column_kind(column) == "category":
        codes, names = category_names(column)
        fits = [value.casefold() in name.casefold() for name in names]
        return np.append(fits, False).astype(bool)[codes]  # the last is that of code -1
    try:
        wanted = float(value)
    except ValueError:
        return np.zeros(len(column), dtype=bool)
    if column_kind(column) != "number":
        return np.zeros(len(column), dtype=bool)
    return (column == wanted).to_numpy(dtype=bool, na_value=False)


def typical_of(run: Run) -> pd.DataFrame:
    """Return the training row to compare with, in the columns that the scheme reads."""
    names = set() if run.choice is None else run.choice.scheme.column_names
    columns = [name for name in run.table.X.columns if str(name) in names]
    return typical_row(run.table.X[columns].iloc[_some(run.split.train)])


def _some(rows: Ints) -> Ints:
    return rows[:: -(-rows.size // MOST_ROWS) or 1]


def explain_row(run: Run, row: int, typical: pd.DataFrame) -> pd.DataFrame:
    """Return the steps from the score of a row of two classes to its calibrated probability.

    `row` is its position in the table, and `typical` that of `typical_of`; see `why_row`.
    """
    score = float(run.scores.logit[row])
    if run.choice is not None:
        return why_row(run.choice.scheme, score, run.table.X.iloc[[row]], typical)
    after = float(run.after_of(np.array([row]))[0])
    leaf = int(run.leaf[row])
    rule = run.partition.leaves[leaf - 1].rule
    if run.calibrated is not None:
        return map_steps(score, after, "map of all classes", f"leaf {leaf}, {rule}")
    shape = next(each.shape for each in run.leaf_maps.maps_ if each.leaf == leaf)
    return map_steps(score, after, f"map of leaf {leaf}", f"{rule}: {shape.words}")
