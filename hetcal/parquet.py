"""Read Parquet files into plain columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hetcal.columns import counted
from hetcal.errors import TableError

MAX_CELLS = 2_000_000_000


def read_parquet(path: Path, name: str) -> tuple[pa.Table, list[str]]:
    """Read a Parquet file, refusing what is too large before it is read.

    Returns
    -------
    table : pyarrow.Table
        Numbers, text, truth values, dates and times only.
    notes : list of str
        What was converted.
    """
    try:
        with pq.ParquetFile(path) as file:
            _check_footer(file, name)
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"'{name}' is a Parquet file that is damaged, cut off or encrypted.",
            "A Parquet file must be complete and readable without a key.",
            "Copy or export the file again.",
        ) from error
    plain = [_plain_column(column, table[i]) for i, column in enumerate(table.column_names)]
    notes = [note for _, note in plain if note is not None]
    return pa.table([values for values, _ in plain], names=table.column_names), notes


def _check_footer(file: pq.ParquetFile, name: str) -> None:
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
    for column in file.schema_arrow:
        if pa.types.is_nested(column.type):
            raise TableError(
                f"Column '{column.name}' of '{name}' holds nested values ({column.type}).",
                "Every cell must hold a single number, text, truth value or date.",
                "Unfold this column into plain columns, or leave it out of the file.",
            )


def _plain_column(name: str, values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str | None]:
    """Convert the types that pandas would hold as Python objects."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_column(name, values.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return _plain_column(name, values.cast(kind.value_type))
    if pa.types.is_decimal(kind):
        return values.cast(pa.float64()), f"Column '{name}' was converted from decimals to floats."
    if pa.types.is_null(kind):
        return values.cast(pa.float64()), f"Column '{name}' has no values."
    if pa.types.is_float16(kind):
        return values.cast(pa.float32()), None
    if pa.types.is_boolean(kind) and values.null_count:
        return pc.if_else(values, "True", "False"), None
    if pa.types.is_uint64(kind) and (pc.max(values).as_py() or 0) >= 2**63:
        return values.cast(pa.large_string()), (
            f"Column '{name}' is kept as text because whole numbers such as "
            f"{pc.max(values).as_py()} are too large to be exact."
        )
    return values, None
