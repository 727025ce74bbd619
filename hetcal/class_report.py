"""The numbers of a run on more than two classes as plain JSON, and its scored rows."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Ints
from hetcal.class_run import ClassRun
from hetcal.reliability import ReliabilityCurve
from hetcal.report import to_json, with_roles
from hetcal.splits import ROLES
from hetcal.table import ALL_ROWS, class_shares


def class_result_json(run: ClassRun) -> str:
    """Write the result of a run; numbers that are not defined become null."""
    found = run.evaluation
    document = {
        "rows": run.split.counts,
        "groups": found.groups,
        "label": {"column": run.table.roles.label, "positive": None},
        "classes": list(run.table.classes),
        "before": asdict(found.before),
        "pooled": asdict(found.pooled),
        "after": asdict(found.after),
        "lift": asdict(found.lift),
        "per_class": found.classes.to_dict("records"),
        "top_label": [_curve(each) for each in found.top_label],
        "scheme": _scheme(run),
        "calibrator": run.calibrator.method,
        "shrinkage": run.calibrator.shrinkage_,
        "leaves": _leaves(run),
        "scores": {
            "how": run.scores.how,
            "clipped": run.scores.clipped,
            "excluded": run.scores.excluded,
        },
        "notes": list(run.notes),
    }
    return to_json(document)


def class_scored_rows(
    rows: Ints, leaf: Ints, before: Floats, after: Floats, classes: tuple[str, ...]
) -> pd.DataFrame:
    """Make the table of scored rows from log-probabilities.

    Returns
    -------
    DataFrame
        `row` (number of the row in its file, from 0), `leaf`, `before_<class>` and
        `after_<class>` (probability before and after calibration) for every class,
        `top_before` and `top_after` (the most probable class; missing without scores).
    """
    columns: dict[str, object] = {"row": rows, "leaf": leaf}
    both = ("before", before), ("after", after)
    for name, logs in both:
        columns |= {f"{name}_{each}": np.exp(logs[:, i]) for i, each in enumerate(classes)}
    columns |= {f"top_{name}": _top(logs, classes) for name, logs in both}
    return pd.DataFrame(columns)


def class_scored_table(run: ClassRun, rows: slice = ALL_ROWS) -> pd.DataFrame:
    """Score rows of a run; columns as in `class_scored_rows`, with `role` and `label`."""
    table = run.table
    parts = run.leaf[rows], run.scores.logit[rows], run.after[rows]
    scored = class_scored_rows(table.row_numbers(rows), *parts, run.table.classes)
    return with_roles(scored, table, run.split, rows)


def class_scored_test_rows(run: ClassRun) -> pd.DataFrame:
    """Score the test rows of a run; columns as in `class_scored_rows`."""
    rows, numbers = run.split.test, run.table.row_numbers()
    logs = run.scores.logit[rows], run.after[rows]
    return class_scored_rows(numbers[rows], run.leaf[rows], *logs, run.table.classes)


def _top(logs: Floats, classes: tuple[str, ...]) -> pd.Series:
    names = pd.Series(np.asarray(classes, dtype=object)[logs.argmax(axis=1)], dtype="str")
    usable: Bools = np.asarray(np.isfinite(logs).all(axis=1))
    return names.where(usable)


def _curve(curve: ReliabilityCurve) -> dict[str, object]:
    numbers = ("predicted", "observed", "low", "high", "count")
    return {"name": curve.name} | {name: getattr(curve, name).tolist() for name in numbers}


def _scheme(run: ClassRun) -> dict[str, object]:
    if run.choice is None:
        return {"partition": run.settings.partition}
    return {
        "partition": run.settings.partition,
        "chosen": run.choice.chosen,
        "why": run.choice.why,
        "candidates": run.choice.candidates.to_dict("records"),
    }


def _leaves(run: ClassRun) -> list[dict[str, object]]:
    """Tell of each leaf its rows, the share of every class in them, and its map."""
    of_role = [(role, run.split.of(role)) for role in ROLES]
    return [
        {
            "id": leaf.id,
            "rule": leaf.rule,
            "rows": {role: int(np.sum(run.leaf[rows] == leaf.id)) for role, rows in of_role},
            "shares": {
                role: class_shares(run.table, rows[run.leaf[rows] == leaf.id])
                for role, rows in of_role
            },
            "weights": run.calibrator.maps_[leaf.id].weights.tolist(),
            "bias": run.calibrator.maps_[leaf.id].bias.tolist(),
        }
        for leaf in run.partition.leaves
    ]
