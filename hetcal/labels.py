"""The label column: its values, and which of them is positive."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints
from hetcal.columns import column_kind, row_count, value_codes, value_text
from hetcal.errors import TableError

_POSITIVE = {"yes", "y", "true", "t", "positive", "pos", "+", "event", "case", "bad"}
_NEGATIVE = {"no", "n", "false", "f", "negative", "neg", "-", "none", "control", "good"}
_SHOWN_VALUES = 5


def label_values(column: pd.Series) -> list[str]:
    """Return the distinct values of a column as text, without missing values, smallest first."""
    return value_codes(column)[1]


def alike_values(values: Sequence[str]) -> list[list[str]]:
    """Return the groups of values that differ only in case or in spaces.

    Examples
    --------
    >>> alike_values(["No", "Yes", "yes "])
    [['Yes', 'yes ']]
    """
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def guess_positive(values: Sequence[str]) -> str | None:
    """Guess which of two label values is the positive one.

    Words such as yes and no decide first, then a leading > or "not", then size
    (of numbers, else alphabetical). Anything but two values gives None.

    Examples
    --------
    >>> guess_positive(["<=50K", ">50K"]), guess_positive(["1", "2"]), guess_positive(["a"])
    ('>50K', '2', None)
    """
    if len(values) != 2:
        return None
    return max(values, key=_positivity)


def _positivity(value: str) -> tuple[int, float, str]:
    word = value.strip().lower()
    if word in _POSITIVE:
        sign = 1
    elif word in _NEGATIVE or word.startswith(("<", "not ", "no ", "non")):
        sign = -1
    else:
        sign = int(word.startswith(">"))
    try:
        return sign, float(word), value
    except ValueError:
        return sign, 0.0, value


def positive_rate(y: NDArray[np.integer], weight: Floats | None = None) -> float:
    """Return the share of positive rows, by weight if they have one; NaN without any.

    Examples
    --------
    >>> positive_rate(np.array([1, 0, 0])), positive_rate(np.array([1, 0]), np.array([3.0, 1.0]))
    (0.3333333333333333, 0.75)
    """
    total = y.size if weight is None else weight.sum()
    positive = y.sum() if weight is None else weight @ y
    return float(positive / total) if total else float("nan")


def encode_label(
    column: pd.Series, positive: str | None, drop_unlabelled: bool
) -> tuple[NDArray[np.int8], Bools, str]:
    """Turn a label column into zeros and ones.

    A positive value that is named stands against all other values together.

    Returns
    -------
    y : int8 array
        1 where the label is positive, for every row of the column.
    labelled : bool array
        Rows whose label is not missing.
    positive : str
        The positive value that was used.

    Raises
    ------
    TableError
        When the column has one value, or more than two and no positive one is named, or
        lacks some.
    """
    codes, values = label_codes(column, drop_unlabelled)
    labelled = codes >= 0
    if len(values) < 2 or positive is None:
        _check_two(str(column.name), values, np.bincount(codes[labelled], minlength=len(values)))
    chosen = _chosen_positive(str(column.name), values, positive)
    return (codes == values.index(chosen)).astype(np.int8), labelled, chosen


def label_codes(column: pd.Series, drop_unlabelled: bool) -> tuple[Ints, list[str]]:
    """Return the number of each row's label and all labels as text; -1 where there is none.

    Raises
    ------
    TableError
        When the column holds fractions, or lacks labels that may not be dropped.
    """
    codes, values = value_codes(column)
    _check_fractions(column)
    missing = int((codes < 0).sum())
    if missing and values and not drop_unlabelled:
        raise TableError(
            f"The label column '{column.name}' is empty in {missing:,} of {row_count(codes.size)}.",
            "Every row needs a label.",
            "Tick 'leave rows without a label out' (--drop-unlabelled on the command line), or "
            "fill these labels in.",
        )
    return codes, values


def _check_fractions(column: pd.Series) -> None:
    if column_kind(column) != "number" or not pd.api.types.is_float_dtype(column):
        return
    numbers = column.to_numpy(dtype=np.float64)
    fractions = numbers[np.isfinite(numbers) & (numbers != np.round(numbers))]
    if fractions.size:
        examples = ", ".join(f"{value:.6g}" for value in np.unique(fractions)[:3])
        raise TableError(
            f"The label column '{column.name}' holds fractions ({examples}).",
            "A label names classes, such as 0 and 1; fractions look like scores.",
            "Choose another label column, or recode this one to 0 and 1.",
        )


def _check_two(name: str, values: Sequence[str], rows: NDArray[np.int64]) -> None:
    if len(values) == 2:
        return
    if not values:
        wrong = f"The label column '{name}' has no values at all."
    elif len(values) == 1:
        wrong = (
            f"The label column '{name}' has a single value ('{values[0]}' in {row_count(rows[0])})."
        )
    else:
        wrong = (
            f"The label column '{name}' has {len(values):,} distinct values "
            f"({_counts(values, rows)})."
        )
    many = len(values) > 2
    raise TableError(
        wrong,
        "Two classes are needed" + (", or one that stands against all others." if many else "."),
        ("Name a positive value, choose" if many else "Choose")
        + " another label column, or recode this one to 0 and 1.",
    )


def _counts(values: Sequence[str], rows: NDArray[np.int64]) -> str:
    """List values with their rows, the most frequent first."""
    order = np.argsort(-rows, kind="stable")[:_SHOWN_VALUES]
    shown = ", ".join(f"'{values[i]}' in {row_count(rows[i])}" for i in order)
    return shown if len(values) <= _SHOWN_VALUES else f"{shown}, …"


def _chosen_positive(name: str, values: Sequence[str], positive: str | None) -> str:
    if positive is None:
        return max(values, key=_positivity)
    for reading in (str, _plain, _truth):
        meant = [value for value in values if reading(value) == reading(positive)]
        if len(meant) == 1:
            return meant[0]
    raise TableError(
        f"The positive value '{positive}' does not occur in the label column '{name}'.",
        f"It must be one of its values, {_either(values)}.",
        "Choose one of these as the positive value.",
    )


def _either(values: Sequence[str]) -> str:
    shown = [f"'{value}'" for value in values[:_SHOWN_VALUES]]
    if len(values) > _SHOWN_VALUES:
        return f"such as {', '.join(shown)}"
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def _plain(text: str) -> str:
    """Read a value without regard to case, spaces around it and needless decimals."""
    try:
        return value_text(float(text))
    except ValueError:
        return text.strip().casefold()


def _truth(text: str) -> str:
    """Read true and false as 1 and 0."""
    return {"true": "1", "false": "0"}.get(_plain(text), _plain(text))
