"""The label column: its values, and which of them is positive or what number each has."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints
from hetcal.columns import column_kind, counted, row_count, value_codes, value_text
from hetcal.errors import TableError

_POSITIVE = {"yes", "y", "true", "t", "positive", "pos", "+", "event", "case", "bad"}
_NEGATIVE = {"no", "n", "false", "f", "negative", "neg", "-", "none", "control", "good"}
_SHOWN_VALUES = 5
MOST_CLASSES = 100


@dataclass(frozen=True)
class Label:
    """A label column as numbers.

    Parameters
    ----------
    y : array
        int8, 1 where the label is positive; with `classes`, the number of each row's class.
    labelled : bool array
        Rows whose label is not missing.
    positive : str or None
        The positive value that was used; None where each value is a class.
    classes : tuple of str
        The values in the order of their numbers; empty where one is positive.
    """

    y: Ints
    labelled: Bools
    positive: str | None
    classes: tuple[str, ...] = ()


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
    column: pd.Series,
    positive: str | None,
    drop_unlabelled: bool,
    classes: Sequence[str] | None = None,
) -> Label:
    """Turn a label column into numbers.

    A positive value that is named stands against all other values together. If none is named
    and there are more than two values, each of them is a class.

    Parameters
    ----------
    column : Series
        The labels.
    positive : str or None
        The positive value; guessed if there are two.
    drop_unlabelled : bool
        Whether labels may be missing.
    classes : sequence of str, optional
        All values in the order of the model's outputs, where each is a class; ascending by
        default.

    Raises
    ------
    TableError
        When the column has one value, or too many, or lacks some, or the classes are others.
    """
    codes, values = label_codes(column, drop_unlabelled)
    labelled = codes >= 0
    if positive is None and len(values) > 2:
        _check_not_too_many(str(column.name), values, codes[labelled])
        order = _class_order(str(column.name), classes or values, values)
        number = np.array([order.index(value) for value in values])
        return Label(number[codes], labelled, None, order)
    _check_several(str(column.name), values, codes)
    chosen = _chosen_positive(str(column.name), values, positive)
    return Label((codes == values.index(chosen)).astype(np.int8), labelled, chosen)


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


def _check_several(name: str, values: Sequence[str], codes: Ints) -> None:
    if len(values) > 1:
        return
    rows = row_count(int((codes >= 0).sum()))
    raise TableError(
        f"The label column '{name}' has a single value ('{values[0]}' in {rows})."
        if values
        else f"The label column '{name}' has no values at all.",
        "Two classes are needed.",
        "Choose another label column, or recode this one to 0 and 1.",
    )


def _check_not_too_many(name: str, values: Sequence[str], codes: Ints) -> None:
    if len(values) <= MOST_CLASSES:
        return
    rows = np.bincount(codes, minlength=len(values))
    often = np.argsort(-rows, kind="stable")[:_SHOWN_VALUES]
    shown = ", ".join(f"'{values[i]}' in {row_count(rows[i])}" for i in often)
    raise TableError(
        f"The label column '{name}' has {len(values):,} distinct values ({shown}, …).",
        f"Up to {MOST_CLASSES} classes can be calibrated.",
        "Choose another label column, or name a positive value to set it against all others.",
    )


def _class_order(name: str, named: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    unknown = sorted(set(named) ^ set(values))
    if unknown or len(set(named)) < len(named):
        raise TableError(
            f"The classes {', '.join(named)} are not the values of the label column '{name}'"
            + (f" ({unknown[0]} is on one side only)." if unknown else ": one is named twice."),
            f"The column has {counted(len(values), 'value')}: {', '.join(values)}.",
            "Name each of these once, in the order of the model's outputs.",
        )
    return tuple(named)


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
