"""Arrays beside a table: images, sequences, ids of words, embeddings.

The first axis of an array are the rows of the table, in their order. The header of its file says
shape and type before anything else is read, and pickled objects are never opened.
"""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from hetcal.arrays import Ints
from hetcal.data.columns import row_count
from hetcal.data.reading import Source
from hetcal.data.text import is_parquet, is_readable
from hetcal.digests import file_digest, text_digest
from hetcal.errors import TableError

MOST_BYTES = 4 * 2**30
MOST_AXES = 6
MOST_MEMBERS = 256
MOST_RATIO = 100  # bytes of a compressed array for each byte in the file,
ANY_RATIO = 256 * 2**20  # unless it has no more than these
MOST_EMBEDDINGS = 4096  # columns
EMBEDDING = "embedding_"
_BLOCK = 2**24  # bytes at a time
_FEW_ROWS = 64  # of a Parquet file at a time
_KINDS = "buif"  # truth values, whole numbers and fractions
_NEEDED = (
    "An array is a file that np.save, np.savez or a Parquet writer with a column of lists wrote: "
    "numbers, with one row for each row of the table."
)


@dataclass(frozen=True)
class ArrayFile:
    """An array with a row for each row of a table; `low` and `high` are those of finite numbers."""

    path: Path | None = field(compare=False, repr=False)  # .npy; None if only the rest is known
    name: str  # what the user calls it
    digest: str
    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def first_row(self) -> NDArray[Any]:
        """Return the first row, to be looked at."""
        assert self.path is not None
        return np.array(np.load(self.path, mmap_mode="r", allow_pickle=False)[0])

    @property
    def words(self) -> str:
        """Shape of a row, type and range."""
        return f"{in_axes(self.shape[1:])} of {self.dtype}, from {self.low:.6g} to {self.high:.6g}"


def in_axes(shape: Sequence[int | None]) -> str:
    """Write the shape of a row.

    >>> in_axes((28, 28, 1)), in_axes((None, 8))
    ('28 × 28 × 1', 'any × 8')
    """
    return " × ".join("any" if each is None else f"{each:,}" for each in shape)


def open_array(path: Path, wanted: str, folder: Path, *, name: str | None = None) -> ArrayFile:
    """Open a .npy file, or the array of a .npz file or a Parquet file's column of lists.

    Of several, the one called `wanted` is meant. What has to be unpacked is put into `folder`.
    """
    name = name or path.name
    if not is_readable(path):
        raise TableError(
            f"There is no array '{path}' that can be read.",
            _NEEDED,
            "Check the path for a spelling mistake, and the file's permissions.",
        )
    try:
        if not is_plain(path) and (is_parquet(path) or zipfile.is_zipfile(path)):
            place = folder / f"{file_digest(path)[:32]}-{text_digest(wanted)[:8]}.npy"
            unpack = _from_parquet if is_parquet(path) else _from_archive
            name, path = unpack(path, name, wanted, place), place
        with path.open("rb") as file:
            shape, dtype = _header(file, name)
            if path.stat().st_size - file.tell() < prod(shape) * dtype.itemsize:
                raise _damaged(name, "it ends before its last row")
        low, high = _range(np.load(path, mmap_mode="r", allow_pickle=False))
    except TableError:
        raise
    except Exception as error:  # whatever a crafted file makes the libraries raise
        raise _damaged(name) from error
    return ArrayFile(path, name, file_digest(path), shape, dtype.name, low, high)


