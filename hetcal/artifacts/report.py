"""The numbers of a run as plain JSON, and the table of scored rows."""

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator, LeafMap
from hetcal.calibrators.shapes import Tamed
from hetcal.data.columns import category_names, column_kind
from hetcal.data.splits import ROLES
from hetcal.data.table import ALL_ROWS, class_shares, require_column
from hetcal.digests import bytes_digest
from hetcal.errors import TableError
from hetcal.models.scoring import ModelScoring, Scoring
from hetcal.partitions.partition import leaf_table
from hetcal.results.evaluation import ByClass, Evaluation
from hetcal.runs.run import Run
from hetcal.version import __version__

DIGITS = 8  # of a digest, enough to tell files apart
WRITTEN = 1 << 18  # rows that are turned into text at a time
LIFT = ("auc", "percent", "se", "z", "p", "low", "high")
FORMULA = r"[=+@\t\r-]"  # how a cell begins that a spreadsheet would run
TESTED = "cumulative_difference"  # the measure that has p-values
ADDS = ("before", "after", "auc", "se", "p", "low", "high")


NOTHING: Mapping[str, str] = {}


def result_json(run: Run, given: Mapping[str, str] = NOTHING, *, timed: bool = True) -> str:
    """Write the result of a run; numbers that are not defined become null.

    `given` names its table and its model, see `names_of_given`.
    Only the `seconds` of the ladder, which are there if it is `timed`, differ between equal runs.
    """
    evaluation, scores = run.evaluation, run.scores
    by_class, lift, maps = evaluation.by_class, asdict(evaluation.lift), {}
    if isinstance(run.calibrator, ClassCalibrator):
        maps = {"calibrator": run.calibrator.method, "shrinkage": run.calibrator.shrinkage_}
    about_scores = {"how": scores.how, "clipped": scores.clipped, "excluded": scores.excluded}
    if by_class is None:
        about_scores["largest_difference"] = scores.largest_difference
    compared = {
        name: asdict(each)
        for name in ("before", "pooled", "tree", "after")
        if (each := getattr(evaluation, name)) is not None
    }
    document = {
        "hetcal": __version__,
        "rows": run.split.counts,
        **({} if by_class is None else {"groups": evaluation.groups}),
        "label": {"column": run.table.roles.label, "positive": run.table.roles.positive},
        **({} if by_class is None else {"classes": list(run.classes)}),
        **compared,
        "lift": lift if by_class is not None else lift_document(evaluation),
        **network_document(evaluation),
        **(
            {"measures": measures_document(run.measures)}
            if by_class is None
            else _by_class(by_class)
        ),
        "verdict": run.verdict,
        "scheme": _scheme(run),
        "ladder": (run.ladder if timed else run.ladder.drop(columns="seconds")).to_dict("records"),
        **maps,
        "leaves": _leaves(run) if by_class is None else _class_leaves(run),
        "scores": about_scores,
        "findings": [
            {
                "code": each.code,
                "sentence": each.message,
                "level": each.level,
                "column": each.column,
            }
            for each in run.findings
        ],
        "notes": [*run.notes, *([run.computed_on] if evaluation.sketched else [])],
        "settings": {**given, **chosen_settings(run)},
        "test_columns": column_digests(run.table.X.iloc[run.split.test]),
    }
    return to_json(document)


def lift_document(evaluation: Evaluation) -> dict[str, float]:
    """Return what is written of the lift of two classes."""
    lift = asdict(evaluation.lift)
    return {name: lift[name] for name in LIFT}


def measures_document(measures: pd.DataFrame) -> dict[str, object]:
    """Return every measure before and after, with its interval where it has one."""
    found = measures.to_dict("index")
    return {
        str(name): {
            what: {"value": each[what], "low": each[f"{what}_low"], "high": each[f"{what}_high"]}
            for what in ("before", "after", "change")
        }
        | ({"p_before": each["p_before"], "p_after": each["p_after"]} if name == TESTED else {})
        for name, each in found.items()
    }


