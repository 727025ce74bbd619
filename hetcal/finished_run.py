"""A finished run: what the pages show and the artifact saves."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.choice import Choice
from hetcal.composed_maps import maps_apply
from hetcal.digests import text_digest
from hetcal.ensembles import sample_note
from hetcal.evaluation import Evaluation, evaluate
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.operating_points import OperatingPoint
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.result_curves import points_of_rate
from hetcal.role_cells import RoleCells, groups_of
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.sketch import computed_on
from hetcal.splits import Split
from hetcal.table import Table
from hetcal.ways import Ways, score_in_four_ways

CALIBRATED = 1 << 20  # rows at a time


@dataclass(frozen=True)
class Run:
    """One finished run: what the pages show and the artifact saves.

    Parameters
    ----------
    table, scores, settings
        What the run was given.
    split : Split
        The rows of each role whose score is finite.
    partition : Partition
        Grown on the training rows, or loaded.
    leaf : array of int
        Leaf of every row of the table.
    cells : RoleCells
        The scores of each role.
    calibrator : LeafCalibrator
        Fitted on the calibration rows, with the maps of the scheme if it has one for each leaf.
    calibrated : array or None
        Calibrated logit of every row, where it is given; rows are cells then.
    choice : Choice or None
        The scheme of many partitions, or the one that was chosen among all, in place of the
        leaf maps; rows are cells then.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    cells: RoleCells
    calibrator: LeafCalibrator
    calibrated: Floats | None = None
    choice: Choice | None = None

    @cached_property
    def ways(self) -> Ways:
        """The test cells scored in the ways that are compared."""
        ways = score_in_four_ways(self.cells.test, self.cells.calibration, self.calibrator)
        if self.calibrated is None and self.choice is None:
            return ways
        rows, table = self.split.test, self.table
        weight = None if table.weight is None else table.weight[rows]
        parts = self._calibrate(rows), table.y[rows], self.leaf[rows], weight
        return replace(ways, after=Cells.of_rows(*parts))

    @cached_property
    def evaluation(self) -> Evaluation:
        """What the ways are worth."""
        groups = groups_of(self.table, self.split.test)
        return evaluate(self.ways, [each.leaf for each in self.calibrator.maps_], groups)

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.ways, rate)

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate; a scheme of many trees takes their place."""
        return maps_apply(None if self.choice is None else self.choice.scheme, self.partition)

    @property
    def computed_on(self) -> str:
        """Whether the numbers come from all rows or from a sketch, in a sentence."""
        return computed_on(self.evaluation.sketched)

    @cached_property
    def after(self) -> Floats:
        """Calibrated logit of every row of the table; only exports need it."""
        return self._calibrate_all(silent)

    def complete(self, progress: Progress) -> None:
        """Work out `after` now, and tell how far that has come."""
        if "after" not in vars(self):
            vars(self)["after"] = self._calibrate_all(progress)

    def _calibrate_all(self, progress: Progress) -> Floats:
        rows = self.table.rows
        logits = np.empty(rows)
        for begin in range(0, rows, CALIBRATED):
            end = min(begin + CALIBRATED, rows)
            part = between(progress, begin / rows, end / rows)
            logits[begin:end] = self._calibrate(np.arange(begin, end), part)
        return logits

    def _calibrate(self, rows: Ints, progress: Progress = silent) -> Floats:
        """Return the calibrated logits of some rows: many trees take their time with each."""
        if self.calibrated is not None:
            return self.calibrated[rows]
        scores = self.scores.logit[rows]
        if self.choice is not None:
            return self.choice.scheme.logit_of(rows, scores, self.table.X, progress)
        return self.calibrator.predict_logit(scores, self.leaf[rows])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the scores and the maps, in sentences."""
        scores = self.scores
        counted = (
            (scores.excluded, "have no finite score and take no part"),
            (scores.clipped, "have a probability of 0 or 1, pulled in by 1e-7"),
        )
        told = tuple(f"{n:,} of {scores.logit.size:,} rows {what}." for n, what in counted if n)
        drawn = None if self.choice is None else sample_note(self.table, self.split)
        return (scores.how, *told, *([drawn] if drawn else []), *self.calibrator.notes_)

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes, or how it is computed."""
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        return text_digest(repr((*parts, self.cells.exact)))
