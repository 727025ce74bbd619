"""Turn columns of text into numbers and dates, and note what was decided."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hetcal.arrays import Bools
from hetcal.data.columns import Kinds, as_text, column_kind, counted
from hetcal.errors import TableError

MARKERS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")
"""Texts that mean "missing" in a column of numbers; a column of text keeps them."""

_NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))$"
_CODE = r"^\s*[+-]?0[0-9xX]"  # 00123 and 0x1A are codes: as numbers they would change
_WHOLE = r"^[+-]?[0-9]{19,}$"
_NUMBER_SHARE = 0.9
# Many different texts in many rows are codes, such as V57 among numbers, not markers.
_MOST_MARKERS = 5
_TYPING_ERRORS = 0.005


class TypedColumn(NamedTuple):
    """A column with its type, and a note on how it was read."""

    values: pa.ChunkedArray
    note: str | None = None


def known_column(name: str, text: pa.ChunkedArray, decimal: str, kinds: Kinds) -> TypedColumn:
    """Type a column of text by its known kind, or by its values; a category keeps its text."""
    kind = kinds.get(name)
    if kind == "category":
        return TypedColumn(text)
    return (number_column if kind == "number" else typed_column)(name, text, decimal)


def as_kinds(frame: pd.DataFrame, kinds: Kinds) -> tuple[pd.DataFrame, list[str]]:
    """Convert columns that already have a type to the known kinds; note what became missing.

    Text becomes numbers, numbers and dates become categories; boolean columns serve as both
    kinds. Values that are not numbers are refused by name.
    """
    changed, notes = {}, []
    for name, kind in kinds.items():
        if name not in frame.columns or column_kind(frame[name]) == kind:
            continue
        if kind == "category":
            changed[name] = as_text(frame[name])
        elif not pd.api.types.is_bool_dtype(frame[name]):
            changed[name], note = _numbers(frame[name])
            notes += [] if note is None else [note]
    return frame.assign(**changed), notes


def _numbers(column: pd.Series) -> tuple[pd.Series, str | None]:
    if column_kind(column) != "category":
        raise TableError(
            f"Column '{column.name}' holds values of type {column.dtype}.",
            "This column is read as numbers.",
            "Give numbers, or leave these cells empty.",
        )
    text = pa.chunked_array([pa.array(as_text(column), pa.large_string(), from_pandas=True)])
    values, note = number_column(str(column.name), text)
    return pd.Series(values.to_pandas().to_numpy(), index=column.index), note


def typed_column(name: str, text: pa.ChunkedArray, decimal: str = ".") -> TypedColumn:
    """Find the type of a column of text, null where empty: numbers, dates or text."""
    if text.null_count == len(text):
        return TypedColumn(text.cast(pa.float64()), f"Column '{name}' has no values.")
    plain = _with_point(text, decimal)
    numbers = _cast(plain)
    if numbers is not None:
        return _checked_numbers(name, text, numbers)
    return _mixed_column(name, text, _Fields(plain))


def number_column(name: str, text: pa.ChunkedArray, decimal: str = ".") -> TypedColumn:
    """Read a column of text that is known to hold numbers.

    A few other texts become missing; more than one in ten are refused.
    """
    plain = _with_point(text, decimal)
    numbers = _cast(plain)
    if numbers is not None:
        return TypedColumn(numbers)
    fields = _Fields(plain)
    if fields.share < _NUMBER_SHARE:
        raise TableError(
            f"Column '{name}' holds {_quoted(fields.most_frequent(fields.other))}.",
            "This column is read as numbers; missing values are empty cells or one of "
            f"{', '.join(MARKERS)}.",
            "Give numbers, or leave these cells empty.",
        )
    return _with_gaps(name, fields)


def _with_point(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Write decimal commas as points; a field with a point is then not a number."""
    if decimal == ".":
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", "~"), ",", ".")


def _cast(text: pa.ChunkedArray | pa.Array) -> Any:
    """Convert the fields to numbers, whole ones if possible; None if any is not a number."""
    for kind in (pa.int64(), pa.float64()):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


