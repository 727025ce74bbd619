"""Columns read as they were in training, whatever rows a file happens to hold."""

import pandas as pd
import pyarrow as pa

from hetcal.columns import Kinds, as_text, column_kind
from hetcal.errors import TableError
from hetcal.text_columns import TypedColumn, number_column, typed_column


def known_column(name: str, text: pa.ChunkedArray, decimal: str, kinds: Kinds) -> TypedColumn:
    """Type a column of text by its known kind; where there is none, by its values.

    Parameters
    ----------
    name, text, decimal
        As in `typed_column`.
    kinds : mapping
        The known kinds; a category stays the text that it is.
    """
    kind = kinds.get(name)
    if kind == "category":
        return TypedColumn(text)
    read = number_column if kind == "number" else typed_column
    return read(name, text, decimal)


def as_kinds(frame: pd.DataFrame, kinds: Kinds) -> tuple[pd.DataFrame, list[str]]:
    """Give columns that have a type already the known kinds.

    Truth values serve as both kinds and stay what they are.

    Returns
    -------
    frame : DataFrame
        Numbers where text was to be read as such, text where numbers or dates were
        to be categories.
    notes : list of str
        What became missing.

    Raises
    ------
    TableError
        When values are no numbers, naming them.
    """
    changed, notes = {}, []
    for name, kind in kinds.items():
        if name not in frame.columns or column_kind(frame[name]) == kind:
            continue
        if kind == "category":
            changed[name] = as_text(frame[name])
        elif not pd.api.types.is_bool_dtype(frame[name]):
            changed[name], note = _numbers(frame[name])
            notes += note
    return frame.assign(**changed), notes


def _numbers(column: pd.Series) -> tuple[pd.Series, list[str]]:
    if column_kind(column) != "category":
        raise TableError(
            f"Column '{column.name}' holds values of type {column.dtype}.",
            "This column is read as numbers.",
            "Give numbers, or leave these cells empty.",
        )
    text = pa.chunked_array([pa.array(as_text(column), pa.large_string(), from_pandas=True)])
    typed = number_column(str(column.name), text)
    values = pd.Series(typed.values.to_pandas().to_numpy(), index=column.index)
    return values, [] if typed.note is None else [typed.note]
