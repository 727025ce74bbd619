"""A finished run: what the pages show and the artifact saves."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.cells import Cells
from hetcal.choice import Choice
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_metrics import one_against_rest
from hetcal.composed_maps import maps_apply
from hetcal.digests import text_digest
from hetcal.ensembles import sample_note
from hetcal.evaluation import Evaluation, evaluate, evaluate_classes
from hetcal.finding import Finding
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.operating_points import OperatingPoint
from hetcal.partition import Partition
from hetcal.progress import Progress, between, silent
from hetcal.result_curves import points_of_rate
from hetcal.role_cells import RoleCells, groups_of, role_cells
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.sketch import computed_on
from hetcal.splits import Split
from hetcal.table import Table
from hetcal.ways import Ways, score_in_four_ways

CALIBRATED = 1 << 20  # rows at a time


@dataclass(frozen=True)
class Run:
    """One finished run, for any number of classes.

    With more than two classes, `view` gives the run of one class against all others.

    Parameters
    ----------
    table, scores, settings
        What the run was given.
    split : Split
        The rows of each role whose scores are finite.
    partition : Partition
        Grown on the training rows, or loaded.
    leaf : array of int
        Leaf of every row of the table.
    cells : RoleCells or None
        The scores of each role; None with more than two classes.
    calibrator : LeafCalibrator or ClassCalibrator
        Fitted on the calibration rows, with the maps of the scheme if it has one for each leaf.
    calibrated : array or None
        Calibrated logit of every row, where it is given; rows are cells then.
    choice : Choice or None
        The scheme of many partitions, or the one that was chosen among all, in place of the
        leaf maps; rows are cells then.
    findings : tuple of Finding
        What a careful reader would remark about the table, its split and its scores.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    cells: RoleCells | None
    calibrator: LeafCalibrator | ClassCalibrator
    calibrated: Floats | None = None
    choice: Choice | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label in the order of the scores, where there are more than two."""
        return self.table.classes

    @property
    def role_cells(self) -> RoleCells:
        """The scores of each role, for two classes."""
        if self.cells is None:
            raise TypeError("more than two classes are looked at one by one: see `view`")
        return self.cells

    @property
    def leaf_maps(self) -> LeafCalibrator:
        """The maps of the leaves, for two classes."""
        if isinstance(self.calibrator, ClassCalibrator):
            raise TypeError("more than two classes are looked at one by one: see `view`")
        return self.calibrator

    @cached_property
    def ways(self) -> Ways:
        """The test cells scored in the ways that are compared, for two classes."""
        cells = self.role_cells
        ways = score_in_four_ways(cells.test, cells.calibration, self.leaf_maps)
        if self.calibrated is None and self.choice is None:
            return ways
        rows, table = self.split.test, self.table
        parts = self._calibrate(rows), table.y[rows], self.leaf[rows], table.weight_of(rows)
        return replace(ways, after=Cells.of_rows(*parts))

    @cached_property
    def evaluation(self) -> Evaluation:
        """What calibration is worth on the test rows."""
        rows, table = self.split.test, self.table
        if not self.classes:
            leaves = [each.leaf for each in self.leaf_maps.maps_]
            return evaluate(self.ways, leaves, groups_of(table, rows))
        before = self.scores.logit[rows]
        logs = before, self._one_map(before), self.after[rows]
        weight, group = table.weight_of(rows), table.group(rows)
        return evaluate_classes(self.classes, table.y[rows], logs, weight, group)

    def evaluated(self) -> Self:
        """Work out what calibration is worth now; what fails, fails here."""
        _ = self.evaluation
        return self

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.ways, rate)

    @property
    def applied(self) -> bool:
        """Whether the maps of the leaves calibrate; a scheme of many trees takes their place."""
        return maps_apply(None if self.choice is None else self.choice.scheme, self.partition)

    @property
    def divided(self) -> bool:
        """Whether leaves have maps of their own."""
        return self.choice is None or self.choice.divided

    @property
    def computed_on(self) -> str:
        """Whether the numbers come from all rows or from a sketch, in a sentence."""
        return computed_on(self.evaluation.sketched)

    @cached_property
    def after(self) -> Floats:
        """Calibrated logit, or log-probabilities, of every row of the table."""
        return self._calibrate_all(silent)

    def complete(self, progress: Progress) -> None:
        """Work out `after` now, and tell how far that has come."""
        if "after" not in vars(self):
            vars(self)["after"] = self._calibrate_all(progress)

    def _calibrate_all(self, progress: Progress) -> Floats:
        rows = self.table.rows
        logits = np.empty(self.scores.logit.shape)
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
        if self.choice is not None and not self.classes:
            return self.choice.scheme.logit_of(rows, scores, self.table.X, progress)
        return self.calibrator.predict_logit(scores, self.leaf[rows])

    def _one_map(self, logs: Floats) -> Floats:
        """Calibrate log-probabilities of test rows by one map for all rows."""
        if self.choice is not None:
            return self.choice.one_map.logit_of(self.split.test, logs, self.table.X)
        if isinstance(self.calibrator, ClassCalibrator):
            return self.calibrator.pooled_.logits(logs)
        raise TypeError("two classes are evaluated by their cells")

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the scores and the maps, in sentences."""
        scores = self.scores
        if isinstance(self.calibrator, ClassCalibrator):
            return (scores.how, *self._class_notes(), maps_in_words(self.calibrator, self.divided))
        counted = (
            (scores.excluded, "have no finite score and take no part"),
            (scores.clipped, "have a probability of 0 or 1, pulled in by 1e-7"),
        )
        told = tuple(f"{n:,} of {scores.logit.size:,} rows {what}." for n, what in counted if n)
        drawn = None if self.choice is None else sample_note(self.table, self.split)
        return (scores.how, *told, *([drawn] if drawn else []), *self.calibrator.notes_)

    def _class_notes(self) -> list[str]:
        scores = self.scores
        told = [f"The model's outputs stand for {', '.join(self.classes)}, in this order."]
        if scores.excluded:
            told.append(f"{scores.excluded:,} rows have no finite scores and take no part.")
        if scores.clipped:
            told.append(f"{scores.clipped:,} probabilities below 1e-7 were pulled up to it.")
        if self.choice is not None and self.choice.uncounted:
            few = ", ".join(self.classes[each] for each in self.choice.uncounted)
            told.append(f"With too few rows for their AUC to count in the choice: {few}.")
        return told

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes, or how it is computed."""
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        chosen = None if self.choice is None else self.choice.digest
        exact = self.cells is None or self.cells.exact
        return text_digest(repr((*parts, exact, chosen)))

    def view(self, number: int, min_rows: int | None = None) -> "Run":
        """Return the run as one of several classes against all others sees it.

        The leaf maps of the view are Platt's on the class alone, which tell what its scores
        deserve; the calibrated logit is that of the maps of all classes.

        Parameters
        ----------
        number : int
            Which class.
        min_rows : int, optional
            Fewest calibration rows for one of these leaf maps; default: that of the settings.
        """
        settings = self.settings
        if min_rows is not None:
            settings = replace(settings, min_rows=min_rows)
        table, scores, rows = self.table.view(number), self.scores.view(number), self.split.train
        partition = self.partition.counting(
            table.X.iloc[rows], table.y[rows], table.weight_of(rows)
        )
        leaves = [each.id for each in partition.leaves]
        cells = role_cells(table, scores, self.split, self.leaf, leaves, table.rows)
        maps = LeafCalibrator(min_rows=settings.min_rows).fit_cells(cells.calibration, leaves)
        parts = self.split, partition, self.leaf, cells, maps
        return Run(table, scores, settings, *parts, one_against_rest(self.after, number))


def maps_in_words(calibrator: ClassCalibrator, divided: bool) -> str:
    """Say whether leaves have maps of their own, and how strongly these are shrunk."""
    if calibrator.pooled_.is_identity:
        return "No map is fitted: the model is left as it is."
    if not divided:
        return "One map for all rows: no leaf has its own."
    if calibrator.shrinkage_ == float("inf"):
        return "All leaves have the pooled map: on rows left out, maps of their own lost."
    return f"Shrinkage towards the pooled map: {calibrator.shrinkage_:g}."
