"""What was done in training to the columns that a model reads: scales, logarithms, codes."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.choices import SCALES, Scale
from hetcal.data.columns import category_codes, column_kind, counted
from hetcal.errors import ModelError, near_names

Way = Literal["standardise", "min-max", "log", "log1p", "codes"]
AS_IS = "as is"
WITHOUT_NUMBERS = (AS_IS, *SCALES, "log", "log1p")
SHOWN = 6


@dataclass(frozen=True)
class ColumnStep:
    """One column as the model reads it.

    `standardise` and `min-max` give (value - shift) / scale, `log` and `log1p` the logarithm of
    the value and of 1 + the value, `codes` the place of the text in `codes`. What has no such
    value becomes missing.
    """

    column: str
    way: Way
    shift: float = 0.0
    scale: float = 1.0
    codes: tuple[str, ...] = ()

    def apply(self, column: pd.Series) -> Floats:
        """Return the values that the model reads; the column is not changed."""
        if self.way == "codes":
            places = category_codes(column, self.codes)
            return np.where(places < 0, np.nan, places)
        values = as_numbers(column, f"step '{self.way}'")
        if self.way in SCALES:
            return np.asarray((values - self.shift) / self.scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values) if self.way == "log" else np.log1p(values)
        return np.where(np.isfinite(logs), logs, np.nan)

    @property
    def words(self) -> str:
        """The step in a few words."""
        if self.way == "standardise":
            return f"'{self.column}' less {self.shift:.6g}, divided by {self.scale:.6g}"
        if self.way == "min-max":
            end = self.shift + self.scale
            return f"'{self.column}' from {self.shift:.6g} to {end:.6g} as 0 to 1"
        if self.way == "codes":
            return f"'{self.column}' as codes 0 to {len(self.codes) - 1}"
        return f"{self.way} of '{self.column}'"


@dataclass(frozen=True)
class InputSteps:
    """The steps of all columns that are not read as they are."""

    steps: tuple[ColumnStep, ...] = ()

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns as the model reads them; columns without a step stay as they are."""
        changed = {
            each.column: each.apply(frame[each.column])
            for each in self.steps
            if each.column in frame
        }
        return frame.assign(**changed) if changed else frame

    @property
    def words(self) -> str:
        """One sentence on what the model reads; empty where it reads the columns as they are."""
        if not self.steps:
            return ""
        listed = "; ".join(each.words for each in self.steps[:SHOWN])
        more = "; …" if len(self.steps) > SHOWN else ""
        return f"{counted(len(self.steps), 'column')} prepared as in training: {listed}{more}."


Asked = str | ColumnStep
"""A step with its numbers, or the name of one, which the training rows complete."""


def fit_steps(asked: Mapping[str, Asked], training: pd.DataFrame) -> InputSteps:
    """Take the numbers that steps need from the training rows.

    `asked` names for each column one of `WITHOUT_NUMBERS`, or holds its whole step.
    """
    steps = []
    for column, step in asked.items():
        if column not in training:
            close = near_names(column, [str(name) for name in training.columns])
            raise ModelError(
                f"There is no column '{column}' to prepare for the model.",
                f"Its columns are {', '.join(map(repr, training.columns[:12]))}.",
                f"Write '{close[0]}', if that is meant." if close else "Correct the name.",
            )
        if isinstance(step, ColumnStep):
            steps.append(step)
        elif step != AS_IS:
            steps.append(_fitted(column, _way(step), training[column]))
    return InputSteps(tuple(steps))


def scale_all(
    way: Scale, columns: Sequence[str], training: pd.DataFrame, others: Mapping[str, Asked] = {}
) -> InputSteps:
    """Scale all of these columns that hold numbers by the training rows; `others` win over it."""
    numbers = [name for name in columns if column_kind(training[name]) == "number"]
    return fit_steps({**dict.fromkeys(numbers, way), **others}, training)


