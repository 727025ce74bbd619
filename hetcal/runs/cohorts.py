"""Cohorts: rows that a person describes by their columns, set beside leaves and branches."""

import operator
import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from hetcal.arrays import Bools
from hetcal.cells.cells import Cells
from hetcal.data.columns import category_names, column_kind
from hetcal.errors import HetcalError, did_you_mean
from hetcal.metrics.metrics import measure_cells
from hetcal.runs.run import Run

SIGNS = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
TERM = re.compile(r"\s*(.+?)\s*(<=|>=|!=|≤|≥|≠|<|>|=)\s*(.+?)\s*")
TYPED = {"≤": "<=", "≥": ">=", "≠": "!="}
AND = re.compile(r"\s+and\s+", re.IGNORECASE)
MISSING = "missing"
EXAMPLE = "age >= 40 and plan = monthly"


def rows_of_cohort(X: pd.DataFrame, text: str) -> Bools:
    """Say which rows a cohort has.

    Parameters
    ----------
    X : DataFrame
        The columns that may be named.
    text : str
        Conditions joined by 'and': a column, one of <=, >=, <, >, =, !=, and a value, which is a
        number, the name of a category, or 'missing'. Capital letters do not matter.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [30, 50, 60], "plan": ["month", "Month", "year"]})
    >>> rows_of_cohort(X, "age >= 40 and plan = month").tolist()
    [False, True, False]
    """
    found = np.ones(len(X), dtype=np.bool_)
    for part in AND.split(text.strip()):
        term = TERM.fullmatch(part)
        if term is None:
            raise HetcalError(
                f"'{part}' is no condition.",
                "A condition is a column, a sign such as = or <=, and a value.",
                f"Write it like this: {EXAMPLE}.",
            )
        name, sign, value = term.groups()
        found &= _meets(_column(X, name), TYPED.get(sign, sign), value)
    return found


def _column(X: pd.DataFrame, name: str) -> pd.Series:
    names = {str(each).casefold(): each for each in X.columns}
    if name.casefold() not in names:
        raise HetcalError(
            f"There is no column '{name}' among the features.",
            "A cohort is described by columns of the table.",
            did_you_mean(name, [str(each) for each in X.columns], "Name one of its features."),
        )
    return X[names[name.casefold()]]


def _meets(column: pd.Series, sign: str, value: str) -> Bools:
    if value.casefold() == MISSING and sign in ("=", "!="):
        absent = column.isna().to_numpy(dtype=np.bool_)
        return absent if sign == "=" else ~absent
    if column_kind(column) == "number":
        return _compared(column, sign, value)
    if sign not in ("=", "!="):
        raise HetcalError(
            f"'{column.name}' has categories, which cannot be compared by {sign}.",
            "Categories are equal (=) or not (!=).",
            f"Write '{column.name} = …' with one of its values.",
        )
    codes, names = category_names(column)
    fits = np.append([each.casefold() == value.casefold() for each in names], False)
    if not fits.any():
        raise HetcalError(
            f"No row has '{value}' in the column '{column.name}'.",
            "A cohort is described by values that occur.",
            did_you_mean(value, names, "Look at the column on the Data page."),
        )
    same: Bools = fits.astype(np.bool_)[codes]  # the last is that of code -1
    return same if sign == "=" else ~same


def _compared(column: pd.Series, sign: str, value: str) -> Bools:
    try:
        number = float(value)
    except ValueError:
        raise HetcalError(
            f"'{value}' is no number, and the column '{column.name}' has numbers.",
            "Numbers are compared with numbers.",
            f"Write it like this: {column.name} <= 10.",
        ) from None
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = ~np.isnan(numbers)
    met: Bools = SIGNS[sign](numbers, number)
    return met & known if sign != "!=" else met


def cohort_cells(run: Run, text: str) -> tuple[Cells, Cells]:
    """Return the test rows of a cohort of two classes, before and after."""
    test, table = run.split.test, run.table
    rows = test[rows_of_cohort(table.X, text)[test]]
    about = table.y[rows], run.leaf[rows], table.weight_of(rows)
    logits = run.scores.logit[rows], run.after_of(rows)
    before, after = (Cells.of_rows(each, *about) for each in logits)
    return before, after


def group_table(groups: Mapping[str, tuple[Cells, Cells]]) -> pd.DataFrame:
    """Measure groups of rows, each before and after.

    Returns
    -------
    DataFrame
        One row per group: `group`, `rows`, `positive_rate`, and for `auc`, `log_loss` and `brier`
        two columns each, with `_before` and `_after`; NaN where they are not defined.
    """
    found = []
    for name, (before, after) in groups.items():
        rows = int(before.rows.sum())
        row: dict[str, object] = {"group": name, "rows": rows, "positive_rate": np.nan}
        if rows:
            row["positive_rate"] = float(np.average(before.y, weights=before.weight))
        for when, cells in (("before", before), ("after", after)):
            measures = measure_cells(cells) if rows else None
            for each in ("auc", "log_loss", "brier"):
                row[f"{each}_{when}"] = np.nan if measures is None else getattr(measures, each)
        found.append(row)
    return pd.DataFrame(found)
