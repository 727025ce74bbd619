"""Fit the schemes of many partitions on the rows that each may read."""

import numpy as np

from hetcal.arrays import Ints
from hetcal.auto import Choice, choose_scheme, fit_scheme
from hetcal.progress import Progress, silent
from hetcal.scheme_rows import SchemeRows
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.splits import Split
from hetcal.table import Table


def fit_ensemble(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    progress: Progress = silent,
) -> Choice:
    """Fit the forest or the boosted trees of the settings, or choose the best scheme.

    Parameters
    ----------
    table, scores, split, settings
        What the run was given, and the roles of the rows.
    progress : callable, optional
        Is told how far the work has come; what it raises ends the work.
    """
    training, calibration, validation = (
        _rows(table, scores, rows) for rows in (split.train, split.calibration, split.validation)
    )
    roles = training, calibration, validation if validation.y.size else None
    if settings.partition == "auto":
        return choose_scheme(*roles, seed=settings.seed, progress=progress)
    return fit_scheme(settings.partition, *roles, seed=settings.seed, progress=progress)


def _rows(table: Table, scores: Scores, rows: Ints) -> SchemeRows:
    rows = rows[scores.usable[rows]]
    weight = None if table.weight is None else table.weight[rows]
    y = np.asarray(table.y[rows], dtype=np.int64)
    return SchemeRows(table.X.iloc[rows], y, scores.logit[rows], weight)
