"""A finished run on more than two classes: what the pages show and the artifact saves."""

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.choice import Choice
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_metrics import (
    ClassMetrics,
    class_lifts,
    class_table,
    macro_lift,
    measure_classes,
    one_against_rest,
    top_label_curve,
)
from hetcal.delong import Lift
from hetcal.digests import text_digest
from hetcal.finished_run import Run
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.partition import Partition
from hetcal.reliability import ReliabilityCurve
from hetcal.role_cells import role_cells
from hetcal.scores import Scores
from hetcal.settings import Settings
from hetcal.splits import Split
from hetcal.stratified import count_groups
from hetcal.table import Table


@dataclass(frozen=True)
class ClassEvaluation:
    """What calibration changed on the test rows.

    Parameters
    ----------
    before, pooled, after : ClassMetrics
        The model as it is, one map for all rows, one map in every leaf or what was chosen.
    lift : Lift
        Macro AUC after against before.
    classes : DataFrame
        One row per class, see `hetcal.class_metrics.class_table`.
    top_label : tuple of ReliabilityCurve
        How sure of their top label rows are and how often it is right, before and after.
    rows : int
        Number of test rows.
    groups : int or None
        Number of their groups, which intervals count; None if rows are on their own.
    """

    before: ClassMetrics
    pooled: ClassMetrics
    after: ClassMetrics
    lift: Lift
    classes: pd.DataFrame
    top_label: tuple[ReliabilityCurve, ...]
    rows: int
    groups: int | None = None


@dataclass(frozen=True)
class ClassRun:
    """A finished run on a label of more than two classes.

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
    calibrator : ClassCalibrator
        Fitted on the calibration rows; on the validation rows, too, where it was chosen.
    choice : Choice or None
        What it was chosen from.
    """

    table: Table
    scores: Scores
    settings: Settings
    split: Split
    partition: Partition
    leaf: Ints
    calibrator: ClassCalibrator
    choice: Choice | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label, in the order of the scores."""
        return self.table.classes

    @property
    def divided(self) -> bool:
        """Whether the leaves have maps of their own."""
        return self.choice is None or self.choice.divided

    @cached_property
    def after(self) -> Floats:
        """Calibrated log-probabilities of every row of the table."""
        return self.calibrator.predict_logits(self.scores.logit, self.leaf)

    @cached_property
    def evaluation(self) -> ClassEvaluation:
        """What the calibration is worth on the test rows."""
        rows = self.split.test
        y, weight = self.table.y[rows], self.table.weight_of(rows)
        group = self.table.group(rows)
        before, after = self.scores.logit[rows], self.after[rows]
        lifts = class_lifts(y, before, after, weight, group)
        return ClassEvaluation(
            before=measure_classes(y, before, weight),
            pooled=measure_classes(y, self._one_map(before), weight),
            after=measure_classes(y, after, weight),
            lift=macro_lift(y, before, after, weight, group),
            classes=class_table(self.table.classes, y, lifts),
            top_label=(
                top_label_curve("before", y, before, weight),
                top_label_curve("after", y, after, weight),
            ),
            rows=rows.size,
            groups=count_groups(group),
        )

    def _one_map(self, logs: Floats) -> Floats:
        """Calibrate log-probabilities of test rows by one map for all rows."""
        if self.choice is None:
            return self.calibrator.pooled_.logits(logs)
        return self.choice.one_map.logit_of(self.split.test, logs, self.table.X)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the scores and the maps, in sentences."""
        classes = ", ".join(self.table.classes)
        told: tuple[str, ...] = (f"The model's outputs stand for {classes}, in this order.",)
        if self.scores.excluded:
            told += (f"{self.scores.excluded:,} rows have no finite scores and take no part.",)
        if self.scores.clipped:
            told += (f"{self.scores.clipped:,} probabilities below 1e-7 were pulled up to it.",)
        if self.choice is not None and self.choice.uncounted:
            few = ", ".join(self.table.classes[each] for each in self.choice.uncounted)
            told += (f"With too few rows for their AUC to count in the choice: {few}.",)
        return (self.scores.how, *told, self.maps_in_words)

    @property
    def maps_in_words(self) -> str:
        """Whether leaves have maps of their own, and how strongly these are shrunk towards it."""
        return maps_in_words(self.calibrator, self.divided)

    @property
    def digest(self) -> str:
        """Changes when anything that the run was given changes."""
        chosen = None if self.choice is None else self.choice.digest
        parts = (self.table.digest, self.scores.digest, self.partition.digest, self.settings)
        return text_digest(repr((*parts, chosen)))

    def view(self, number: int, min_rows: int | None = None) -> Run:
        """Return the run as one class against all others sees it.

        The leaf maps of the view are Platt's on the class alone, which tell what its scores
        deserve; the calibrated logit is that of the maps of all classes.

        Parameters
        ----------
        number : int
            Which class.
        min_rows : int, optional
            Fewest calibration rows for one of these leaf maps; default: that of the settings.
        """
        fewest = self.settings.min_rows if min_rows is None else min_rows
        table, scores = self.table.view(number), self.scores.view(number)
        rows = self.split.train
        counted = table.X.iloc[rows], table.y[rows], self.table.weight_of(rows)
        partition = self.partition.counting(*counted)
        leaves = [each.id for each in partition.leaves]
        cells = role_cells(table, scores, self.split, self.leaf, leaves, table.rows)
        calibrator = LeafCalibrator(min_rows=fewest)
        calibrator.fit_cells(cells.calibration, leaves)
        parts = self.split, partition, self.leaf, cells, calibrator
        calibrated = one_against_rest(self.after, number)
        return Run(table, scores, replace(self.settings, min_rows=fewest), *parts, calibrated)


def maps_in_words(calibrator: ClassCalibrator, divided: bool) -> str:
    """Say whether leaves have maps of their own, and how strongly these are shrunk towards it."""
    if calibrator.pooled_.is_identity:
        return "No map is fitted: the model is left as it is."
    if not divided:
        return "One map for all rows: no leaf has its own."
    if calibrator.shrinkage_ == float("inf"):
        return "All leaves have the pooled map: on rows left out, maps of their own lost."
    return f"Shrinkage towards the pooled map: {calibrator.shrinkage_:g}."
