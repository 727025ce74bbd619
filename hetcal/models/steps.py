"""What was done in training to the columns that a model reads: scales, logarithms, codes."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.choices import SCALES, Scale
from hetcal.data.columns import category_codes, column_kind, counted, value_text
from hetcal.data.raw_columns import with_raw_columns
from hetcal.data.reading import Source
from hetcal.data.table import require_column
from hetcal.digests import text_digest
from hetcal.errors import ModelError, near_names

Way = Literal["standardise", "min-max", "log", "log1p", "codes", "one-hot"]
AS_IS = "as is"
OF_NUMBERS = (AS_IS, *SCALES, "log", "log1p")
OF_CATEGORIES: tuple[Way, ...] = ("one-hot", "codes")
WITHOUT_NUMBERS = (*OF_NUMBERS, *OF_CATEGORIES)
SHOWN = 6
MOST_CODES = 1_000
WHOLE = 0.05  # largest distance to whole numbers that comes of rounding a scaled value


@dataclass(frozen=True)
class ColumnStep:
    """One column as the model reads it.

    `standardise` and `min-max` give (value - shift) / scale, `log` and `log1p` the logarithm of
    the value and of 1 + the value, `codes` the place of the text in `codes`; what has no such
    value becomes missing. `one-hot` gives a column of 0 and 1 for each text in `codes`, all 0 for
    other texts.
    """

    column: str
    way: Way
    shift: float = 0.0
    scale: float = 1.0
    codes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the model reads in place of the one."""
        if self.way != "one-hot":
            return (self.column,)
        return tuple(f"{self.column}={code}" for code in self.codes)

    def apply(self, column: pd.Series) -> Floats:
        """Return the values that the model reads; the column is not changed."""
        if self.way in OF_CATEGORIES:
            places = category_codes(column, self.codes)
            if self.way == "one-hot":
                return (places[:, None] == np.arange(len(self.codes))).astype(float)
            return np.where(places < 0, np.nan, places)
        values = as_numbers(column, f"step '{self.way}'")
        if self.way in SCALES:
            return np.asarray((values - self.shift) / self.scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values) if self.way == "log" else np.log1p(values)
        return np.where(np.isfinite(logs), logs, np.nan)

    def undo(self, column: pd.Series) -> pd.Series:
        """Return the values before the step; whole numbers again, where all are close to some."""
        values = as_numbers(column, f"undone step '{self.way}'")
        if self.way == "codes":
            texts = dict(enumerate(self.codes))
            return pd.Series(values, column.index).map(texts).astype("str")
        if self.way in SCALES:
            values = values * self.scale + self.shift
        else:
            with np.errstate(over="ignore"):
                values = np.exp(values) if self.way == "log" else np.expm1(values)
        near = WHOLE * min(1.0, self.scale / 50)
        whole: Floats = np.round(values)
        if not (np.abs(values - whole) > near).any():
            values = whole
        return pd.Series(np.where(np.isfinite(values), values, np.nan), column.index)

    @property
    def words(self) -> str:
        """The step in a few words."""
        if self.way == "standardise":
            return f"'{self.column}' less {self.shift:.6g}, divided by {self.scale:.6g}"
        if self.way == "min-max":
            end = self.shift + self.scale
            return f"'{self.column}' from {self.shift:.6g} to {end:.6g} as 0 to 1"
        if self.way in OF_CATEGORIES:
            listed = ", ".join(self.codes[:SHOWN]) + (", …" if len(self.codes) > SHOWN else "")
            codes = f"codes 0 to {len(self.codes) - 1}" if self.way == "codes" else "0 and 1 each"
            return f"'{self.column}' as {codes} ({listed})"
        return f"{self.way} of '{self.column}'"


@dataclass(frozen=True)
class InputSteps:
    """The steps of all columns that are not read as they are."""

    steps: tuple[ColumnStep, ...] = ()

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns as the model reads them; columns without a step stay as they are."""
        steps = {each.column: each for each in self.steps if each.column in frame}
        if not steps:
            return frame
        parts = []
        for j, name in enumerate(frame.columns):
            part = frame.iloc[:, [j]]
            if name in steps:
                values = steps[name].apply(frame.iloc[:, j]).reshape(len(frame), -1)
                part = pd.DataFrame(values, frame.index, list(steps[name].names))
            parts.append(part)
        return pd.concat(parts, axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Name what the model reads in place of columns."""
        steps = {each.column: each.names for each in self.steps}
        return tuple(name for each in columns for name in steps.get(each, (each,)))

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
    if way in OF_CATEGORIES:
        return ColumnStep(column, way, codes=sorted_values(values))
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


def sorted_values(column: pd.Series) -> tuple[str, ...]:
    """List the values of a column in the order that encoders use: sorted, numbers by size."""
    distinct = column.dropna().unique()
    if len(distinct) > MOST_CODES:
        raise ModelError(
            f"The column '{column.name}' has {len(distinct):,} values.",
            f"A column may be given as codes or 0 and 1 for at most {MOST_CODES:,} values.",
            "Scale it or leave it as it is, or list the values that had codes in training.",
        )
    if pd.api.types.is_numeric_dtype(column):
        return tuple(value_text(each) for each in np.sort(distinct))
    return tuple(sorted(value_text(each) for each in distinct))


