"""The evaluation of a run in a process of its own, which gets test rows and not the table."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.cells.cells import Cells
from hetcal.data.splits import Split
from hetcal.progress import Progress, silent
from hetcal.results.evaluation import Controls, Evaluation
from hetcal.runs.role_cells import RoleCells, row_cells
from hetcal.runs.run import Run


@dataclass(frozen=True, eq=False)
class RowsToEvaluate:
    """A run on its test rows alone, and the scores of its calibration rows.

    With more than two classes the run has its calibration rows, too.
    """

    run: Run  # without cells, which are larger than rows
    calibration: tuple[Floats, Ints, Ints, Floats | None] | None  # score, label, leaf, weight


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What was found of the test rows of a run; the last three are those of two classes."""

    controls: Controls | None  # None where leaf maps calibrate
    evaluation: Evaluation
    logits: Floats | None = None
    measures: pd.DataFrame | None = None
    p_after: Floats | None = None


def rows_to_evaluate(run: Run) -> RowsToEvaluate:
    """Copy from a run what its evaluation reads."""
    table, test, fitted = run.table, run.split.test, run.split.calibration
    if run.classes:
        return RowsToEvaluate(_on_rows(run, np.concatenate([test, fitted])), None)
    known = run.scores.logit[fitted], table.y[fitted], run.leaf[fitted], table.weight_of(fitted)
    return RowsToEvaluate(replace(_on_rows(run, test), cells=None), known)


def _on_rows(run: Run, rows: Ints) -> Run:
    """Copy a run on its test rows, which come first, and on calibration rows, if any follow."""
    table, test, nobody = run.table, run.split.test.size, rows[:0]
    group = () if table.roles.group is None else (table.roles.group,)
    columns = *((table.roles.features or ()) if run.choice is not None else ()), *group
    some = replace(
        table,
        frame=table.frame[list(columns)].iloc[rows],
        y=table.y[rows],
        weight=table.weight_of(rows),
    )
    return replace(
        run,
        table=some,
        scores=replace(run.scores, logit=run.scores.logit[rows], activations=None),
        split=Split(nobody, nobody, np.arange(test, rows.size), np.arange(test)),
        leaf=run.leaf[rows],
    )


def evaluate_rows(given: RowsToEvaluate, progress: Progress = silent) -> Evaluated:
    """Evaluate the test rows of a run."""
    progress(0.0, "Evaluating the test rows")
    run, test = given.run, given.run.split.test
    if given.calibration is None:
        return Evaluated(run.controls, run.evaluation)
    cells_of = partial(row_cells, run.table, run.scores, leaf=run.leaf)
    none = partial(cells_of, test[:0])
    cells = RoleCells(none, Cells.of_rows(*given.calibration), cells_of(test), None)
    run = replace(run, cells=cells)
    controls = None if run.choice is None else run.controls
    return Evaluated(controls, run.evaluation, run.test_logits, run.measures, run.p_after)


def with_evaluation(run: Run, found: Evaluated) -> Run:
    """Return a run that knows its evaluation."""
    known = replace(run, given_controls=found.controls)
    parts = {
        "test_logits": found.logits,
        "evaluation": found.evaluation,
        "measures": found.measures,
        "p_after": found.p_after,
    }
    vars(known).update({name: part for name, part in parts.items() if part is not None})
    return known
