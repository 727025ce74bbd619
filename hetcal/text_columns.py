"""Turn columns of text into numbers and dates, and say what was decided."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hetcal.arrays import Bools
from hetcal.columns import counted
from hetcal.errors import TableError

MARKERS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")
"""Texts that mean "missing" in a column of numbers; a column of text keeps them."""

_NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))$"
_CODE = r"^\s*[+-]?0[0-9xX]"  # 00123 and 0x1A are codes: as numbers they would change
_WHOLE = r"^[+-]?[0-9]{19,}$"
_NUMBER_SHARE = 0.9
# Many different texts in many rows are no markers but codes, such as V57 among numbers.
_MOST_MARKERS = 5
_TYPING_ERRORS = 0.005


class TypedColumn(NamedTuple):
    """A column with its type found, and what there is to say about it."""

    values: pa.ChunkedArray
    note: str | None = None


def typed_column(name: str, text: pa.ChunkedArray, decimal: str = ".") -> TypedColumn:
    """Find the type of a column of text: whole numbers, numbers, dates or text.

    Parameters
    ----------
    name : str
        The column's name, for the note.
    text : ChunkedArray of strings
        The fields, null where empty.
    decimal : str
        The decimal mark, "." or ",".
    """
    if text.null_count == len(text):
        return TypedColumn(text.cast(pa.float64()), f"Column '{name}' has no values.")
    plain = _with_point(text, decimal)
    numbers = _cast(plain)
    if numbers is not None:
        return _checked_numbers(name, text, numbers)
    return _mixed_column(name, text, _Fields(plain))


def number_column(name: str, text: pa.ChunkedArray, decimal: str = ".") -> TypedColumn:
    """Read a column of text that is known to hold numbers; parameters as in `typed_column`.

    A few other texts become missing, as they do where the type is found.

    Raises
    ------
    TableError
        When more than one value in ten is no number, naming some.
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
    """Write decimal commas as points; a point already there is no number any more."""
    if decimal == ".":
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", "~"), ",", ".")


def _cast(text: pa.ChunkedArray | pa.Array) -> Any:
    """Return the numbers that all fields are, whole ones if possible; else None."""
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
        """Numbers among the values that no marker calls missing; 1 where there are none."""
        return float(1 - self.rows[self.other].sum() / self.present)

    @property
    def numbers(self) -> pa.ChunkedArray:
        """The number of each row, null where the field is none."""
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
    """Keep codes and too large whole numbers as text."""
    example = _first_match(_rewritten(text, numbers), _CODE)
    if example is not None:
        return TypedColumn(text, _code_note(name, example))
    if pa.types.is_floating(numbers.type) and pc.max(pc.abs(numbers)).as_py() >= 2.0**63:
        example = _first_match(text, _WHOLE)
        if example is not None:
            return TypedColumn(text, _large_note(name, example))
    return TypedColumn(numbers)


def _rewritten(text: pa.ChunkedArray, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the fields that may be codes: whole numbers that are written otherwise."""
    if not pa.types.is_integer(numbers.type):
        return text
    return text.filter(pc.not_equal(numbers.cast(text.type), text))


def _code_note(name: str, example: str) -> str:
    return f"Column '{name}' is kept as text because values such as '{example}' look like codes."


def _large_note(name: str, example: str) -> str:
    return (
        f"Column '{name}' is kept as text because whole numbers such as {example} "
        "are too large to be exact."
    )


def _mixed_column(name: str, text: pa.ChunkedArray, fields: _Fields) -> TypedColumn:
    """Type a column of which not every field is a number, working on its distinct fields."""
    if fields.share < 0.5 or not fields.number.any():
        return _dates(name, text) or TypedColumn(text)
    others = fields.distinct.filter(pa.array(fields.other))
    typing_errors = fields.rows[fields.other].sum() <= _TYPING_ERRORS * fields.present
    codes = len(others) > _MOST_MARKERS and not typing_errors
    if fields.share < _NUMBER_SHARE or codes:
        return TypedColumn(text, _text_note(name, fields.share, others))
    checked = _checked_numbers(name, text, fields.numbers)
    return checked if checked.note is not None else _with_gaps(name, fields)


def _with_gaps(name: str, fields: _Fields) -> TypedColumn:
    """Return the numbers, and say what became missing."""
    lost = ~fields.number
    if not lost.any():  # only spaces around the numbers stood in the way
        return TypedColumn(fields.numbers)
    note = _missing_note(name, int(fields.rows[lost].sum()), fields.most_frequent(lost))
    return TypedColumn(fields.numbers, note)


def _quoted(values: pa.Array) -> str:
    return ", ".join(f"'{value}'" for value in values.to_pylist())


def _missing_note(name: str, count: int, examples: pa.Array) -> str:
    return (
        f"Column '{name}' holds numbers; {counted(count, 'other value')} "
        f"({_quoted(examples)}) became missing."
    )


def _text_note(name: str, share: float, others: pa.Array) -> str:
    return (
        f"Column '{name}' is kept as text: {share:.0%} of its values are numbers, "
        f"others such as {_quoted(others[:3])} are not."
    )


def _dates(name: str, text: pa.ChunkedArray) -> TypedColumn | None:
    """Read a column as dates when every field is one in ISO form."""
    try:
        return TypedColumn(text.cast(pa.timestamp("us")), f"Column '{name}' was read as dates.")
    except pa.ArrowInvalid:
        return None
