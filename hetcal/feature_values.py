"""Columns as a tree compares them: numbers in single precision, categories by name."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Singles
from hetcal.columns import FeatureKind, column_kind, value_text
from hetcal.errors import PartitionError


def feature_kind(column: pd.Series) -> FeatureKind:
    """Tell by its type whether a column holds numbers or categories, or refuse it."""
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

    A value in single precision is at most the threshold if it is at most this, so that rows
    need not be widened to be compared exactly as scikit-learn does.

    Examples
    --------
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
    # Whole numbers take the way of fractions, since a gap elsewhere makes them such.
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
