"""Rows as lines of JSON, scored one after the other by an artifact that is kept ready."""

import json
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd

from hetcal.artifacts.artifact import Artifact, calibrated_rows
from hetcal.artifacts.kept_model import KeptModel
from hetcal.artifacts.report import scored_rows
from hetcal.data.columns import value_text
from hetcal.errors import ArtifactError, HetcalError
from hetcal.models.scoring import ModelScoring

LONGEST = 2**24  # bytes of a line
MOST_ROWS = 10_000  # of a line


class Served:
    """An artifact, with its model loaded if it has one."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._model: KeptModel | None = None
        if isinstance(artifact.scoring, ModelScoring):
            self._model = KeptModel(artifact.scoring, len(artifact.classes))

    def close(self) -> None:
        """End the process of the model."""
        if self._model is not None:
            self._model.close()

    def score(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Score rows by the names of their columns; fields as the columns of `scored_rows`.

        What is missing is None, in rows and in answers.
        """
        artifact, frame = self._artifact, self._frame(rows)
        known = None if self._model is None else self._model.score(frame)
        leaf, scores, after = calibrated_rows(artifact, frame, scores=known)
        number = np.arange(len(frame))
        found = scored_rows(number, leaf, scores.logit, after, artifact.classes)
        found = found.drop(columns="row")
        return found.astype(object).where(found.notna(), None).to_dict("records")

    def answer(self, line: bytes) -> str:
        """Answer a line with one; whatever is wrong with it becomes its `error`."""
        try:
            given = _parsed(line)
            rows = given if isinstance(given, list) else [given]
            found: Any = self.score(rows)
            return _written(found if isinstance(given, list) else found[0])
        except HetcalError as error:
            return _written({"error": str(error)})

    def _frame(self, rows: list[dict[str, Any]]) -> pd.DataFrame:
        columns = {}
        for name, kind in self._artifact.kinds.items():
            missing = next((row for row in rows if name not in row), None)
            if missing is not None:
                raise _refused(
                    f"A row has no '{name}'.",
                    f"It needs {', '.join(map(repr, self._artifact.kinds))}; null is missing.",
                )
            values = [row[name] for row in rows]
            if kind == "number":
                columns[name] = pd.Series([_number(name, each) for each in values], dtype="float64")
            else:
                columns[name] = pd.Series([_text(name, each) for each in values], dtype="str")
        return pd.DataFrame(columns)


def _parsed(line: bytes) -> dict[str, Any] | list[dict[str, Any]]:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _refused(
            "The line is not JSON.", "A line is an object, or a list of them."
        ) from error
    rows = given if isinstance(given, list) else [given]
    if not 1 <= len(rows) <= MOST_ROWS or not all(isinstance(each, dict) for each in rows):
        raise _refused(
            "The line holds no rows.",
            f"A line is an object by the names of columns, or a list of up to {MOST_ROWS:,}.",
        )
    return given


def _number(name: str, value: object) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(
            f"The value of '{name}' is {_short(value)}.", "It has to be a number or null."
        )
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _text(name: str, value: object) -> str | None:
    if value is None or value != value:
        return None
    if not isinstance(value, str | int | float):
        raise _refused(f"The value of '{name}' is {_short(value)}.", "It has to be text or null.")
    return value_text(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _refused(wrong: str, needed: str) -> ArtifactError:
    return ArtifactError(wrong, needed, "Send the line again as it should be.")


def _written(found: object) -> str:
    return json.dumps(found, ensure_ascii=False, allow_nan=False)


def serve_lines(served: Served, lines: BinaryIO, answers: TextIO) -> int:
    """Answer every line, each at once, until there are no more; return how many there were."""
    count = 0
    while line := lines.readline(LONGEST + 1):
        if len(line) > LONGEST:
            while line and not line.endswith(b"\n"):
                line = lines.readline(LONGEST)
            error = _refused("The line is too long.", f"It has at most {LONGEST:,} bytes.")
            answer = _written({"error": str(error)})
        else:
            answer = served.answer(line)
        answers.write(answer + "\n")
        answers.flush()
        count += 1
    return count
