"""The rows of a finished run: which are worth a look, and why each has its probability."""

from collections.abc import Collection
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

RowOrder = Literal["most over-confident", "most changed", "most wrong", "random", "as in the table"]
ROW_ORDERS: tuple[RowOrder, ...] = get_args(RowOrder)
OF_TABLE = "column "  # begins the name of a column of the table, among those of hetcal


def listed_rows(run: Run, most: int = MOST_ROWS) -> pd.DataFrame:
    """List test rows of two classes with their probabilities, at most so many, evenly drawn.

    Returns
    -------
    DataFrame
        `row` (its position in the table, from 0), `leaf`, `y`, `before` and `after`
        (probabilities), `change` (of the logit), `loss_before` and `loss` (log-loss after).
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
            "loss_before": loss_of_rows(y, before),
            "loss": loss_of_rows(y, after),
        }
    )


def chosen_rows(
    rows: pd.DataFrame, order: RowOrder, leaves: Collection[int] = (), seed: int = 0
) -> pd.DataFrame:
    """Return the rows of a table of `listed_rows` in some order, of some leaves or of all.

    The most over-confident rows have the largest log-loss before: the model was sure of the wrong
    label. The most wrong ones have the largest log-loss after.
    """
    inside = rows[rows["leaf"].isin(leaves)] if leaves else rows
    largest = {
        "most over-confident": "loss_before",
        "most changed": "change",
        "most wrong": "loss",
    }
    if order in largest:
        size = inside[largest[order]].abs().to_numpy()
        inside = inside.iloc[np.argsort(-size, kind="stable")]
    elif order == "random":
        inside = inside.iloc[np.random.default_rng(seed).permutation(len(inside))]
    return inside.reset_index(drop=True)


def sorted_rows(
    run: Run, rows: pd.DataFrame, column: str, *, descending: bool = False
) -> pd.DataFrame:
    """Sort rows of `listed_rows` by one of their own columns, or by one of the table's.

    The name of a column of the table begins with `OF_TABLE`; its categories are sorted as text.
    Missing values come last, and rows with equal values stay in their order.
    """
    values = rows[column] if column in rows else _of_table(run, column, rows["row"].to_numpy())
    if column_kind(values) in ("category", "other"):
        values = values.astype("string")
    values = values.reset_index(drop=True)
    order = values.sort_values(ascending=not descending, kind="stable", na_position="last").index
    return rows.iloc[order].reset_index(drop=True)


def _of_table(run: Run, column: str, at: Ints) -> pd.Series:
    name, table = column.removeprefix(OF_TABLE), run.table
    return (table.frame if name == table.roles.label else table.X)[name].iloc[at]


def with_columns(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `listed_rows` as they are written to a file: with label and features.

    `row` counts from 1. Where a column of the table is called like one of hetcal's, its name ends
    in `_in_table`.
    """
    at, table = rows["row"].to_numpy(), run.table
    label = table.frame[table.roles.label].iloc[at].reset_index(drop=True)
    features = table.X.iloc[at].reset_index(drop=True)
    found = rows.drop(columns="y").assign(row=at + 1).reset_index(drop=True)
    own = pd.concat([label, features], axis=1)
    taken = {name: f"{name}_in_table" for name in own.columns if name in found.columns}
    return pd.concat([found, own.rename(columns=taken)], axis=1)


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