def _way(text: str) -> Way:
    if text in WITHOUT_NUMBERS and text != AS_IS:
        return text  # type: ignore[return-value]
    raise ModelError(
        f"There is no step called {text[:60]!r} for a column.",
        f"A step without numbers is one of {', '.join(WITHOUT_NUMBERS)}.",
        "Name one of these.",
    )


def read_steps(path: Path, name: str | None = None) -> dict[str, Asked]:
    """Read the steps of columns from a file.

    JSON: an object with a value for each column: the name of a step, {"mean": …, "scale": …},
    {"min": …, "max": …}, {"codes": ["first", "second", …]} or {"one-hot": ["first", …]}. CSV: a
    line for each column, with the headings column and mean, scale, or column and min, max, or
    column and step. `name` is what the user calls the file, by default its own.
    """
    name = name or path.name
    try:
        text = path.read_text(encoding="utf-8-sig")
        return steps_from_text(text, name)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(name, "it cannot be read as text") from error


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
    for way in OF_CATEGORIES:
        codes = value.get(way) if isinstance(value, dict) else None
        if isinstance(codes, list) and codes and all(type(x) in (str, int, float) for x in codes):
            return ColumnStep(column, way, codes=tuple(map(value_text, codes)))
    for way, first, second in (("standardise", "mean", "scale"), ("min-max", "min", "max")):
        if isinstance(value, dict) and set(value) == {first, second}:
            shift, scale = (_number(value[key]) for key in (first, second))
            scale = scale - shift if way == "min-max" else scale
            if math.isfinite(shift) and math.isfinite(scale) and scale > 0:
                return ColumnStep(column, _way(way), shift, scale)
    told = json.dumps(value)[:60]
    raise _unreadable(name, f"the step of '{column[:60]}', {told}, is none that is known")


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _unreadable(name: str, why: str) -> ModelError:
    return ModelError(
        f"The file '{name}' does not say what was done to the columns: {why}.",
        'A JSON object such as {"age": {"mean": 39, "scale": 10.5}, "pay": "log1p", "plan": '
        '{"one-hot": ["basic", "plus"]}}, or a CSV file with the headings column, mean, scale or '
        "column, min, max is needed; a scale is above 0.",
        "Correct the file.",
    )


def with_scales_undone(source: Source, asked: Mapping[str, Asked], name: str) -> Source:
    """Add columns as they were before known steps, which partitions read in place of the scaled.

    One-hot columns are left as they are: rules read them as one column. `name` is what the user
    calls the file with the steps.
    """
    steps = [each for column, step in asked.items() for each in _known_step(column, step)]
    frame, raw = source.frame, {}
    for step in steps:
        require_column(frame, step.column, "scaled column")
        raw[step.column] = step.undo(frame[step.column])
    words = f"{counted(len(raw), 'column')} as before the steps in '{name}'"
    added = pd.DataFrame(raw, frame.index)
    found = with_raw_columns(source, added, [each.column for each in steps], words)
    return replace(found, digest=text_digest(f"{source.digest} {steps!r}"))


def _known_step(column: str, step: Asked) -> Iterator[ColumnStep]:
    """Yield a step that can be undone; those without their numbers cannot."""
    if isinstance(step, ColumnStep):
        if step.way != "one-hot":
            yield step
    elif step in ("log", "log1p"):
        yield ColumnStep(column, _way(step))
    elif step not in (AS_IS, "one-hot"):
        raise ModelError(
            f"The step '{step}' of the column '{column}' has no numbers, so it cannot be undone.",
            "To undo a scale its mean and scale, its min and max, or its codes are needed.",
            'Write them: {"age": {"mean": 39, "scale": 10.5}}.',
        )


def numbers_of(column: pd.Series) -> Floats | None:
    """Read a column as numbers, missing values as NaN; None where it holds other text or dates."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if column.isna().all():
        return np.full(len(column), np.nan)
    if column_kind(column) == "category":
        # Codes such as 00123 stay text in the table, but the model says that they are numbers.
        numbers = pd.to_numeric(column.astype("str"), errors="coerce")
        if (numbers.notna() | column.isna()).all():
            return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    return None


def as_numbers(column: pd.Series, used_by: str) -> Floats:
    """Read a column as numbers, missing values as NaN; other text and dates are refused."""
    numbers = numbers_of(column)
    if numbers is not None:
        return numbers
    raise ModelError(
        f"The column '{column.name}' holds {str(column.dropna().iloc[0])[:60]!r}, but the model's "
        f"{used_by} takes numbers.",
        "Each column of a number input must hold numbers.",
        "Choose another column, say that it was given as codes or one-hot in training (on the "
        "Scores page, or --scale FILE on the command line), or use a score column instead.",
    )