def _fitted(column: str, way: Way, values: pd.Series) -> ColumnStep:
    if way not in SCALES:
        return ColumnStep(column, way)
    numbers = as_numbers(values, f"step '{way}'")
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return ColumnStep(column, way)
    if way == "standardise":
        shift, scale = float(numbers.mean()), float(numbers.std())
    else:
        shift, scale = float(numbers.min()), float(numbers.max() - numbers.min())
    # A constant column stays one: rounding leaves it a tiny deviation.
    constant = scale <= 1e-12 * max(abs(shift), 1e-300)
    return ColumnStep(column, way, shift, 1.0 if constant else scale)


def _way(text: str) -> Way:
    if text in WITHOUT_NUMBERS and text != AS_IS:
        return text  # type: ignore[return-value]
    raise ModelError(
        f"There is no step called {text[:60]!r} for a column.",
        f"A step without numbers is one of {', '.join(WITHOUT_NUMBERS)}.",
        "Name one of these.",
    )


def read_steps(path: Path) -> dict[str, Asked]:
    """Read the steps of columns from a file.

    JSON: an object with a value for each column: the name of a step, {"mean": …, "scale": …},
    {"min": …, "max": …} or {"codes": ["first", "second", …]}. CSV: a line for each column, with
    the headings column and mean, scale, or column and min, max, or column and step.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        return steps_from_text(text, path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path.name, "it cannot be read as text") from error


def steps_from_text(text: str, name: str) -> dict[str, Asked]:
    """Read the content of such a file; `name` is what the user calls it."""
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _unreadable(name, "it is not readable JSON") from error
    else:
        lines = list(csv.DictReader(io.StringIO(text), strict=False))
        if not lines or "column" not in lines[0]:
            raise _unreadable(name, "it is neither a JSON object nor has a heading 'column'")
        found = {str(line["column"]): _from_line(line) for line in lines}
    return {column: _asked(column, value, name) for column, value in found.items()}


def _from_line(line: Mapping[Any, Any]) -> object:
    filled = {key: value for key, value in line.items() if key != "column" and value}
    return filled.get("step") or filled


def _asked(column: str, value: object, name: str) -> Asked:
    if isinstance(value, str):
        return value if value == AS_IS else _way(value)
    codes = value.get("codes") if isinstance(value, dict) else None
    if isinstance(codes, list) and codes and all(isinstance(each, str) for each in codes):
        return ColumnStep(column, "codes", codes=tuple(codes))
    for way, first, second in (("standardise", "mean", "scale"), ("min-max", "min", "max")):
        if isinstance(value, dict) and set(value) == {first, second}:
            shift, scale = (_number(value[key]) for key in (first, second))
            scale = scale - shift if way == "min-max" else scale
            if math.isfinite(shift) and math.isfinite(scale) and scale > 0:
                return ColumnStep(column, way, shift, scale)  # type: ignore[arg-type]
    raise _unreadable(name, f"the step of '{column[:60]}' is none that is known")


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _unreadable(name: str, why: str) -> ModelError:
    return ModelError(
        f"The file '{name}' does not say what was done to the columns: {why}.",
        'A JSON object such as {"age": {"mean": 39, "scale": 10.5}, "pay": "log1p", "plan": '
        '{"codes": ["basic", "plus"]}}, or a CSV file with the headings column, mean, scale or '
        "column, min, max is needed; a scale is above 0.",
        "Correct the file.",
    )


def as_numbers(column: pd.Series, used_by: str) -> Floats:
    """Read a column as numbers, missing values as NaN; other text and dates are refused."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    present = column.dropna()
    if present.empty:
        return np.full(len(column), np.nan)
    if column_kind(column) == "category":
        # Codes such as 00123 stay text in the table, but the model says that they are numbers.
        numbers = pd.to_numeric(column.astype("str"), errors="coerce")
        if (numbers.notna() | column.isna()).all():
            return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    raise ModelError(
        f"The column '{column.name}' holds {str(present.iloc[0])[:60]!r}, but the model's "
        f"{used_by} takes numbers.",
        "Each column of a number input must hold numbers.",
        "Choose another column, convert this one to numbers as in training, or use a score "
        "column instead.",
    )
