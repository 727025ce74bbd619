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
            places = _plain_places(file.schema_arrow)
            names = [column for column, _ in places]
            notes += _nested_notes(file.schema_arrow)
            for i, (column, place) in enumerate(places):
                progress(i / len(names), f"Reading column {i + 1} of {len(names)}")
                # By position, since a name may also be the beginning of another.
                values = file.reader.read_all(column_indices=[place])[0]
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
    kept = [i for i, each in enumerate(table.schema) if not _is_nested(each.type)]
    columns = [_as_series(_plain_column(table.column_names[i], table[i])[0]) for i in kept]
    return _joined(columns, [table.column_names[i] for i in kept])


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
    """Refuse a table in which no column is left without those of lists and the like."""
    nested = [column for column in schema if _is_nested(column.type)]
    if nested and len(nested) == len(schema):
        raise TableError(
            f"Column '{nested[0].name}' of {what} holds nested values ({nested[0].type}), as all "
            "columns do.",
            "Every cell must hold a single number, text, boolean or date.",
            "Unfold these columns into plain columns.",
        )


def _nested_notes(schema: pa.Schema) -> list[str]:
    return [
        f"Column '{column.name}' holds nested values ({str(column.type)[:60]}) and is left out."
        for column in schema
        if _is_nested(column.type)
    ]


def _plain_places(schema: pa.Schema) -> list[tuple[str, int]]:
    """Return the columns of single values, with their places in the file.

    Every part of a nested column has a place of its own.
    """
    found, place = [], 0
    for column in schema:
        if not _is_nested(column.type):
            found.append((column.name, place))
        place += _parts(column.type)
    return found


def _parts(kind: pa.DataType) -> int:
    stored = _stored(kind)
    if not pa.types.is_nested(stored):
        return 1
    return sum(_parts(stored.field(i).type) for i in range(stored.num_fields))


def _is_nested(kind: pa.DataType) -> bool:
    return pa.types.is_nested(_stored(kind))


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


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
