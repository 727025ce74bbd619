"""The proof of an export: rows made to be difficult, and what the artifact says of them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.artifacts.artifact import Artifact, score_with_artifact
from hetcal.compiled import sigmoid
from hetcal.errors import ExportError
from hetcal.exports.recipe import Document
from hetcal.models.scoring import ColumnScoring

ROWS = 20_000
MOST_DIFFERENCE = 1e-6  # between probabilities
SECONDS = 600  # that a fresh process may take
ABSENT, PLAIN = 0.1, 0.5  # shares of missing values, and of values between the thresholds
EXTREMES = (0.0, -0.0, 1e-320, -1e300, 1e300, 3.4028235e38, -3.4028235e38, np.inf, -np.inf)
FAR_SCORES = (0.0, -40.0, 40.0, -800.0, 800.0, -1e300, 1e300, np.inf, -np.inf)
PROBABILITIES = (0.0, 1.0, 1e-9, 1 - 1e-9, 0.5)
UNSEEN = ("", "unseen", 'it\'s "new"', "ß≤€", "NULL")


@dataclass(frozen=True)
class Parity:
    """How far an export is from its artifact."""

    rows: int  # that were compared
    difference: float  # the largest between two probabilities; all rows are in the same leaf
    by: str  # what calculated the rows of the export
    of: str = "rows"  # what was compared

    @property
    def words(self) -> str:
        """The same for a person."""
        return f"{self.rows:,} {self.of} by {self.by}: largest difference {self.difference:.2g}"


def difficult_rows(document: Document, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Draw rows on and beside thresholds, with extreme, missing and unseen values."""
    rng = np.random.default_rng(seed)
    score = document["score"]
    drawn: dict[str, Any] = {score["column"]: _scores(document, rows, rng)}
    for number, column in enumerate(document["columns"]):
        if column["kind"] == "category":
            values = np.array([*column["categories"], *UNSEEN], dtype=object)
            picked: Any = rng.choice(values, rows)
        else:
            picked = _numbers(np.array(list(_limits(document, number))), rows, rng)
        absent = rng.random(rows) < ABSENT
        missing = None if column["kind"] == "category" else np.nan
        drawn[column["name"]] = np.where(absent, missing, picked)
    frame = pd.DataFrame(drawn)
    names = [each["name"] for each in document["columns"] if each["kind"] == "category"]
    return frame.astype(dict.fromkeys(names, "str"))


def _limits(document: Document, column: int) -> Iterator[float]:
    for nodes in document["trees"]:
        for node in nodes:
            if len(node) > 1 and node[0] == column and isinstance(node[1], float):
                yield node[1]
    for step in document["steps"]:
        for term in step.get("terms", ()):
            for axis in term["axes"]:
                if axis["column"] == column:
                    yield from axis["limits"]


def _numbers(limits: Floats, rows: int, rng: np.random.Generator) -> Floats:
    """Draw thresholds, their neighbours in single and in double precision, and others."""
    limits = limits[np.isfinite(limits)]
    near = limits.astype(np.float32)
    singles = [np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf)]
    doubles = [np.nextafter(limits, way) for way in (-np.inf, np.inf)]
    special = np.concatenate([limits, near, *singles, *doubles, EXTREMES]).astype(np.float64)
    low, high = (limits.min(), limits.max()) if limits.size else (0.0, 1.0)
    between = rng.uniform(low - (high - low) - 1, high + (high - low) + 1, rows)
    return np.where(rng.random(rows) < PLAIN, between, rng.choice(special, rows))


def _scores(document: Document, rows: int, rng: np.random.Generator) -> Floats:
    edges = np.array(list(_edges(document)))
    beside = [np.nextafter(edges, way) for way in (-np.inf, np.inf)]
    usual = rng.normal(0, 3, rows)
    special = np.concatenate([edges, *beside, FAR_SCORES])
    if document["score"]["kind"] == "probability":
        usual, special = sigmoid(usual), np.concatenate([sigmoid(edges), PROBABILITIES])
    drawn = np.where(rng.random(rows) < PLAIN, usual, rng.choice(special, rows))
    return np.where(rng.random(rows) < ABSENT / 5, np.nan, drawn)


def _edges(document: Document) -> Iterator[float]:
    """Yield the scores at which the maps bend or jump."""
    for step in document["steps"]:
        for each in (step, *step.get("maps", ())):
            yield from (each[key] for key in ("low", "high") if key in each)
            yield from (*each.get("edges", ()), *each.get("scores", ()))


def expected_rows(artifact: Artifact, document: Document, rows: pd.DataFrame) -> pd.DataFrame:
    """Return what the artifact itself makes of the rows, whose scores are in a column."""
    score = document["score"]
    scoring = ColumnScoring((score["column"],), score["kind"])
    return score_with_artifact(replace(artifact, scoring=scoring), rows)


def compare(
    expected: pd.DataFrame,
    found: Sequence[Sequence[Any]],
    by: str,
    most: float = MOST_DIFFERENCE,
) -> Parity:
    """Compare leaves and probabilities that were found with the artifact's; refuse others."""
    leaf, known = np.asarray(found[0]), expected["after"].to_numpy()
    after = np.array(found[1], dtype=np.float64)
    elsewhere = int((leaf != expected["leaf"].to_numpy()).sum())
    without = int((np.isnan(after) != np.isnan(known)).sum())
    difference = float(np.nanmax(np.abs(after - known), initial=0.0))
    if elsewhere or without or not difference <= most:
        raise ExportError(
            f"Of {len(known):,} rows by {by}, {elsewhere:,} are in another leaf than by the "
            f"artifact, {without:,} have or lack a probability, and probabilities differ by up to "
            f"{difference:.2g}.",
            f"An export is given out only if they differ by at most {most:g}.",
            "Score with the artifact itself, choose another format, and report this.",
        )
    return Parity(len(known), difference, by)


def in_fresh_process(script: str, files: dict[str, bytes], *flags: str) -> Any:
    """Run a script of Python in a folder with these files; return what it prints as JSON.

    It sees neither the folder of hetcal nor what the user's variables add to Python.
    """
    with tempfile.TemporaryDirectory(prefix="hetcal-") as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        words = [sys.executable, "-I", *flags, "-c", script]
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise _not_run(f"it took more than {SECONDS} s") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise _not_run(" ".join(last) or "it ended without a word")
    return json.loads(done.stdout)


def _not_run(why: str) -> ExportError:
    return ExportError(
        f"The export cannot be run: {why}.",
        "An export is given out only if a fresh process can run it.",
        "Score with the artifact itself, choose another format, and report this.",
    )


def missing(library: str, extra: str, why: str) -> ExportError:
    """Say that a library is not installed which only some exports need."""
    return ExportError(
        f"{library} is not installed.",
        f"{why}.",
        f'Install it: pip install -e ".[{extra}]" in the folder of hetcal.',
    )


def rows_json(rows: pd.DataFrame) -> bytes:
    """Write rows as a list of objects, with null for what is missing."""
    cells = rows.astype(object).where(rows.notna(), None)
    return json.dumps(cells.to_dict("records")).encode()
