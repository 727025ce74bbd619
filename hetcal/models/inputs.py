"""The columns of a table, and arrays beside it, as what a model takes; conversions are noted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.data.array_files import ArrayFile, in_axes, read_shape, write_rows
from hetcal.data.columns import column_kind, counted, value_text
from hetcal.errors import ModelError, near_names
from hetcal.models.config import ModelInput
from hetcal.models.file import ModelFile
from hetcal.models.steps import InputSteps, as_numbers, numbers_of

MOST_ROWS = 10_000  # rows that a look at columns takes


@dataclass(frozen=True)
class ArrayInput:
    """An array beside the table that feeds an input; its numbers are divided by `scale`."""

    input: str
    file: ArrayFile
    scale: float = 1.0

    @property
    def words(self) -> str:
        """The array in a few words."""
        divided = "" if self.scale == 1 else f", divided by {self.scale:g}"
        return f"'{self.input}' from '{self.file.name}', {self.file.words}{divided}"


@dataclass(frozen=True)
class InputColumns:
    """The columns of each input of a model, in order: pairs of input name and column names.

    `steps` are what was done to the columns in training, outside the model; `arrays` feed the
    other inputs.
    """

    columns: tuple[tuple[str, tuple[str, ...]], ...]
    steps: InputSteps = field(default_factory=InputSteps)
    arrays: tuple[ArrayInput, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        return tuple(dict.fromkeys(name for _, names in self.columns for name in names))

    def of(self, name: str) -> tuple[str, ...]:
        """Columns of one input."""
        return dict(self.columns).get(name, ())

    @property
    def prepared(self) -> "InputColumns":
        """The columns after the steps, which may give several for one."""
        read = tuple((name, self.steps.names(columns)) for name, columns in self.columns)
        return replace(self, columns=read, steps=InputSteps())


def text_columns(model: ModelFile, inputs: InputColumns, frame: pd.DataFrame) -> tuple[str, ...]:
    """Name the columns that the model reads as text but that were read as something else.

    Their file must be read again: 1.0 and 00123 are not what a number writes.
    """
    texts = {
        name for each in model.inputs if each.dtype == "string" for name in inputs.of(each.name)
    }
    return tuple(
        name
        for name in inputs.needed
        if name in texts and name in frame and column_kind(frame[name]) != "category"
    )


def cells_as_seen(
    model: ModelFile, frame: pd.DataFrame, inputs: InputColumns, rows: int = 3
) -> pd.DataFrame:
    """Return the first cells of every column as the model reads them, text in quotes.

    Columns: input, column, and `row 1`, `row 2`, …. Cells that the input cannot take are empty.
    """
    first, seen = inputs.steps.apply(frame[list(inputs.needed)].iloc[:rows]), []
    for spec in model.inputs:
        for name in inputs.prepared.of(spec.name):
            if spec.dtype == "string":
                codes, texts = text_codes(first[name])
                cells = [f'"{texts[code]}"' for code in codes]
            else:
                numbers = pd.to_numeric(first[name], errors="coerce")
                cells = ["" if pd.isna(each) else f"{each:.6g}" for each in numbers.astype(float)]
            seen.append((spec.name, name, *cells))
    return pd.DataFrame(
        seen, columns=["input", "column", *(f"row {i + 1}" for i in range(len(first)))]
    )


def float_columns(model: ModelFile, inputs: InputColumns) -> tuple[str, ...]:
    """Name the columns that may have been scaled: those of inputs that take fractions."""
    given = [inputs.of(each.name) for each in model.inputs if "float" in each.dtype]
    return tuple(dict.fromkeys(name for names in given for name in names))


def coded_columns(model: ModelFile, inputs: InputColumns, frame: pd.DataFrame) -> tuple[str, ...]:
    """Name the columns of text that inputs of numbers are given."""
    given = [inputs.of(each.name) for each in model.inputs if each.dtype != "string"]
    names = dict.fromkeys(name for names in given for name in names)
    return tuple(
        name
        for name in names
        if column_kind(frame[name]) == "category" and numbers_of(frame[name]) is None
    )


SPREAD = 100.0  # of the sums that a first layer makes; on scaled columns it is a few units


def unlike_training(model: ModelFile, inputs: InputColumns, frame: pd.DataFrame) -> str | None:
    """Say that columns vary far more than the weights of the first layer are made for.

    A layer trained on scaled columns adds up to a few units; the same weights on unscaled ones
    give sums of hundreds. So does a layer that was trained on unscaled ones, from which it cannot
    be told apart here: training moves weights by little.
    """
    for spec in model.inputs:
        columns = frame[list(inputs.of(spec.name))]
        read = inputs.steps.apply(columns.iloc[:: max(1, len(columns) // MOST_ROWS)])
        if not spec.reach or len(spec.reach) != read.shape[1]:
            continue
        numbers = read.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        finite = np.where(np.isfinite(numbers), numbers, np.nan)
        if np.isnan(finite).all(axis=0).any():
            continue
        parts = np.asarray(spec.reach) * np.nanstd(finite, axis=0)
        spread, most = float(np.sqrt((parts**2).sum())), str(read.columns[int(parts.argmax())])
        if spread > SPREAD:
            return (
                f"The columns do not look like those the model was trained on: with the weights of "
                f"its first layer their sums vary by {spread:,.0f}, where a few units are usual, "
                f"most by '{most}'. If they were scaled in training, say what was done to them; if "
                "not, a network trained on scaled columns would probably be better."
            )
    return None


@dataclass(frozen=True)
class WrittenInput:
    """An input on disk: the layer it feeds, its array, and the texts of its codes."""

    layer: str
    file: str
    texts: str | None


def suggest_inputs(model: ModelFile, columns: Sequence[str]) -> InputColumns | None:
    """Match inputs to columns of the same name; None when the user has to choose.

    A matrix input never gets columns by position: only the user knows their order.
    """
    known = set(columns)
    if any(each.shape for each in model.inputs):
        return None
    if all(each.width in (1, None) and each.name in known for each in model.inputs):
        return InputColumns(tuple((each.name, (each.name,)) for each in model.inputs))
    return None


def matrix_input(model: ModelFile, columns: Sequence[str]) -> InputColumns:
    """Use the columns, in this order, for the only input of a model."""
    if len(model.inputs) != 1:
        raise ModelError(
            f"The model '{model.name}' has {len(model.inputs)} inputs: {_list(_names(model))}.",
            "A single list of columns can only be used for a model with one input.",
            "Name the columns of each input (--inputs NAME=c1,c2,… on the command line, repeated), "
            "or rename the columns of the table like the inputs.",
        )
    return InputColumns(((model.inputs[0].name, tuple(columns)),))


def listed_inputs(model: ModelFile, listed: Sequence[str], columns: Sequence[str]) -> InputColumns:
    """Read a list of columns in which `NAME=column` begins the columns of the input NAME.

    Inputs that are not named take the column of their name. Without any name the list belongs to
    the only input of the model.
    """
    given: dict[str, list[str]] = {}
    latest: list[str] | None = None
    for text in listed:
        name, named, first = text.partition("=")
        if named and name in _names(model) and text not in columns:
            latest = given[name] = [first] if first else []
        elif latest is None:
            return matrix_input(model, listed)
        else:
            latest.append(text)
    own = {each.name: [each.name] for each in model.inputs if each.name in columns}
    return InputColumns(tuple((name, tuple(names)) for name, names in (own | given).items()))


def check_inputs(model: ModelFile, frame: pd.DataFrame, inputs: InputColumns) -> None:
    """Refuse missing columns, and too many or too few of them, before any work is done."""
    require_arrays(model, inputs)
    check_names(model, frame, inputs)
    for each in column_inputs(model, inputs):
        _check_width(model, each, inputs.prepared.of(each.name))
    if frame.empty:
        raise ModelError(
            "The table has no rows.",
            f"The model '{model.name}' needs at least one row to score.",
            "Choose a table with rows.",
        )


def column_inputs(model: ModelFile, inputs: InputColumns) -> tuple[ModelInput, ...]:
    """Return the inputs of a model that columns feed, not arrays."""
    fed = {each.input for each in inputs.arrays}
    return tuple(each for each in model.inputs if each.name not in fed)


def check_names(model: ModelFile, frame: pd.DataFrame, inputs: InputColumns) -> None:
    """Refuse inputs without columns, and columns that the table does not have."""
    model = replace(model, inputs=column_inputs(model, inputs))
    given = [name for name, _ in inputs.columns]
    if sorted(given) != sorted(_names(model)):
        raise ModelError(
            f"Columns are given for {_list(given)}, but the inputs of the model '{model.name}' "
            f"are {_list(_names(model))}.",
            "Each input needs its columns.",
            "Match every input of the model to columns of the table.",
        )
    missing = [name for name in inputs.needed if name not in frame.columns]
    if missing:
        close = near_names(missing[0], [str(name) for name in frame.columns])
        meant = f" (is '{close[0]}' meant?)" if close else ""
        raise ModelError(
            f"The table has no column {_list(missing)}{meant}.",
            f"The model '{model.name}' needs the columns {_list(inputs.needed)}.",
            "Rename the table's columns, or choose the columns for the model again.",
        )


def write_input(
    number: int, spec: ModelInput, frame: pd.DataFrame, directory: Path
) -> tuple[WrittenInput, list[str]]:
    """Write the columns of one input as an array; also note what was converted."""
    file, listed = f"input_{number}.npy", f"texts_{number}.json"
    is_text, is_float = spec.dtype == "string", "float" in spec.dtype
    floats = np.float64 if spec.dtype == "float64" else np.float32
    dtype = np.int32 if is_text else floats if is_float else np.int64
    array = np.lib.format.open_memmap(directory / file, "w+", dtype, frame.shape)
    notes: list[str] = []
    texts: list[list[str]] = []
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if is_text:
            array[:, j], names = text_codes(column)
            texts.append(names)
            if column_kind(column) == "number" and names[0]:
                notes.append(f"The numbers of '{name}' were given as text, such as \"{names[0]}\".")
            missing = int(column.isna().sum())
            if missing:
                were = f"{counted(missing, 'missing value')} of '{name}' "
                notes.append(f"{were}{'was' if missing == 1 else 'were'} given as empty text.")
        else:
            array[:, j] = _checked(as_numbers(column, f"input '{spec.name}'"), str(name), spec)
            if pd.api.types.is_bool_dtype(column):
                notes.append(f"'{name}' was given as 0 and 1.")
    if is_text:
        (directory / listed).write_text(json.dumps(texts), encoding="utf-8")
    return WrittenInput(spec.layer, file, listed if is_text else None), notes


def text_codes(column: pd.Series) -> tuple[NDArray[np.int32], list[str]]:
    """Return each row's code and the texts by code; the last is empty, for missing values.

    Whole numbers become "3", not "3.0".
    """
    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    names = [value_text(value) for value in distinct]
    codes = np.where(codes < 0, len(names), codes)
    return codes.astype(np.int32), [*names, ""]


def require_arrays(model: ModelFile, inputs: InputColumns) -> None:
    """Refuse inputs of several axes without an array, and arrays that their input cannot take."""
    given = {each.input: each for each in inputs.arrays}
    for spec in model.inputs:
        if spec.name in given:
            _check_array(model, spec, given.pop(spec.name))
        elif spec.shape is not None:
            raise ModelError(
                f"The input '{spec.name}' of the model '{model.name}' takes rows of "
                f"{in_axes(spec.shape)}, and no array is given for it.",
                "An array beside the table feeds it: a .npy, .npz or Parquet file with a row for "
                "each row of the table, in their order.",
                f"Name the file: --array {spec.name}=FILE on the command line.",
            )
    for name in given:
        raise ModelError(
            f"An array is given for '{name}', but the inputs of the model '{model.name}' are "
            f"{_list(_names(model))}.",
            "An array feeds an input of the model.",
            "Name one of these, as in --array NAME=FILE.",
        )


def array_input(model: ModelFile) -> str:
    """Name the one input that an array is meant for which names none."""
    wanted = [each.name for each in model.inputs if each.shape] or _names(model)
    if len(wanted) != 1:
        raise ModelError(
            f"An array names no input, and the model '{model.name}' has {_list(_names(model))}.",
            "Each array feeds one input.",
            "Name it: --array NAME=FILE on the command line.",
        )
    return wanted[0]


def _check_array(model: ModelFile, spec: ModelInput, given: ArrayInput) -> None:
    file = given.file
    if file.path is None:
        raise ModelError(
            f"No array of the new rows is given for the input '{spec.name}' of the model.",
            f"In the run it had rows of {file.words}.",
            f"Name the file with a row for each new row: --array {spec.name}=FILE.",
        )
    wanted = _wanted(spec)
    if wanted is not None and read_shape(file.shape[1:], wanted) is None:
        raise ModelError(
            f"The array '{file.name}' has rows of {in_axes(file.shape[1:])}, but the input "
            f"'{spec.name}' of the model '{model.name}' takes {in_axes(wanted)}.",
            "Each row must have the shape that the model was trained on.",
            "Resize or pad the rows as in training; if only the order of the axes differs, "
            "transpose them.",
        )
    whole = "float" not in spec.dtype
    if spec.dtype == "string" or (whole and "float" in file.dtype):
        raise ModelError(
            f"The array '{file.name}' holds {file.dtype}, but the input '{spec.name}' takes "
            f"{'text' if spec.dtype == 'string' else 'whole numbers'}.",
            "Text comes from a column of the table, ids from an array of whole numbers.",
            "Choose columns for this input, or save the array as whole numbers.",
        )
    if spec.ids is not None and (file.low < 0 or file.high >= spec.ids):
        worst = file.low if file.low < 0 else file.high
        raise ModelError(
            f"The array '{file.name}' holds {worst:.0f}.",
            f"The input '{spec.name}' only knows the ids 0 to {spec.ids - 1}.",
            "Make the ids as in training.",
        )


def _wanted(spec: ModelInput) -> tuple[int | None, ...] | None:
    """Return the shape of the rows that an input takes; None if the model does not say."""
    return spec.shape or (None if spec.width is None else (spec.width,))


def takes_fractions(spec: ModelInput) -> bool:
    """Whether the numbers of an input may have been scaled: they are neither ids nor text."""
    return "float" in spec.dtype and spec.ids is None


def array_doubts(model: ModelFile, inputs: InputColumns) -> tuple[str, ...]:
    """Say where the range of an array does not look like what the model was trained on."""
    specs, doubts = {each.name: each for each in model.inputs}, []
    for given in inputs.arrays:
        spec, file = specs[given.input], given.file
        low, high = file.low / given.scale, file.high / given.scale
        numbers = f"The numbers of '{file.name}' go from {low:.6g} to {high:.6g} as the model "
        if not takes_fractions(spec):
            continue
        if not spec.scaler and low >= 0 and 16 < high <= 255:
            doubts.append(
                f"{numbers}reads them, and no first layer of it scales the input '{given.input}'. "
                "If it was trained on 0 to 1, divide by 255: on the Scores page, or with "
                "--array-scale 255 on the command line."
            )
        if spec.scaler == "Rescaling" and low >= 0 and high <= 1:
            doubts.append(
                f"{numbers}reads them, and its first layer scales the input '{given.input}' once "
                "more. If it was trained on 0 to 255, give it these numbers as they are."
            )
    return tuple(doubts)


def write_array(
    number: int, spec: ModelInput, given: ArrayInput, rows: Ints, directory: Path
) -> tuple[WrittenInput, list[str]]:
    """Write some rows of an array as an input reads them; also note how."""
    file, found = f"input_{number}.npy", given.file.shape[1:]
    shape = read_shape(found, _wanted(spec) or found) or found
    write_rows(given.file, rows, shape, given.scale, directory / file)
    read = "" if shape == found else f", each row read as {in_axes(shape)}"
    return WrittenInput(spec.layer, file, None), [f"Input {given.words}{read}."]


def _checked(values: Floats, name: str, spec: ModelInput) -> Floats:
    """Refuse numbers that the input's own type cannot hold."""
    if "float" in spec.dtype:
        finite = np.abs(values[np.isfinite(values)])
        limit = np.inf if spec.dtype == "float64" else float(np.finfo(np.float32).max)
        if finite.size and finite.max() > limit:
            raise _unfit(name, f"{finite.max():.3g}", "Numbers must be below 3.4e38.")
        return values
    bad = values[~np.isfinite(values) | (values != np.floor(values))]
    if bad.size:
        what = "missing values" if np.isnan(bad[0]) else f"{bad[0]:.6g}"
        raise _unfit(name, what, f"The input '{spec.name}' only takes whole numbers.")
    if spec.ids is not None and values.size and (values.min() < 0 or values.max() >= spec.ids):
        worst = values.min() if values.min() < 0 else values.max()
        needed = f"The input '{spec.name}' only knows the ids 0 to {spec.ids - 1}."
        raise _unfit(name, f"{worst:.0f}", needed)
    return values


def _unfit(name: str, what: str, needed: str) -> ModelError:
    return ModelError(
        f"The column '{name}' holds {what}.",
        needed,
        "Prepare the column as in training, or choose another one.",
    )


def _check_width(model: ModelFile, spec: ModelInput, columns: tuple[str, ...]) -> None:
    width = spec.width if spec.width is not None else max(1, len(columns))
    if len(columns) == width:
        return
    off = abs(len(columns) - width)
    comparison, remedy = "many", f"Remove {off}, then confirm the order."
    if len(columns) < width:
        comparison = "few"
        remedy = (
            f"Add {off}, or say which were one-hot in training (on the Scores page, or --scale "
            "FILE on the command line), then confirm the order."
        )
    raise ModelError(
        f"The input '{spec.name}' of the model '{model.name}' takes {counted(width, 'column')}, "
        f"but {len(columns)} are chosen, {off} too {comparison}: {_list(columns)}.",
        "The columns must be those the model was trained on, in the same order.",
        remedy,
    )


def _names(model: ModelFile) -> list[str]:
    return [each.name for each in model.inputs]


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
