"""Fit the schemes of many partitions on the rows that each may read."""

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.auc_gain_partition import AucGainPartition
from hetcal.candidates import STRENGTHS, Candidate
from hetcal.choice import MAX_HELD, MAX_TRAINING, Choice, choose_scheme, fit_scheme
from hetcal.instability_partition import InstabilityPartition
from hetcal.partition import Partition
from hetcal.parts import GrownLeavesPart, PooledPart
from hetcal.progress import Progress, silent
from hetcal.scheme_rows import SchemeRows, drawn
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.splits import Split
from hetcal.table import Table


def _by_gain(X: pd.DataFrame, y: Ints, scores: Floats, weight: Floats | None) -> Partition:
    return AucGainPartition().fit(X, y, scores, weight).partition_


def _by_instability(X: pd.DataFrame, y: Ints, scores: Floats, weight: Floats | None) -> Partition:
    return InstabilityPartition().fit(X, y, scores, weight).partition_


SCORE_TREES = (
    Candidate(
        "auc-gain",
        "a tree that cuts where the AUC gains",
        (PooledPart(), GrownLeavesPart(_by_gain)),
        STRENGTHS[1:2],
    ),
    Candidate(
        "instability",
        "a tree that cuts where the map differs",
        (PooledPart(), GrownLeavesPart(_by_instability)),
        STRENGTHS[1:2],
    ),
)
"""Candidates that read scores, so that each fit grows them on rows of its own."""


def fit_ensemble(
    table: Table,
    scores: Scores,
    split: Split,
    settings: Settings,
    progress: Progress = silent,
    tree: Partition | None = None,
) -> Choice:
    """Fit the forest or the boosted trees of the settings, or choose the best scheme.

    Parameters
    ----------
    table, scores, split, settings
        What the run was given, and the roles of the rows.
    tree : Partition, optional
        The tree whose leaves get maps, in place of one grown on a sample of the training rows.
    progress : callable, optional
        Is told how far the work has come; what it raises ends the work.
    """
    held = np.concatenate([split.calibration, split.validation])
    most = held.size if table.classes else MAX_HELD  # maps of classes are fitted on all rows
    grown_on = split.train if tree is None else split.train[:0]
    training = _rows(table, scores, grown_on, MAX_TRAINING, settings.seed)
    held_out = _rows(table, scores, held, most, settings.seed)
    roles = training, held_out, None
    return fit_roles(settings.partition, *roles, settings.seed, progress, tree)


def fit_roles(
    name: str,
    training: SchemeRows,
    calibration: SchemeRows,
    validation: SchemeRows | None,
    seed: int,
    progress: Progress = silent,
    tree: Partition | None = None,
) -> Choice:
    """Fit the scheme of this name on rows by role; `auto` chooses among all."""
    roles = training, calibration, validation
    if name == "auto":
        return choose_scheme(*roles, tree=tree, more=SCORE_TREES, seed=seed, progress=progress)
    return fit_scheme(name, *roles, seed=seed, progress=progress)


def sample_note(table: Table, split: Split) -> str | None:
    """Say how many rows of a large table the scheme was fitted on; None if it was on all."""
    held = np.concatenate([split.calibration, split.validation])
    parts = []
    for rows, most, role in (
        (split.train, MAX_TRAINING, "train"),
        (held, MAX_HELD, "validation and calibration"),
    ):
        weight = table.weight_of(rows)
        count = rows.size if weight is None else int((weight > 0).sum())
        if count > most:
            parts.append(f"{most:,} of {count:,} {role} rows")
    return f"Schemes were fitted on {' and '.join(parts)}, drawn at random." if parts else None


def _rows(table: Table, scores: Scores, rows: Ints, most: int, seed: int) -> SchemeRows:
    """Draw rows before their columns are copied: a large table is not copied as a whole."""
    use = scores.usable[rows]
    if table.weight is not None:
        use &= table.weight[rows] > 0
    rows = rows[drawn(use, most, seed)]
    weight = table.weight_of(rows)
    y = np.asarray(table.y[rows], dtype=np.int64)
    return SchemeRows(table.X.iloc[rows], y, scores.logit[rows], weight, table.group(rows))
