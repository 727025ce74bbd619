"""Guess the role of each column; the user can change it."""

import pandas as pd

from hetcal.data.columns import column_kind, distinct_count, value_codes
from hetcal.data.splits import role_names
from hetcal.data.table import Roles

LABEL_NAMES = ("label", "y", "target", "class", "outcome", "churned", "default", "income")
SCORE_NAMES = ("score", "logit", "logits", "probability", "proba", "prob", "prediction", "pred")
FIRST_ROWS = 1000  # most columns have more than two values among these already
MOST_VALUES = 20  # of a column that may be the label
WEIGHT_NAMES = ("weight", "sample_weight", "row_weight")


def guess_roles(frame: pd.DataFrame, split: str | None = None) -> Roles:
    """Guess label, split (unless it is known), score and weight columns by names and values."""
    split = split or _named_roles(frame)
    others = [name for name in frame.columns if name != split]
    label = _label(frame, others)
    score = _numeric(frame, others, SCORE_NAMES, label)
    weight = _numeric(frame, others, WEIGHT_NAMES, label)
    return Roles(label=label, split=split, score=score, weight=weight)


def _named_roles(frame: pd.DataFrame) -> str | None:
    """Find a column whose every value names a role."""
    for name in frame.columns:
        if column_kind(frame[name]) == "category" and frame[name].nunique() <= len(role_names()):
            _, values = value_codes(frame[name])
            if len(values) > 1 and all(value.strip().lower() in role_names() for value in values):
                return str(name)
    return None


def _label(frame: pd.DataFrame, names: list[str]) -> str:
    """Prefer a well-known name, the best known first; else the last column with two values.

    Without a column of two values, a well-known name may have more; else the last column of
    a few categories or whole numbers is taken, else the last column.
    """
    binary = [name for name in names if _has_two_values(frame[name])]
    known = [name for name in binary or names if name.lower() in LABEL_NAMES]
    known.sort(key=lambda name: LABEL_NAMES.index(name.lower()))
    if known or binary:
        return (known or binary[::-1])[0]
    few = [name for name in names if _has_few_values(frame[name])]
    return (few or names)[-1]


def _has_two_values(column: pd.Series) -> bool:
    return column.iloc[:FIRST_ROWS].nunique() <= 2 and distinct_count(column) == 2


def _has_few_values(column: pd.Series) -> bool:
    named = column_kind(column) == "category" or pd.api.types.is_integer_dtype(column)
    few = column.iloc[:FIRST_ROWS].nunique() <= MOST_VALUES
    return named and few and 1 < column.nunique() <= MOST_VALUES


def _numeric(
    frame: pd.DataFrame, names: list[str], wanted: tuple[str, ...], label: str
) -> str | None:
    for name in names:
        if name != label and name.lower() in wanted and column_kind(frame[name]) == "number":
            return name
    return None