class _Fields:
    """The distinct fields of a column, trimmed: numbers, markers of missing values, others."""

    def __init__(self, text: pa.ChunkedArray) -> None:
        encoded = text.combine_chunks().dictionary_encode()
        self.indices = encoded.indices
        self.distinct = pc.utf8_trim_whitespace(encoded.dictionary)
        self.rows = np.bincount(self.indices.drop_null().to_numpy(), minlength=len(self.distinct))
        number = pc.match_substring_regex(self.distinct, _NUMBER)
        marker = pc.is_in(self.distinct, pa.array(MARKERS, self.distinct.type))
        self.number = number.to_numpy(zero_copy_only=False)
        self.other = ~self.number & ~marker.to_numpy(zero_copy_only=False)
        self.present = max(self.rows[self.number | self.other].sum(), 1)

    @property
    def share(self) -> float:
        """Share of numbers among the values that are not missing; 1 where there are none."""
        return float(1 - self.rows[self.other].sum() / self.present)

    @property
    def numbers(self) -> pa.ChunkedArray:
        """The number of each row, null where the field is not a number."""
        none = pa.scalar(None, self.distinct.type)
        numbers = _cast(pc.if_else(pa.array(self.number), self.distinct, none))
        return pa.chunked_array([numbers.take(self.indices)])

    def most_frequent(self, chosen: Bools) -> pa.Array:
        """Up to three of the chosen fields, those with most rows first."""
        places = np.flatnonzero(chosen)
        order = np.argsort(-self.rows[places], kind="stable")[:3]
        return self.distinct.take(pa.array(places[order]))


def _first_match(text: pa.ChunkedArray, pattern: str) -> str | None:
    found = text.filter(pc.match_substring_regex(text, pattern))
    return found[0].as_py() if len(found) else None


def _checked_numbers(name: str, text: pa.ChunkedArray, numbers: pa.ChunkedArray) -> TypedColumn:
    """Keep codes and whole numbers that are too large as text."""
    whole = pa.types.is_integer(numbers.type)  # then only rewritten numbers can be codes
    suspects = text.filter(pc.not_equal(numbers.cast(text.type), text)) if whole else text
    example = _first_match(suspects, _CODE)
    if example is not None:
        return TypedColumn(text, _kept(name, f"values such as '{example}' look like codes"))
    if not whole and pc.max(pc.abs(numbers)).as_py() >= 2.0**63:
        example = _first_match(text, _WHOLE)
        if example is not None:
            return TypedColumn(text, large_note(name, example))
    return TypedColumn(numbers)


def large_note(name: str, example: object) -> str:
    """Write the note on whole numbers that floats cannot hold exactly."""
    return _kept(name, f"whole numbers such as {example} are too large to be exact")


def _kept(name: str, why: str) -> str:
    return f"Column '{name}' is kept as text because {why}."


def _mixed_column(name: str, text: pa.ChunkedArray, fields: _Fields) -> TypedColumn:
    """Type a column of which not every field is a number, working on its distinct fields."""
    if fields.share < 0.5 or not fields.number.any():
        return _dates(name, text) or TypedColumn(text)
    others = fields.distinct.filter(pa.array(fields.other))
    typing_errors = fields.rows[fields.other].sum() <= _TYPING_ERRORS * fields.present
    codes = len(others) > _MOST_MARKERS and not typing_errors
    if fields.share < _NUMBER_SHARE or codes:
        note = (
            f"Column '{name}' is kept as text: {fields.share:.0%} of its values are numbers, "
            f"others such as {_quoted(others[:3])} are not."
        )
        return TypedColumn(text, note)
    checked = _checked_numbers(name, text, fields.numbers)
    return checked if checked.note is not None else _with_gaps(name, fields)


def _with_gaps(name: str, fields: _Fields) -> TypedColumn:
    """Return the numbers, with a note on the values that became missing."""
    lost = ~fields.number
    if not lost.any():  # there were only spaces around the numbers
        return TypedColumn(fields.numbers)
    others = counted(int(fields.rows[lost].sum()), "other value")
    examples = _quoted(fields.most_frequent(lost))
    note = f"Column '{name}' holds numbers; {others} ({examples}) became missing."
    return TypedColumn(fields.numbers, note)


def _quoted(values: pa.Array) -> str:
    return ", ".join(f"'{value}'" for value in values.to_pylist())


def _dates(name: str, text: pa.ChunkedArray) -> TypedColumn | None:
    """Read a column as dates when every field is one in ISO form."""
    try:
        return TypedColumn(text.cast(pa.timestamp("us")), f"Column '{name}' was read as dates.")
    except pa.ArrowInvalid:
        return None
