"""What a column of a table is: its kind, its values as text, its description."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from hetcal.arrays import Floats, Ints, Singles
from hetcal.errors import PartitionError, TableError
from hetcal.progress import Progress, silent

Kind = Literal["number", "category", "date", "other"]
FeatureKind = Literal["number", "category"]
Kinds = Mapping[str, FeatureKind]
"""The known kinds of columns, by name; other columns are typed by their values."""
RAW = " (raw)"  # ends the name of a raw column where a column prepared for a model has that name


def fewest_category_rows(rows: int) -> int:
    """Choose the fewest training rows of a category: 50, or one in twenty of a small table.

    The rates of smaller categories are mostly noise, and an order by them would separate the
    labels of the training rows better than any true feature.

    >>> fewest_category_rows(40_000), fewest_category_rows(300)
    (50, 15)
    """
    return min(50, rows // 20)


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

    >>> counted(1, "test row"), counted(2000, "test row")
    ('1 test row', '2,000 test rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def row_count(rows: int) -> str:
    """Write a number of rows."""
    return counted(rows, "row")


def check_names(names: Sequence[str], table: str = "The table", hint: str = "") -> None:
    """Refuse a table in which several columns share a name."""
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        more = f" (and {len(twice) - 1} more repeated names)" if len(twice) > 1 else ""
        raise TableError(
            f"{table} has more than one column named '{twice[0]}'{more}.",
            "Every column needs a name of its own.",
            f"Rename or remove one of them{hint}.",
        )


def value_codes(column: pd.Series) -> tuple[NDArray[np.int64], list[str]]:
    """Return the position of each row's value among the distinct values, -1 where it is missing.

    The distinct values come as text, smallest first (numbers by size).
    """
    codes, found = pd.factorize(column, sort=not types.is_object_dtype(column))
    position: dict[str, int] = {}
    places = [position.setdefault(value_text(value), len(position)) for value in found]
    return np.array([*places, -1], dtype=np.int64)[codes], list(position)


def distinct_count(column: pd.Series) -> int:
    """Count the distinct values; missing values do not count.

    Numbers are sorted, which takes less time and memory than a table of them.

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

    Columns: column, kind, missing (count), distinct (count, without missing values) and example
    (the first value, as text; fractions have six digits).
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


def feature_kind(column: pd.Series) -> FeatureKind:
    """Return by its type whether a column holds numbers or categories, or refuse it."""
    kind = column_kind(column)
    if kind in ("number", "category"):
        return kind
    mixed = "lists or other values that are neither numbers nor text"
    what = mixed if pd.api.types.is_object_dtype(column) else f"values of type {column.dtype}"
    raise PartitionError(
        f"The column '{column.name}' holds {what}.",
        "A partition splits on numbers and on categories.",
        "Ignore the column, or turn it into a number (such as days since a date) or into text.",
    )


def named_columns(X: pd.DataFrame | NDArray[Any]) -> pd.DataFrame:
    """Give every column a name of text; those of an array are x0, x1, …."""
    if isinstance(X, pd.DataFrame):
        return X.set_axis([str(name) for name in X.columns], axis=1)
    values = np.asarray(X)
    if values.ndim != 2:
        raise PartitionError(
            f"The rows are an array of shape {values.shape}.",
            "A partition reads a table: rows by columns.",
            "Give a data frame or a two-dimensional array.",
        )
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


def single_limit(threshold: float) -> np.float32:
    """Return the largest single-precision number that is not above a threshold.

    Single-precision values can be compared with it exactly as scikit-learn does.

    >>> float(single_limit(0.5)), float(single_limit(0.1)) < 0.1
    (0.5, True)
    """
    return single_limits(np.array([threshold], dtype=np.float64))[0]


def single_limits(thresholds: Floats) -> Singles:
    """Return the `single_limit` of many thresholds."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        return np.where(near <= thresholds, near, np.nextafter(near, np.float32(-np.inf)))


def single_values(column: pd.Series) -> Singles:
    """Return the values in single precision; missing values are NaN."""
    if not pd.api.types.is_numeric_dtype(column) and not column.isna().all():
        raise PartitionError(
            f"The column '{column.name}' holds text or other values that are not numbers.",
            "The partition splits it as a number.",
            "Give the column as numbers, with empty cells for missing values.",
        )
    if column.dtype == np.float32:
        return column.to_numpy()
    # Whole numbers are converted like fractions, since a missing value makes them fractions.
    double = column.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):  # beyond single precision means infinite
        return double.astype(np.float32)


def category_codes(column: pd.Series, categories: tuple[str, ...]) -> Ints:
    """Return each value's position in `categories`; -1 if it is missing or not there."""
    codes, names = category_names(column)
    position = {name: index for index, name in enumerate(categories)}
    known = np.array([position.get(name, -1) for name in names] + [-1], dtype=np.int64)
    return known[codes]