def names_of_given(table: str, digest: str, scoring: Scoring | None) -> dict[str, str]:
    """Name the table and the model of a run; files of one name are told apart by their content."""
    model = scoring.model if isinstance(scoring, ModelScoring) else None
    named = {} if model is None else {"model": f"{model.name} ({model.digest[:DIGITS]})"}
    steps = scoring.inputs.steps.steps if isinstance(scoring, ModelScoring) else ()
    if steps:
        named["prepared"] = "; ".join(each.words for each in steps)
    if isinstance(scoring, ModelScoring) and scoring.inputs.arrays:
        named["arrays"] = "; ".join(each.words for each in scoring.inputs.arrays)
    return {"table": f"{table} ({digest[:DIGITS]})", **named}


def chosen_settings(run: Run) -> dict[str, object]:
    """Return the roles of the columns and the choices of a run; endless shrinkage is a word."""
    chosen = asdict(run.table.roles) | asdict(run.settings)
    endless = run.settings.shrinkage == math.inf
    return chosen | ({"shrinkage": "inf"} if endless else {})


def column_digests(frame: pd.DataFrame) -> dict[str, str]:
    """Return a digest of the values of every column, by which runs find out that rows are equal.

    It does not depend on the type in which a file holds a number or a category.
    """
    return {str(name): _column_digest(frame[name]) for name in frame.columns}


def _column_digest(column: pd.Series) -> str:
    if column_kind(column) == "number":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0
        return bytes_digest(np.where(np.isnan(numbers), np.nan, numbers).tobytes())
    codes, names = category_names(column)
    hashes = pd.util.hash_array(np.array([*names, ""], dtype=object))
    hashes[-1] = 0  # of code -1, which is missing
    return bytes_digest(hashes[codes].tobytes())


def network_document(evaluation: Evaluation) -> dict[str, object]:
    """Return what is written of the part that the model has in a result."""
    without, adds = evaluation.without, evaluation.network_adds
    known = {} if adds is None else asdict(adds)
    return {
        "without_network": None if without is None else asdict(without),
        "network_adds": {name: known[name] for name in ADDS} if known else None,
        "network_share": evaluation.network_share,
        "loss": asdict(evaluation.loss),
    }


