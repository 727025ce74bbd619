"""Read Parquet files and Arrow tables into plain columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hetcal.data.budget import budget, refuse_above_budget, refuse_too_wide
from hetcal.data.columns import counted
from hetcal.data.types import large_note
from hetcal.errors import TableError
from hetcal.progress import Progress, silent

FIELD_BYTES = 16  # of memory for a text beside its letters


def read_parquet(
    path: Path, name: str, progress: Progress = silent
) -> tuple[pd.DataFrame, list[str]]:
    """Read a Parquet file into plain columns; also note what was converted.

    Columns are read one by one, so that memory holds little more than the table itself.
    """
    columns, notes, taken = [], [], 0
    try:
        with _opened(path, name) as file:
            places = _plain_places(file.schema_arrow)
            names = [column for column, _ in places]
            notes += _nested_notes(file.schema_arrow)
            for i, (column, place) in enumerate(places):
                progress(i / len(names), f"Reading column {i + 1} of {len(names)}")
                # By position, since a name may also be the beginning of another.
                values = file.reader.read_all(column_indices=[place])[0]
                size = taken + _written_out(values)
                refuse_above_budget(size, name, f"with the texts of column '{column}'")
                values, note = _plain_column(column, values)
                columns.append(_as_series(values))
                taken += int(columns[-1].memory_usage(index=False))
                notes += [] if note is None else [note]
    except MemoryError as error:
        raise TableError(
            f"'{name}' does not fit into memory.",
            "The table, unpacked, has to fit into the memory that hetcal may use.",
            "Keep fewer columns, or a sample of the rows.",
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a damaged name, too
        raise TableError(
            f"'{name}' is a Parquet file that is damaged, cut off or encrypted.",
            "A Parquet file must be complete and readable without a key.",
            "Copy or export the file again.",
        ) from error
    return _joined(columns, names), notes


def _opened(path: Path, name: str) -> Any:
    """Open a file whose table fits the budget, as far as its footer says.

    Texts that are stored once and repeated by number are read as they are stored: how many
    letters they have when written out is known only then.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _check_footer(file, name)
        repeated = _repeated_texts(file)
    return pq.ParquetFile(path, read_dictionary=repeated)


def _repeated_texts(file: Any) -> list[str]:
    """Return the columns of texts that could be longer than the budget when written out."""
    if file.metadata.num_rows * _stored_bytes(file) <= budget():
        return []
    return [each.name for each in file.schema_arrow if _is_text(_stored(each.type))]


def _stored_bytes(file: Any) -> int:
    # The columns of a damaged file are not asked: pyarrow would end the process.
    groups = range(file.metadata.num_row_groups)
    return sum(file.metadata.row_group(group).total_byte_size for group in groups)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_bytes(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _estimated_bytes(file: Any) -> int:
    """Return how much memory the values take by the footer: at least what is stored."""
    kinds = [_stored(each.type) for each in file.schema_arrow if not _is_nested(each.type)]
    return max(_stored_bytes(file), file.metadata.num_rows * sum(map(_width, kinds)))


def _width(kind: pa.DataType) -> int:
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:  # texts have no width
        return FIELD_BYTES


def _written_out(values: pa.ChunkedArray) -> int:
    """Return the letters of texts that are stored once and repeated by number."""
    if not (pa.types.is_dictionary(values.type) and _is_text(values.type.value_type)):
        return 0
    lengths = [pc.take(pc.binary_length(each.dictionary), each.indices) for each in values.chunks]
    return sum(pc.sum(each.cast(pa.int64())).as_py() or 0 for each in lengths)


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
    refuse_too_wide(columns, name)
    cells = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    refuse_above_budget(_estimated_bytes(file), name, cells)
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
        values = values.cast(pa.dictionary(kind.index_type, pa.large_string()))
    if pa.types.is_string_view(of) or pa.types.is_string(of):
        of = pa.large_string()  # written out they may have more letters than a chunk may hold
    return values.cast(of)
