"""What a column of a table is: its kind, its values as text, its description."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from hetcal.progress import Progress, silent

Kind = Literal["number", "category", "date", "other"]
FeatureKind = Literal["number", "category"]
Kinds = Mapping[str, FeatureKind]
"""The known kinds of columns, by name; other columns are typed by their values."""


def column_kind(column: pd.Series) -> Kind:
    """Return what a column holds; booleans and text are categories."""
    text = isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
    if text or types.is_bool_dtype(column):
        return "category"
    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
        return "number"
    if types.is_datetime64_any_dtype(column):
        return "date"
    simple = ("string", "boolean", "empty")
    if types.is_object_dtype(column) and types.infer_dtype(column, skipna=True) in simple:
        return "category"
    return "other"


def value_text(value: object) -> str:
    """Write a value as text: whole numbers without a decimal point, booleans as True/False.

    Examples
    --------
    >>> value_text(1.0), value_text(0.5), value_text(np.True_), value_text("yes")
    ('1', '0.5', 'True', 'yes')
    """
    if isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def as_text(column: pd.Series) -> pd.Series:
    """Write every value of a column as text; missing values stay missing."""
    texts = {value: value_text(value) for value in column.dropna().unique()}
    return column.map(texts).astype("str")


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "test row"), counted(2000, "test row")
    ('1 test row', '2,000 test rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def row_count(rows: int) -> str:
    """Write a number of rows."""
    return counted(rows, "row")


def near_names(name: str, names: Sequence[str]) -> list[str]:
    """Return up to three of `names` that are most like `name`, the nearest first.

    Case and spaces around the name do not matter; names that only share some letters are
    left out.

    Examples
    --------
    >>> near_names(" incme", ["age", "Income"]), near_names("age", ["usage_8"])
    (['Income'], [])
    """
    lower = {each.lower(): each for each in reversed(names)}
    found = difflib.get_close_matches(name.strip().lower(), list(lower), n=3, cutoff=0.75)
    return [lower[each] for each in found]


def value_codes(column: pd.Series) -> tuple[NDArray[np.int64], list[str]]:
    """Enumerate the distinct values of a column.

    Returns
    -------
    codes : int array
        Position of each row's value in `values`, -1 where it is missing.
    values : list of str
        The distinct values as text, smallest first (numbers by size).
    """
    codes, found = pd.factorize(column, sort=not types.is_object_dtype(column))
    position: dict[str, int] = {}
    places = [position.setdefault(value_text(value), len(position)) for value in found]
    return np.array([*places, -1], dtype=np.int64)[codes], list(position)


def distinct_count(column: pd.Series) -> int:
    """Count the distinct values; missing values do not count.

    Numbers are sorted, which takes less time and memory than a table of them.

    Examples
    --------
    >>> distinct_count(pd.Series([2.0, 1.0, np.nan, 2.0])), distinct_count(pd.Series(["a", "a"]))
    (2, 1)
    """
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iuf":
        return int(column.nunique())
    values = np.sort(column.to_numpy())  # missing values come last
    values = values[: values.size - int(np.isnan(values).sum())]
    return int(np.count_nonzero(values[1:] != values[:-1])) + bool(values.size)


def describe_columns(frame: pd.DataFrame, progress: Progress = silent) -> pd.DataFrame:
    """Describe every column of a table.

    Returns
    -------
    DataFrame
        Columns: column, kind, missing (count), distinct (count, without missing values)
        and example (the first value, as text; fractions have six digits).
    """
    rows = []
    for i, (name, column) in enumerate(frame.items()):
        progress(i / frame.shape[1], f"Describing column {i + 1} of {frame.shape[1]}")
        missing, distinct = int(column.isna().sum()), distinct_count(column)
        rows.append((name, column_kind(column), missing, distinct, _example(column)))
    return pd.DataFrame(rows, columns=["column", "kind", "missing", "distinct", "example"])


def _example(column: pd.Series) -> str:
    first = column.first_valid_index()
    if first is None:
        return ""
    value = column.loc[first]
    fraction = isinstance(value, float | np.floating) and not value.is_integer()
    return f"{value:.6g}" if fraction else value_text(value)
