"""Finished runs as a comparison takes them: from memory, or from the folders that `run` wrote."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import ArrowInvalid
from scipy.special import logit

from hetcal.arrays import Floats, Ints
from hetcal.artifacts.report import NOTHING, chosen_settings, column_digests, to_json
from hetcal.choices import optional_name
from hetcal.data.columns import value_codes
from hetcal.data.text import is_readable
from hetcal.errors import ArtifactError
from hetcal.results.compare import ComparedRun, RunComparison
from hetcal.runs.run import Run
from hetcal.version import __version__

RESULT, SCORED = "result.json", "scored.parquet"
LEAST = np.finfo(np.float64).tiny  # of a probability, so that its logarithm is finite
MOST = 1 - 2.0**-53  # and that of the other class


def compared_run(name: str, run: Run, given: Mapping[str, str] = NOTHING) -> ComparedRun:
    """Return what a comparison needs of a run in memory; `given` as in `result_json`."""
    rows, table = run.split.test, run.table
    chosen = {
        **given,
        **chosen_settings(run),
        "scheme": optional_name(run.scheme_name),
        "scores": run.scores.how,
        "hetcal": __version__,
    }
    return ComparedRun(
        name=name,
        y=table.y[rows],
        before=run.scores.logit[rows],
        after=run.test_logits,
        rows=table.row_numbers()[rows],
        columns=column_digests(table.X.iloc[rows]),
        settings={key: _words(value) for key, value in chosen.items()},
        classes=run.classes,
        weight=table.weight_of(rows),
        group=table.group(rows),
    )


def read_compared(folders: Sequence[Path]) -> list[ComparedRun]:
    """Read runs from their folders; each has the name of its folder, or its path.

    Raises
    ------
    ArtifactError
        When a folder holds no run, or one of a version that wrote less.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    return [_read(folder, name) for folder, name in zip(folders, names, strict=True)]


def comparison_json(comparison: RunComparison) -> str:
    """Write the tables of a comparison, whose columns `RunComparison` names."""
    tables = {
        name: getattr(comparison, name).to_dict("records")
        for name in ("runs", "differences", "settings")
    }
    return to_json({"hetcal": __version__, **tables})


def _read(folder: Path, name: str) -> ComparedRun:
    if not (is_readable(folder / RESULT) and is_readable(folder / SCORED)):
        raise ArtifactError(
            f"There is no run in '{folder}'.",
            f"A run is a folder with {RESULT} and {SCORED}, as `run --out` writes it.",
            "Check the path for a spelling mistake, and the permissions of the files.",
        )
    try:
        result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        return _compared(name, result, pd.read_parquet(folder / SCORED))
    except (KeyError, TypeError, AttributeError, ValueError, ArrowInvalid) as error:
        raise ArtifactError(
            f"The run in '{folder}' cannot be compared: {error!r}.",
            "Its files must be as this version of hetcal writes them, with labels and settings.",
            "Run it again, with the same options.",
        ) from error


def _compared(name: str, result: dict[str, Any], scored: pd.DataFrame) -> ComparedRun:
    classes = tuple(result.get("classes", ()))
    if classes:
        before, after = (_logs(scored, each, classes) for each in ("before", "after"))
    else:
        before = scored["score"].to_numpy(dtype=np.float64)
        after = logit(np.clip(scored["after"].to_numpy(), LEAST, MOST))
    more = {
        "scheme": optional_name(result["scheme"]["name"]),
        "scores": result["scores"]["how"],
        "hetcal": result["hetcal"],
    }
    return ComparedRun(
        name=name,
        y=_labels(scored["label"], classes, result["label"]["positive"]),
        before=before,
        after=after,
        rows=scored["row"].to_numpy(),
        columns=result["test_columns"],
        settings={key: _words(value) for key, value in (result["settings"] | more).items()},
        classes=classes,
        weight=scored["weight"].to_numpy() if "weight" in scored else None,
        group=scored["group"].to_numpy() if "group" in scored else None,
    )


def _logs(scored: pd.DataFrame, when: str, classes: tuple[str, ...]) -> Floats:
    probabilities = scored[[f"{when}_{each}" for each in classes]].to_numpy(dtype=np.float64)
    return np.log(np.maximum(probabilities, LEAST))


def _labels(column: pd.Series, classes: tuple[str, ...], positive: str) -> Ints:
    """Return the number of each row's class; of two classes, 1 where the label is positive."""
    codes, found = value_codes(column)
    numbers = [classes.index(each) if classes else int(each == positive) for each in found]
    return np.array(numbers)[codes]


def _words(value: object) -> str:
    """Write a setting as text; what is not set is empty."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
