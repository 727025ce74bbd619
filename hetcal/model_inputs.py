"""The columns of a table as the arrays a model takes, each conversion checked and said."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats
from hetcal.columns import counted, near_names, value_text
from hetcal.errors import ModelError
from hetcal.keras_config import ModelInput
from hetcal.model_file import ModelFile


@dataclass(frozen=True)
class InputColumns:
    """Which columns each input of a model takes, in which order, as the user confirmed.

    Parameters
    ----------
    columns : tuple of (input name, tuple of column names)
        One entry per input.
    """

    columns: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        return tuple(dict.fromkeys(name for _, names in self.columns for name in names))

    def of(self, name: str) -> tuple[str, ...]:
        """Columns of one input."""
        return dict(self.columns).get(name, ())


@dataclass(frozen=True)
class WrittenInput:
    """An input on disk: the layer it feeds, its array, and the texts its codes stand for."""

    layer: str
    file: str
    texts: str | None


def suggest_inputs(model: ModelFile, columns: Sequence[str]) -> InputColumns | None:
    """Match inputs to columns of the same name; None when the user has to say.

    A matrix input never gets columns by position: only the user knows their order.
    """
    known = set(columns)
    if all(each.width in (1, None) and each.name in known for each in model.inputs):
        return InputColumns(tuple((each.name, (each.name,)) for each in model.inputs))
    return None


def matrix_input(model: ModelFile, columns: Sequence[str]) -> InputColumns:
    """Give the columns, in this order, to the only input of a model."""
    if len(model.inputs) != 1:
        raise ModelError(
            f"The model '{model.name}' has {len(model.inputs)} inputs: {_list(_names(model))}.",
            "A single list of columns fits a model with one input only.",
            "Name the table's columns like the inputs.",
        )
    return InputColumns(((model.inputs[0].name, tuple(columns)),))


def check_inputs(model: ModelFile, frame: pd.DataFrame, inputs: InputColumns) -> None:
    """Refuse columns that are missing, too many or too few, before any work is done."""
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
        raise ModelError(
            f"The table has no column {_list(missing)}{_near(missing, frame)}.",
            f"The model '{model.name}' needs the columns {_list(inputs.needed)}.",
            "Rename the table's columns, or choose the columns for the model again.",
        )
    for each in model.inputs:
        _check_width(model, each, inputs.of(each.name))
    if frame.empty:
        raise ModelError(
            "The table has no rows.",
            f"The model '{model.name}' needs at least one row to score.",
            "Choose a table with rows.",
        )


def write_input(
    number: int, spec: ModelInput, frame: pd.DataFrame, directory: Path
) -> tuple[WrittenInput, list[str]]:
    """Write the columns of one input as an array; also say what was converted."""
    file = f"input_{number}.npy"
    shape = (len(frame), frame.shape[1])
    dtype = _array_type(spec.dtype)
    array = np.lib.format.open_memmap(directory / file, "w+", dtype, shape)
    notes: list[str] = []
    texts: list[list[str]] | None = [] if spec.dtype == "string" else None
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if texts is not None:
            array[:, j], names = text_codes(column)
            texts.append(names)
            notes += _text_notes(str(name), column)
        else:
            array[:, j] = _checked(as_numbers(column, spec.name), str(name), spec)
            notes += _number_notes(str(name), column)
    array.flush()
    if texts is None:
        return WrittenInput(spec.layer, file, None), notes
    (directory / f"texts_{number}.json").write_text(json.dumps(texts), encoding="utf-8")
    return WrittenInput(spec.layer, file, f"texts_{number}.json"), notes


def as_numbers(column: pd.Series, used_by: str) -> Floats:
    """Read a column as numbers, missing values as NaN; text and dates are refused."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    present = column.dropna()
    if present.empty:
        return np.full(len(column), np.nan)
    raise ModelError(
        f"The column '{column.name}' holds {str(present.iloc[0])[:60]!r}, but the model's input "
        f"'{used_by}' takes numbers.",
        "Each column of a number input must hold numbers.",
        "Choose another column, turn this one into numbers as it was done for training, or "
        "use a score column instead.",
    )


def text_codes(column: pd.Series) -> tuple[NDArray[np.int32], list[str]]:
    """Give the distinct texts of a column numbers; a missing value is the empty text, the last one.

    Whole numbers read as "3", not "3.0".
    """
    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    names = [value_text(value) for value in distinct]
    codes = np.where(codes < 0, len(names), codes)
    return codes.astype(np.int32), [*names, ""]


def _array_type(dtype: str) -> type[np.generic]:
    if dtype == "string":
        return np.int32
    if dtype == "float64":
        return np.float64
    return np.float32 if "float" in dtype else np.int64


def _checked(values: Floats, name: str, spec: ModelInput) -> Floats:
    """Refuse numbers that the input's own type cannot hold."""
    if "float" in spec.dtype:
        finite = np.abs(values[np.isfinite(values)])
        limit = np.inf if spec.dtype == "float64" else float(np.finfo(np.float32).max)
        if finite.size and finite.max() > limit:
            raise _unfit(name, f"{finite.max():.3g}", "Numbers below 3.4e38 are needed.")
        return values
    bad = values[~np.isfinite(values) | (values != np.floor(values))]
    if bad.size:
        what = "missing values" if np.isnan(bad[0]) else f"{bad[0]:.6g}"
        raise _unfit(name, what, f"The input '{spec.name}' takes whole numbers only.")
    if spec.ids is not None and values.size and (values.min() < 0 or values.max() >= spec.ids):
        worst = values.min() if values.min() < 0 else values.max()
        needed = f"The input '{spec.name}' knows the ids 0 to {spec.ids - 1} only."
        raise _unfit(name, f"{worst:.0f}", needed)
    return values


def _unfit(name: str, what: str, needed: str) -> ModelError:
    return ModelError(
        f"The column '{name}' holds {what}.",
        needed,
        "Correct or rescale the column as it was done for training, or choose another one.",
    )


def _check_width(model: ModelFile, spec: ModelInput, columns: tuple[str, ...]) -> None:
    width = spec.width if spec.width is not None else max(1, len(columns))
    if len(columns) == width:
        return
    off = abs(len(columns) - width)
    way = "too many" if len(columns) > width else "too few"
    raise ModelError(
        f"The input '{spec.name}' of the model '{model.name}' takes {counted(width, 'column')}, "
        f"but {len(columns)} are chosen, {off} {way}: {_list(columns)}.",
        "The columns must be those the model was trained on, in the same order.",
        f"{'Remove' if len(columns) > width else 'Add'} {off}, then confirm the order.",
    )


def _text_notes(name: str, column: pd.Series) -> list[str]:
    missing = int(column.isna().sum())
    were = "was" if missing == 1 else "were"
    values = counted(missing, "missing value")
    return [f"{values} of '{name}' {were} given as empty text."] if missing else []


def _number_notes(name: str, column: pd.Series) -> list[str]:
    if pd.api.types.is_bool_dtype(column):
        return [f"'{name}' was given as 0 and 1."]
    return []


def _names(model: ModelFile) -> list[str]:
    return [each.name for each in model.inputs]


def _near(missing: Sequence[str], frame: pd.DataFrame) -> str:
    close = near_names(missing[0], [str(name) for name in frame.columns])
    return f" (is '{close[0]}' meant?)" if close else ""


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