def is_plain(path: Path) -> bool:
    """Whether a file, whatever it is called, begins like one of np.save: nothing is packed."""
    with path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and type, and refuse what is no array of numbers for the rows of a table."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(file)
    except (ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise _damaged(name, "its beginning is not that of a .npy file") from error
    if dtype.kind not in _KINDS or dtype.name == "longdouble":
        what = "Python objects, which are never opened" if dtype.hasobject else f"{dtype}"[:60]
        raise TableError(
            f"The array '{name}' holds {what}.",
            _NEEDED,
            "Save it as numbers, such as x.astype('float32'); rows must have one length.",
        )
    if not 2 <= len(shape) <= MOST_AXES or min(shape) < 1:
        raise TableError(
            f"The array '{name}' has the shape {shape}.",
            f"Its first axis are the rows of the table; it has 2 to {MOST_AXES} axes, none empty.",
            "Save it with a row for each row of the table.",
        )
    if prod(shape) * dtype.itemsize > MOST_BYTES:
        raise _too_large(name, prod(shape) * dtype.itemsize)
    return shape, dtype


def _range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the least and the largest finite number; both 0 if there is none."""
    low, high = np.inf, -np.inf
    for start, end in _blocks(values):
        block = values[start:end]
        finite = block[np.isfinite(block)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high) if low <= high else (0.0, 0.0)


def _blocks(values: NDArray[Any]) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK * len(values) // values.nbytes)
    return ((start, start + step) for start in range(0, len(values), step))


def _from_archive(path: Path, name: str, wanted: str, place: Path) -> str:
    """Unpack an array of a .npz file; return what to call it."""
    with zipfile.ZipFile(path) as archive:
        members = {each.filename.removesuffix(".npy"): each for each in archive.infolist()}
        if len(archive.infolist()) > MOST_MEMBERS:
            raise _damaged(name, f"it has more than {MOST_MEMBERS} members")
        chosen = _pick(list(members), wanted, name, "arrays")
        member, name = members[chosen], f"{name}: {chosen}"
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _damaged(name, "it is packed in another way than np.savez does")
        if member.file_size > max(ANY_RATIO, MOST_RATIO * member.compress_size):
            raise _too_large(name, member.file_size)
        with archive.open(member) as source:
            _header(source, name)
        with archive.open(member) as source, place.open("wb") as out:
            shutil.copyfileobj(source, out, 2**20)
    return name


def _pick(names: Sequence[str], wanted: str, file: str, what: str) -> str:
    if wanted in names or len(names) == 1:
        return wanted if wanted in names else names[0]
    listed = ", ".join(f"'{each}'" for each in names[:12]) or "none"
    raise TableError(
        f"'{file}' holds {len(names)} {what}: {listed}; none is called '{wanted}'.",
        f"Of several, the one with the name '{wanted}' is used.",
        "Save it under this name, or in a file of its own.",
    )


def _from_parquet(path: Path, name: str, wanted: str, place: Path) -> str:
    """Write a column of lists as an array; return what to call it."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        lists = [each.name for each in file.schema_arrow if _is_list(each.type)]
        column = _pick(lists, wanted, name, "columns of lists")
        name, rows = f"{name}: {column}", file.metadata.num_rows
        start, out = 0, None
        # Pages of one value may stand for very many, and the footer aborts the process of whoever
        # asks a damaged one how many: few rows are read at a time, and counted.
        for batch in file.iter_batches(batch_size=_FEW_ROWS, columns=[column]):
            values = _nested(batch.column(0), name, start)
            if out is None:
                if rows * values[0].nbytes > MOST_BYTES:
                    raise _too_large(name, rows * values[0].nbytes)
                shape = (rows, *values.shape[1:])
                out = np.lib.format.open_memmap(place, "w+", values.dtype, shape)
            elif values.shape[1:] != out.shape[1:]:
                raise _unequal(name, start)
            out[start : start + len(values)] = values
            start += len(values)
    if start != rows:
        raise _damaged(name, f"it has {start:,} of {rows:,} rows")
    return name


def _is_list(kind: pa.DataType) -> bool:
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, _is_fixed))


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _nested(values: Any, name: str, first: int) -> NDArray[Any]:
    """Turn lists, or lists of lists, of one length into an array."""
    import pyarrow.compute as pc

    shape = [len(values)]
    while _is_list(values.type):
        values = values.storage if isinstance(values, pa.ExtensionArray) else values
        lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False)
        if values.null_count or (lengths != lengths[0]).any():
            odd = int(np.argmax(lengths != lengths[0])) // max(1, len(values) // shape[0])
            raise _unequal(name, first + odd)
        shape.append(int(lengths[0]))
        values = values.flatten()
    if values.null_count:
        raise _damaged(name, "some of its lists have missing values")
    found = values.to_numpy(zero_copy_only=False)
    if found.dtype.kind not in _KINDS:
        raise _damaged(name, f"its lists hold {values.type}, not numbers")
    return found.reshape(shape)


def _unequal(name: str, row: int) -> TableError:
    return TableError(
        f"The lists of '{name}' do not all have the same length: see row {row + 1:,}.",
        "A model takes rows of one shape.",
        "Pad or cut the lists to the length that the model was trained on.",
    )


def _damaged(name: str, why: str = "it cannot be read to its end") -> TableError:
    return TableError(
        f"'{name}' is not an array that can be used: {why}.", _NEEDED, "Save or copy it again."
    )