def to_json(document: object) -> str:
    """Write JSON that every reader takes: no NaN, no infinity, the same bytes each time."""
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def scored_rows(
    rows: Ints, leaf: Ints, before: Floats, after: Floats, classes: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Make the table of scored rows from logits, or from log-probabilities of classes.

    Columns: `row` (number of the row in its file, from 0) and `leaf`. Then for two classes `score`
    (logit), `before` and `after` (probability before and after calibration); for more
    `before_<class>` and `after_<class>` for every class, `top_before` and `top_after` (the most
    probable class; missing without scores).
    """
    columns: dict[str, object] = {"row": rows, "leaf": leaf}
    if not classes:
        scored = {"score": before, "before": expit(before), "after": expit(after)}
        return pd.DataFrame(columns | scored)
    both = ("before", before), ("after", after)
    for name, logs in both:
        columns |= {f"{name}_{each}": np.exp(logs[:, i]) for i, each in enumerate(classes)}
    columns |= {f"top_{name}": _top(logs, classes) for name, logs in both}
    return pd.DataFrame(columns)


def scored_table(run: Run, rows: slice = ALL_ROWS) -> pd.DataFrame:
    """Score rows of a run; columns as in `scored_rows`, with `role` and `label` added."""
    table = run.table
    parts = run.leaf[rows], run.scores.logit[rows], run.after[rows]
    scored = scored_rows(table.row_numbers(rows), *parts, run.classes)
    scored.insert(1, "role", pd.Series(run.split.names(table.rows)[rows]))
    scored.insert(2, "label", table.frame[table.roles.label].iloc[rows].to_numpy())
    return scored


def scored_with(run: Run, columns: Sequence[str]) -> pd.DataFrame:
    """Score all rows of a run; columns of its table come along, see `with_columns`."""
    for each in columns:
        require_column(run.table.frame, each, "column to carry")
    return with_columns(scored_table(run), run.table.frame[list(columns)])


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
    rows = run.split.test
    parts = run.leaf[rows], run.scores.logit[rows], run.after[rows]
    return scored_rows(run.table.row_numbers()[rows], *parts, run.classes)


def labelled_test_rows(run: Run) -> pd.DataFrame:
    """Add what else a comparison with other runs needs to `scored_test_rows`.

    Columns: `label`, as in the table; `weight` and `group` if there are such columns.
    """
    rows, table = run.split.test, run.table
    label = table.frame[table.roles.label].iloc[rows].to_numpy()
    known = {"label": label, "weight": table.weight_of(rows), "group": table.group(rows)}
    there = {name: values for name, values in known.items() if values is not None}
    return scored_test_rows(run).assign(**there)


def with_columns(scored: pd.DataFrame, carried: pd.DataFrame) -> pd.DataFrame:
    """Put columns of the table behind the number of the row, in the order of the rows.

    Where a name is taken, that of the table gets the ending `_in_table`.
    """
    taken, names = {*scored.columns, *carried.columns}, []
    for each in carried.columns:
        name = f"{each}_in_table" if each in scored.columns else str(each)
        while name in taken and name != each:
            name += "_in_table"
        taken.add(name)
        names.append(name)
    beside = carried.set_axis(names, axis=1).set_axis(scored.index)
    return pd.concat([scored.iloc[:, :1], beside, scored.iloc[:, 1:]], axis=1)


def _top(logs: Floats, classes: tuple[str, ...]) -> pd.Series:
    names = pd.Series(np.asarray(classes, dtype=object)[logs.argmax(axis=1)], dtype="str")
    return names.where(np.isfinite(logs).all(axis=1))


def _by_class(found: ByClass) -> dict[str, object]:
    numbers = ("predicted", "observed", "low", "high", "count")
    curves = [
        {"name": each.name} | {name: getattr(each, name).tolist() for name in numbers}
        for each in found.top_label
    ]
    return {"per_class": found.table.to_dict("records"), "top_label": curves}


def _scheme(run: Run) -> dict[str, object]:
    scheme = {
        "name": run.scheme_name,
        "kind": run.kind,
        "numbers": run.numbers,
        "partition": run.settings.partition,
    }
    if run.choice is None:
        maps = {} if run.classes else {"calibrator": run.settings.calibrator}
        return scheme | maps
    return scheme | {
        "chosen": run.choice.chosen,
        "why": run.choice.why,
        "candidates": run.choice.candidates.drop(columns="seconds").to_dict("records"),
    }


def _class_leaves(run: Run) -> list[dict[str, object]]:
    """Describe each leaf: its rows, the share of every class in them, and its map."""
    if isinstance(run.calibrator, LeafCalibrator):
        raise TypeError("these are maps of two classes")
    leaves = []
    for leaf in run.partition.leaves:
        of_roles = {role: run.split.of(role) for role in ROLES}
        inside = {role: rows[run.leaf[rows] == leaf.id] for role, rows in of_roles.items()}
        own = run.calibrator.maps_[leaf.id]
        leaves.append(
            {
                "id": leaf.id,
                "rule": leaf.rule,
                "rows": {role: rows.size for role, rows in inside.items()},
                "shares": {role: class_shares(run.table, rows) for role, rows in inside.items()},
                "weights": own.weights.tolist(),
                "bias": own.bias.tolist(),
            }
        )
    return leaves


def _leaves(run: Run) -> list[dict[str, object]]:
    table = run.table
    counts = leaf_table(run.partition, run.leaf, table.y, run.split, table.weight)
    return leaf_documents(counts, run.leaf_maps, applied=run.applied)


def leaf_documents(
    counts: pd.DataFrame, maps: LeafCalibrator, *, applied: bool
) -> list[dict[str, object]]:
    """Return what is written of the leaves of two classes; `counts` are those of `leaf_table`."""
    counts = counts.set_index("leaf")
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
        for each in maps.maps_
    ]


def _limits(leaf_map: LeafMap) -> list[float] | None:
    """Return the interval in which a map is linear, if it is not linear everywhere."""
    shape = leaf_map.shape
    return [shape.low, shape.high] if isinstance(shape, Tamed) else None


def _without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Keep a spreadsheet from running a name or a text cell that begins like a formula."""
    text = table.select_dtypes(exclude="number").astype("str")
    cells = {
        str(name): text[name].where(~text[name].str.match(FORMULA), "'" + text[name])
        for name in text
    }
    return table.assign(**cells).rename(
        columns=lambda name: f"'{name}" if re.match(FORMULA, str(name)) else name
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
