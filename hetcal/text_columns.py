"""Turn columns of text into numbers and dates, and say what was decided."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    plain = text if decimal == "." else _with_point(text)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = plain.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _checked_numbers(name, text, numbers)
    return _mixed_column(name, text, plain)


def _with_point(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write decimal commas as points; a point already there is no number any more."""
    return pc.replace_substring(pc.replace_substring(text, ".", "~"), ",", ".")


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


def _mixed_column(name: str, text: pa.ChunkedArray, plain: pa.ChunkedArray) -> TypedColumn:
    """Type a column of which not every field is a number, working on its distinct fields."""
    encoded = plain.combine_chunks().dictionary_encode()
    distinct = pc.utf8_trim_whitespace(encoded.dictionary)
    rows = np.bincount(encoded.indices.drop_null().to_numpy(), minlength=len(distinct))
    number = pc.match_substring_regex(distinct, _NUMBER).to_numpy(zero_copy_only=False)
    marker = pc.is_in(distinct, pa.array(MARKERS, distinct.type)).to_numpy(zero_copy_only=False)
    other = ~number & ~marker
    present = max(rows[~marker].sum(), 1)
    share = rows[number].sum() / present
    if share < 0.5:
        return _dates(name, text) or TypedColumn(text)
    codes = other.sum() > _MOST_MARKERS and rows[other].sum() > _TYPING_ERRORS * present
    if share < _NUMBER_SHARE or codes:
        return TypedColumn(text, _text_note(name, share, distinct.filter(pa.array(other))))
    numbers = pa.chunked_array([_looked_up(encoded.indices, distinct, number)])
    checked = _checked_numbers(name, text, numbers)
    if checked.note is not None:
        return checked
    lost = np.flatnonzero(~number)
    if not lost.size:  # only spaces around the numbers stood in the way
        return TypedColumn(numbers)
    examples = distinct.take(pa.array(lost[np.argsort(-rows[lost], kind="stable")][:3]))
    return TypedColumn(numbers, _missing_note(name, int(rows[lost].sum()), examples))


def _looked_up(indices: pa.Array, distinct: pa.Array, number: np.ndarray) -> pa.Array:
    """Return the number of each row, null where the field is none."""
    fields = pc.if_else(pa.array(number), distinct, pa.scalar(None, distinct.type))
    try:
        numbers = fields.cast(pa.int64())
    except pa.ArrowInvalid:
        numbers = fields.cast(pa.float64())
    return numbers.take(indices)


def _quoted(values: pa.Array) -> str:
    return ", ".join(f"'{value}'" for value in values.to_pylist())


def _missing_note(name: str, count: int, examples: pa.Array) -> str:
    values = "value" if count == 1 else "values"
    return (
        f"Column '{name}' holds numbers; {count:,} other {values} "
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