def _too_large(name: str, size: int) -> TableError:
    return TableError(
        f"The array '{name}' takes {size / 2**30:,.1f} GiB.",
        f"An array may take {MOST_BYTES / 2**30:.0f} GiB, and unpack to {MOST_RATIO} times its "
        "file.",
        "Use fewer rows, or a smaller type such as float32 or uint8.",
    )


def require_rows(array: ArrayFile, rows: int) -> None:
    """Refuse an array of another number of rows than the table."""
    if array.rows != rows:
        raise TableError(
            f"The array '{array.name}' has {row_count(array.rows)}, and the table has {rows:,}.",
            "Row by row, the array belongs to the table, in the same order.",
            "Save it again from the same rows as the table.",
        )


def other_range(old: ArrayFile, new: ArrayFile) -> str | None:
    """Say so if the numbers of new rows are of another size than those of a run, as 0 to 1."""
    sizes = sorted(max(abs(each.low), abs(each.high)) for each in (old, new))
    if sizes[1] <= 8 * sizes[0]:
        return None
    return (
        f"The numbers of '{new.name}' go from {new.low:.6g} to {new.high:.6g}, those of the run "
        f"went from {old.low:.6g} to {old.high:.6g}: check that they were scaled alike."
    )


def read_shape(found: Sequence[int], wanted: Sequence[int | None]) -> tuple[int, ...] | None:
    """Return the shape in which an input reads rows of the shape `found`; None if they do not fit.

    A flat row is read in the order of the input's axes, and axes of length 1 may be left out.

    >>> read_shape((28, 28), (28, 28, 1)), read_shape((784,), (28, 28, 1)), read_shape((5,), (6,))
    ((28, 28, 1), (28, 28, 1), None)
    """
    if len(found) == len(wanted) - 1 and wanted[-1] == 1:
        found = (*found, 1)
    if len(found) == len(wanted) and all(
        w in (None, f) for f, w in zip(found, wanted, strict=True)
    ):
        return tuple(found)
    sizes = [each for each in wanted if each is not None]
    longer = [[each for each in shape if each != 1] for shape in (found, sizes)]
    alike = len(found) == 1 or longer[0] == longer[1]
    fits = len(sizes) == len(wanted) and prod(found) == prod(sizes) and alike
    return tuple(sizes) if fits else None


def write_rows(
    array: ArrayFile, rows: Ints, shape: Sequence[int], scale: float, path: Path
) -> None:
    """Write some rows in another shape as a .npy file; divided by `scale`, they are fractions."""
    if array.path is None:
        raise ValueError("the array of a saved run has no numbers")
    values = np.load(array.path, mmap_mode="r", allow_pickle=False)
    divided: DTypeLike = np.float64 if values.dtype == np.float64 else np.float32
    dtype = values.dtype.newbyteorder("=") if scale == 1 else divided
    out = np.lib.format.open_memmap(path, "w+", dtype, (len(rows), *shape))
    for start, end in _blocks(out):
        block = values[rows[start:end]].reshape(-1, *shape)
        out[start:end] = block if scale == 1 else np.divide(block, scale, dtype=out.dtype)


def with_embeddings(source: Source, array: ArrayFile) -> Source:
    """Add an own matrix of embeddings to the columns of a table, `embedding_0` and so on."""
    rows = len(source.frame)
    require_rows(array, rows)
    width = prod(array.shape[1:])
    if width > MOST_EMBEDDINGS:
        raise TableError(
            f"The array '{array.name}' gives {width:,} numbers per row.",
            f"Embeddings may have at most {MOST_EMBEDDINGS:,}.",
            "Use fewer dimensions.",
        )
    assert array.path is not None
    values = np.load(array.path, allow_pickle=False).reshape(rows, width)
    names = [f"{EMBEDDING}{i}" for i in range(width)]
    taken = [name for name in names if name in source.frame]
    if taken:
        raise TableError(
            f"The table already has a column '{taken[0]}'.",
            f"The columns of the array '{array.name}' are called {names[0]} to {names[-1]}.",
            "Rename the table's column.",
        )
    columns = pd.DataFrame(values.astype(np.float32, copy=False), columns=names)
    return replace(
        source,
        frame=pd.concat([source.frame, columns], axis=1),
        digest=text_digest(f"{source.digest} {array.digest}"),
        notes=(*source.notes, f"'{array.name}' is read as {names[0]} to {names[-1]}."),
    )
