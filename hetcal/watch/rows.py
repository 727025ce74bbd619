"""Newer rows as cells, and the test rows of the artifact that they are compared with."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Groups, Ints, Labels
from hetcal.artifacts.artifact import Artifact, calibrated_rows
from hetcal.artifacts.columns import count_columns
from hetcal.artifacts.saved_run import saved_run
from hetcal.cells.cells import Cells
from hetcal.data.columns import row_count, row_weights
from hetcal.data.scores import Scores
from hetcal.data.table import encode_label
from hetcal.errors import ArtifactError
from hetcal.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class NewRows:
    """The rows of a newer table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    digest : str
        Identifies it.
    leaf, scores, after
        Leaf, score and calibrated logit of every row.
    y : int array or None
        Labels, -1 where one is missing; None if the table has no column of labels.
    weight : float array or None
        Weights of the rows.
    group : array or None
        Their groups.
    notes : tuple of str
        What the user should know about them, in sentences.
    """

    frame: pd.DataFrame
    digest: str
    leaf: Ints
    scores: Scores
    after: Floats
    y: Labels | None
    weight: Floats | None
    group: Groups | None
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> Bools:
        """Which rows have a score and count."""
        used = self.scores.usable
        return used if self.weight is None else used & (self.weight > 0)

    @property
    def labelled(self) -> Bools:
        """Which of these have a label."""
        if self.y is None:
            return np.zeros(self.leaf.size, dtype=np.bool_)
        return np.asarray(self.scored & (self.y >= 0))

    def cells(self, rows: Bools | Ints, *, after: bool = False) -> Cells:
        """Make each of some rows, which have scores, a cell; without labels it counts as 0."""
        y = np.zeros(self.leaf.size, dtype=np.int8) if self.y is None else self.y
        logit = self.after if after else self.scores.logit
        weight = None if self.weight is None else self.weight[rows]
        return Cells.of_rows(logit[rows], y[rows].clip(0), self.leaf[rows], weight)

    def groups(self, rows: Bools | Ints) -> Groups | None:
        """Return the groups of some rows."""
        return None if self.group is None else self.group[rows]


@dataclass(frozen=True, eq=False)
class Reference:
    """What an artifact keeps of its rows, to compare newer rows with."""

    before: Cells  # test rows with the scores of the model
    after: Cells  # the same with calibrated logits
    fitted: Cells | None  # calibration and test rows, where maps of the scores are all there is


def reference_of(artifact: Artifact) -> Reference:
    """Return what an artifact keeps of its rows, or refuse one that keeps nothing.

    Where a map of the score in each leaf is all there is, rows that these were fitted on say as
    much as others of what newer rows should be like. A scheme has looked at them too closely.
    """
    if artifact.classes:
        raise ArtifactError(
            f"The artifact is of {len(artifact.classes)} classes.",
            "Newer rows can be checked for two classes.",
            "Set one class against all others (`hetcal run --positive VALUE`), and check that.",
        )
    saved = saved_run(artifact, artifact.min_rows)
    compared, cells = saved.comparison, saved.role_cells
    both = Cells.joined([cells.calibration, cells.test]) if artifact.scheme is None else None
    return Reference(compared.before, compared.after, both)


def read_new_rows(
    artifact: Artifact, frame: pd.DataFrame, digest: str, progress: Progress = silent
) -> NewRows:
    """Score newer rows, and find their labels, weights and groups by the columns of the run."""
    notes, roles = [], artifact.roles
    leaf, scores, after = calibrated_rows(artifact, frame, digest, progress)
    if not scores.usable.any():
        raise ArtifactError(
            f"None of the {row_count(len(frame))} has a finite score.",
            "Rows are compared by their scores.",
            "Check the columns that scores are made of.",
        )
    weight, group = (None if name is None else name for name in (roles.weight, roles.group))
    missing = [each for each in (weight, group) if each is not None and each not in frame]
    for each in missing:
        what = "weights: every row counts once" if each == weight else "groups: rows count as "
        notes.append(
            f"The table has no column '{each}' of {what}{'' if each == weight else 'independent'}."
        )
    y = None
    if roles.label in frame:
        label = encode_label(frame[roles.label], roles.positive, drop_unlabelled=True)
        y = np.where(label.labelled, label.y, -1).astype(np.int8)
        without = int((y < 0).sum())
        if without:
            notes.append(f"{row_count(without)} without a label: only their movement is checked.")
    else:
        notes.append(
            f"The table has no column '{roles.label}' with labels: only movement is checked."
        )
    return NewRows(
        frame,
        digest,
        leaf,
        replace(scores, logit=np.asarray(scores.logit)),
        after,
        y,
        None if weight is None or weight in missing else _weights(frame[weight]),
        None if group is None or group in missing else frame[group].to_numpy(),
        tuple(notes),
    )


def _weights(column: pd.Series) -> Floats:
    return row_weights(column.to_numpy(dtype=np.float64, na_value=np.nan), column, may_vanish=True)


def new_columns(artifact: Artifact, new: NewRows, rows: Ints | None = None) -> pd.DataFrame:
    """Count missing and unknown values of newer rows, see `count_columns`."""
    return count_columns(artifact.features, new.frame, rows)