def category_names(column: pd.Series) -> tuple[Ints, list[str]]:
    """Return codes and names of a column; equal names may repeat, code -1 is missing.

    Values that are not text have the name that a person would write:
    `True`, `3` (also for 3.0), `2.5`.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        codes, values = _factorize(column)
    return codes.astype(np.int64), [value_text(value) for value in values]


def _factorize(column: pd.Series) -> tuple[Ints, pd.Index]:
    try:
        return pd.factorize(column)
    except TypeError as error:
        raise PartitionError(
            f"The column '{column.name}' holds lists or other nested values.",
            "A partition splits on numbers and on categories.",
            "Ignore the column, or turn its values into text.",
        ) from error


LARGEST = 1e100  # squares of sums of such weights are finite, and of its inverse above 0


def row_weights(sample_weight: Any, X: Any, *, may_vanish: bool = False) -> Floats:
    """Return the weights of rows, none of them negative, or refuse them as scikit-learn does.

    With `may_vanish` all of them may be 0. Only their ratios matter: weights whose squares would
    overflow or underflow are divided by a power of two, which rounds nothing.
    """
    weight = _checked(1.0 if sample_weight is None else sample_weight, len(X))
    largest = float(weight.max(initial=0.0))
    if not largest and not may_vanish:
        message = "Sample weights must contain at least one non-zero number."
        raise ValueError(message)
    if not largest or 1 / LARGEST <= largest <= LARGEST:
        return weight
    return np.ldexp(weight, -int(np.frexp(largest)[1]))


def _checked(sample_weight: Any, rows: int) -> Floats:
    from sklearn.utils import check_array  # takes long to load
    from sklearn.utils.validation import check_non_negative

    weight: Floats = (
        np.full(rows, sample_weight, dtype=np.float64)
        if isinstance(sample_weight, Real)
        else check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
        )
    )
    check_non_negative(weight, "`sample_weight`")
    if weight.shape != (rows,):
        message = f"Sample weights have the shape {weight.shape}, not ({rows},): one for each row."
        raise ValueError(message)
    return weight


ONE_HOT_MARK = "_"
FEWEST_OF_A_GROUP = 2  # columns of a group
LOOKED_AT = 1_000  # rows that rule most columns out


def one_hot_groups(frame: pd.DataFrame, rows: Ints | None = None) -> dict[str, str]:
    """Find one-hot columns, which say which value one column had, in all rows or in some.

    Columns of a group have a common beginning, which ends before a '_', and hold 0 and 1; every
    row has 1 in exactly one of them.

    Returns
    -------
    dict
        The name of the group by column.

    Examples
    --------
    >>> rows = pd.DataFrame({"job_cook": [1, 0], "job_smith": [0, 1], "is_cook": [1, 0]})
    >>> one_hot_groups(rows)
    {'job_cook': 'job', 'job_smith': 'job'}
    """
    some = frame.iloc[:LOOKED_AT] if rows is None else frame.iloc[rows[:LOOKED_AT]]
    names = [name for name in frame.columns if isinstance(name, str) and ONE_HOT_MARK in name]
    flags = {name for name in names if _is_flag(some, name)}
    found: dict[str, str] = {}
    for group in sorted(_beginnings(flags), key=lambda each: (len(each), each)):
        own = [name for name in names if name.startswith(group + ONE_HOT_MARK)]
        if len(own) < FEWEST_OF_A_GROUP or not flags.issuperset(own) or found.keys() & set(own):
            continue
        if _one_each(some[own]) and _one_each(
            frame[own] if rows is None else frame[own].iloc[rows]
        ):
            found |= dict.fromkeys(own, group)
    return found


def _is_flag(some: pd.DataFrame, name: str) -> bool:
    """Whether a column that is there once holds 0 and 1 in some rows."""
    column = some[name]
    if not isinstance(column, pd.Series) or not isinstance(column.dtype, np.dtype):
        return False
    return column.dtype.kind in "iuf" and _zero_or_one(column.to_numpy(dtype=np.float64))


def _zero_or_one(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _beginnings(names: Iterable[str]) -> set[str]:
    return {name[:i] for name in names for i, sign in enumerate(name) if sign == ONE_HOT_MARK and i}


def _one_each(frame: pd.DataFrame) -> bool:
    """Whether every row has 1 in one column and 0 in all others."""
    values = frame.to_numpy(dtype=np.float64)
    return _zero_or_one(values) and bool((values.sum(axis=1) == 1).all())
