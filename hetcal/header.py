"""The column names in the first row of a text file."""

import pyarrow as pa

from hetcal.dialect import DELIMITERS, Dialect
from hetcal.errors import TableError


def column_names(fields: pa.Table, dialect: Dialect, name: str) -> tuple[list[str], list[str]]:
    """Take the column names from the first row, repaired where that is safe."""
    if not dialect.header:
        return [f"column {i}" for i in range(1, fields.num_columns + 1)], []
    written = [column[0].as_py() or "" for column in fields.columns]
    if len(written) == 1:
        _check_one_column(written[0], dialect, name)
    names = [text.strip() or f"column {i}" for i, text in enumerate(written, start=1)]
    notes = [
        f"The column name '{text}' is used without the spaces around it."
        for text in written
        if text.strip() and text != text.strip()
    ]
    notes += [
        f"Column {i} has no name and is called 'column {i}'."
        for i, text in enumerate(written, start=1)
        if not text.strip()
    ]
    numbers = [text for text in names if _is_number(text)]
    if 2 * len(numbers) >= len(names):
        notes.append(
            f"The first row of '{name}' looks like values, not names ('{numbers[0]}'). "
            "If it is, say that the file has no row of column names (no tick at 'First row holds "
            "the names'; --no-header on the command line)."
        )
    return names, notes


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _check_one_column(header: str, dialect: Dialect, name: str) -> None:
    for other in DELIMITERS:
        if other != dialect.delimiter and other in header:
            raise TableError(
                f"With delimiter {dialect.delimiter!r} the file '{name}' has a single column, "
                f"named '{header}'.",
                f"The delimiter must be the character between the columns, here perhaps {other!r}.",
                "Choose another delimiter (--delimiter on the command line).",
            )
