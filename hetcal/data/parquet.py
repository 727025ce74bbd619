"""Read Parquet files and Arrow tables into plain columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hetcal.data.columns import counted
from hetcal.data.types import large_note
from hetcal.errors import TableError
from hetcal.progress import Progress, silent

MAX_CELLS = 2_000_000_000


def read_parquet(
    path: Path, name: str, progress: Progress = silent
) -> tuple[pd.DataFrame, list[str]]:
    """Read a Parquet file into plain columns; also note what was converted.

    Columns are read one by one, so that memory holds little more than the table itself.
    """
    import pyarrow.parquet as pq

    columns, notes = [], []
    try:
        with pq.ParquetFile(path) as file:
            _check_footer(file, name)
            names = file.schema_arrow.names
            for i, column in enumerate(names):
                progress(i / len(names), f"Reading column {i + 1} of {len(names)}")
                # By position, since a name may also be the beginning of another.
                values = file.reader.read_all(column_indices=[i])[0]
                values, note = _plain_column(column, values)
                columns.append(_as_series(values))
                notes += [] if note is None else [note]
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"'{name}' is a Parquet file that is damaged, cut off or encrypted.",
            "A Parquet file must be complete and readable without a key.",
            "Copy or export the file again.",
        ) from error
    return _joined(columns, names), notes


def from_arrow(table: pa.Table) -> pd.DataFrame:
    """Turn an Arrow table into the plain columns that a Parquet file of it is read into."""
    _refuse_nested(table.schema, "the table")
    columns = [
        _as_series(_plain_column(name, values)[0])
        for name, values in zip(table.column_names, table.columns, strict=True)
    ]
    return _joined(columns, table.column_names)


def _joined(columns: Sequence[pd.Series], names: Sequence[str]) -> pd.DataFrame:
    """Make a table of columns; names may repeat, which is refused later."""
    return pd.DataFrame(dict(enumerate(columns)), copy=False).set_axis(names, axis=1)


def _as_series(values: pa.ChunkedArray) -> pd.Series:
    table = pa.table([values], names=["values"])
    series = table.to_pandas(ignore_metadata=True, date_as_object=False)["values"]
    del table, values
    pa.default_memory_pool().release_unused()  # Arrow's own cache is of no use here
    return series


def _check_footer(file: Any, name: str) -> None:
    rows, columns = file.metadata.num_rows, file.metadata.num_columns
    if rows * columns > MAX_CELLS:
        raise TableError(
            f"'{name}' declares {rows:,} rows and {columns:,} columns.",
            f"A table may have at most {MAX_CELLS:,} cells (rows times columns).",
            "Keep fewer columns, or a sample of the rows.",
        )
    if not rows or not columns:
        raise TableError(
            f"'{name}' has {counted(columns, 'column')} and no rows of values.",
            "A table needs at least one column and one row.",
            "Choose another file, or export this one again.",
        )
    _refuse_nested(file.schema_arrow, f"'{name}'")


def _refuse_nested(schema: pa.Schema, what: str) -> None:
    for column in schema:
        if pa.types.is_nested(column.type):
            raise TableError(
                f"Column '{column.name}' of {what} holds nested values ({column.type}).",
                "Every cell must hold a single number, text, boolean or date.",
                "Unfold this column into plain columns, or leave it out of the file.",
            )


def _plain_column(name: str, values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str | None]:
    """Convert the types that pandas would hold as Python objects."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_column(name, values.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return _plain_column(name, _looked_up(values))
    if pa.types.is_decimal(kind):
        return values.cast(pa.float64()), f"Column '{name}' was converted from decimals to floats."
    if pa.types.is_null(kind):
        return values.cast(pa.float64()), f"Column '{name}' has no values."
    if pa.types.is_float16(kind):
        return values.cast(pa.float32()), None
    if pa.types.is_boolean(kind) and values.null_count:
        return pc.if_else(values, "True", "False"), None
    if pa.types.is_uint64(kind) and (pc.max(values).as_py() or 0) >= 2**63:
        return values.cast(pa.large_string()), large_note(name, pc.max(values).as_py())
    return values, None


def _looked_up(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write out the values of a dictionary."""
    kind, of = values.type, values.type.value_type
    if pa.types.is_string_view(of):  # categories of polars, which Arrow cannot look up
        of = pa.large_string()
        values = values.cast(pa.dictionary(kind.index_type, of))
    return values.cast(of)
