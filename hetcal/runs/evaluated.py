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
    """A run of two classes on its test rows alone, and the scores of its calibration rows."""

    run: Run  # without cells, which are larger than rows
    calibration: tuple[Floats, Ints, Ints, Floats | None]  # score, label, leaf, weight


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What was found of the test rows of a run."""

    logits: Floats
    controls: Controls | None  # None where leaf maps calibrate
    evaluation: Evaluation
    measures: pd.DataFrame  # as in `Run.measures`
    p_after: Floats  # as in `Run.p_after`


def rows_to_evaluate(run: Run) -> RowsToEvaluate:
    """Copy from a run what its evaluation reads."""
    table, test, fitted = run.table, run.split.test, run.split.calibration
    group = () if table.roles.group is None else (table.roles.group,)
    columns = *((table.roles.features or ()) if run.choice is not None else ()), *group
    some = replace(
        table,
        frame=table.frame[list(columns)].iloc[test],
        y=table.y[test],
        weight=table.weight_of(test),
    )
    nobody = test[:0]
    own = replace(
        run,
        table=some,
        scores=replace(run.scores, logit=run.scores.logit[test], activations=None),
        split=Split(nobody, nobody, nobody, np.arange(test.size)),
        leaf=run.leaf[test],
        cells=None,
    )
    known = run.scores.logit[fitted], table.y[fitted], run.leaf[fitted], table.weight_of(fitted)
    return RowsToEvaluate(own, known)


def evaluate_rows(given: RowsToEvaluate, progress: Progress = silent) -> Evaluated:
    """Evaluate the test rows of a run."""
    progress(0.0, "Evaluating the test rows")
    run, test = given.run, given.run.split.test
    cells_of = partial(row_cells, run.table, run.scores, leaf=run.leaf)
    none = partial(cells_of, test[:0])
    cells = RoleCells(none, Cells.of_rows(*given.calibration), cells_of(test), None)
    run = replace(run, cells=cells)
    controls = None if run.choice is None else run.controls
    return Evaluated(run.test_logits, controls, run.evaluation, run.measures, run.p_after)


def with_evaluation(run: Run, found: Evaluated) -> Run:
    """Return a run that knows its evaluation."""
    known = replace(run, given_controls=found.controls)
    vars(known).update(
        test_logits=found.logits,
        evaluation=found.evaluation,
        measures=found.measures,
        p_after=found.p_after,
    )
    return known
