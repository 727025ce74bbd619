"""The numbers of a run as plain JSON, and the table of scored rows."""

import io
import json
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.errors import TableError
from hetcal.finished_run import Run
from hetcal.leaf_map import LeafMap
from hetcal.leaves import leaf_table
from hetcal.map_shapes import Tamed
from hetcal.splits import ROLES, Split
from hetcal.table import ALL_ROWS, Table

WRITTEN = 1 << 18  # rows that are turned into text at a time
LIFT = ("auc", "percent", "se", "z", "p", "low", "high")


def result_json(run: Run) -> str:
    """Write the result of a run; numbers that are not defined become null."""
    evaluation = run.evaluation
    lift = evaluation.lift
    document = {
        "rows": run.split.counts,
        "label": {"column": run.table.roles.label, "positive": run.table.roles.positive},
        "before": asdict(evaluation.before),
        "pooled": asdict(evaluation.pooled),
        "tree": asdict(evaluation.tree),
        "after": asdict(evaluation.after),
        "lift": {name: getattr(lift, name) for name in LIFT},
        "scheme": _scheme(run),
        "leaves": _leaves(run),
        "scores": {
            "how": run.scores.how,
            "clipped": run.scores.clipped,
            "excluded": run.scores.excluded,
            "largest_difference": run.scores.largest_difference,
        },
        "notes": [*run.notes, *([] if run.cells.exact else [run.computed_on])],
    }
    return to_json(document)


def to_json(document: object) -> str:
    """Write JSON that every reader takes: no NaN, no infinity, the same bytes each time."""
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def scored_rows(rows: Ints, leaf: Ints, scores: Floats, after: Floats) -> pd.DataFrame:
    """Make the table of scored rows.

    Returns
    -------
    DataFrame
        `row` (number of the row in its file, from 0), `leaf`, `score` (logit),
        `before` and `after` (probability before and after calibration).
    """
    return pd.DataFrame(
        {"row": rows, "leaf": leaf, "score": scores, "before": expit(scores), "after": expit(after)}
    )


def scored_table(run: Run, rows: slice = ALL_ROWS) -> pd.DataFrame:
    """Score rows of a run; columns as in `scored_rows`, with `role` and `label` added."""
    table = run.table
    parts = run.leaf[rows], run.scores.logit[rows], run.after[rows]
    return with_roles(scored_rows(table.row_numbers(rows), *parts), table, run.split, rows)


def with_roles(scored: pd.DataFrame, table: Table, split: Split, rows: slice) -> pd.DataFrame:
    """Add `role` and `label` to a table of scored rows."""
    scored.insert(1, "role", pd.Series(split.names(table.rows)[rows]))
    scored.insert(2, "label", table.frame[table.roles.label].iloc[rows].to_numpy())
    return scored


def table_bytes(table: pd.DataFrame, name: str) -> bytes:
    """Write a table as CSV or Parquet, by the ending of its name."""
    require_table_name(name)
    if name.endswith(".parquet"):
        return table.to_parquet(index=False)
    written = io.BytesIO()
    for begin in range(0, max(len(table), 1), WRITTEN):
        part = _without_formulas(table.iloc[begin : begin + WRITTEN])
        options = csv.WriteOptions(include_header=begin == 0)
        csv.write_csv(pa.Table.from_pandas(part, preserve_index=False), written, options)
    return written.getvalue()


def require_table_name(name: str) -> None:
    """Refuse a file name whose ending names no format that can be written."""
    if not name.endswith((".csv", ".parquet")):
        raise TableError(
            f"The output '{name}' ends in neither .csv nor .parquet.",
            "The ending says which format to write.",
            "Choose a name such as scored.parquet.",
        )


def scored_test_rows(run: Run) -> pd.DataFrame:
    """Score the test rows of a run; columns as in `scored_rows`."""
    rows, numbers = run.split.test, run.table.row_numbers()
    return scored_rows(numbers[rows], run.leaf[rows], run.scores.logit[rows], run.after[rows])


def _scheme(run: Run) -> dict[str, object]:
    if run.choice is None:
        return {"partition": run.settings.partition, "calibrator": run.settings.calibrator}
    return {
        "partition": run.settings.partition,
        "chosen": run.choice.chosen,
        "why": run.choice.why,
        "candidates": run.choice.candidates.to_dict("records"),
    }


def _leaves(run: Run) -> list[dict[str, object]]:
    table = run.table
    applied = run.applied
    counts = leaf_table(run.partition, run.leaf, table.y, run.split, table.weight).set_index("leaf")
    return [
        {
            "id": each.leaf,
            "rule": counts.at[each.leaf, "rule"],
            "rows": {role: counts.at[each.leaf, f"rows_{role}"] for role in ROLES},
            "positive_rate": {role: counts.at[each.leaf, f"rate_{role}"] for role in ROLES},
            "slope": each.slope,
            "intercept": each.intercept,
            "limits": _limits(each),
            "map": each.shape.words,
            "applied": applied,
            "fallback": each.fallback,
        }
        for each in run.calibrator.maps_
    ]


def _limits(leaf_map: LeafMap) -> list[float] | None:
    """Return where a map is straight, if it is not so everywhere."""
    shape = leaf_map.shape
    return [shape.low, shape.high] if isinstance(shape, Tamed) else None


def _without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Keep a spreadsheet from running a text cell that begins like a formula."""
    text = table.select_dtypes(exclude="number").astype("str")
    return table.assign(
        **{
            str(name): text[name].where(~text[name].str.match(r"[=+@\t\r-]"), "'" + text[name])
            for name in text
        }
    )


def _plain(value: object) -> object:
    """Turn numpy numbers into Python's, and what is not finite into None."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
