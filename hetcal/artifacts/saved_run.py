"""A run that was saved and reopened: it has the cells of the run, but not its rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from hetcal.arrays import Floats
from hetcal.artifacts.archive import SavedCells, SavedScheme
from hetcal.artifacts.artifact import Artifact
from hetcal.artifacts.evaluation import SavedPart
from hetcal.calibrators.class_calibrator import ClassCalibrator
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.choices import Kind
from hetcal.data.checks import Finding
from hetcal.errors import ArtifactError
from hetcal.metrics.curves import OperatingPoint
from hetcal.metrics.ranking import rank_class
from hetcal.partitions.partition import Partition
from hetcal.results.curves import points_of_rate
from hetcal.results.evaluation import Comparison, Evaluation, evaluate, score_four_schemes
from hetcal.results.leaf_tests import calibrated_p_values
from hetcal.results.measures import measure_change
from hetcal.results.words import verdict
from hetcal.schemes.scheme import with_scheme

FROM_SKETCH = "From the sketch saved with the run; its rows are not here."
FROM_ROWS = (
    "Computed on all rows before the run was saved; curves and bootstrap intervals come from the "
    "saved sketch."
)
COARSE = 2e-3  # of an AUC; on their usual grid normal scores have about a tenth


@dataclass(frozen=True)
class SavedRun:
    """What the pages show of a run, as far as it does not need the rows; see `Artifact`."""

    partition: Partition
    cells: tuple[SavedCells | None, ...]  # of two classes, or of each of more against the rest
    calibrator: LeafCalibrator | ClassCalibrator
    choice: SavedScheme | None = None
    applied: bool = True  # whether the maps of the leaves calibrate
    classes: tuple[str, ...] = ()
    measured: Evaluation | None = None  # computed on all rows before the run was saved
    part: SavedPart | None = None  # that the model has in what a scheme for two classes does
    findings: tuple[Finding, ...] = ()  # about table, split and scores

    @property
    def role_cells(self) -> SavedCells:
        """What is saved of the rows, for two classes."""
        if self.classes or self.cells[0] is None:
            raise TypeError("more than two classes are viewed one by one: see `view`")
        return self.cells[0]

    @property
    def leaf_maps(self) -> LeafCalibrator:
        """The maps of the leaves, for two classes."""
        if isinstance(self.calibrator, ClassCalibrator):
            raise TypeError("more than two classes are viewed one by one: see `view`")
        return self.calibrator

    @property
    def divided(self) -> bool:
        """Whether leaves have maps of their own."""
        return self.choice is None or self.choice.divided

    def view(self, number: int, min_rows: int) -> "SavedRun":
        """Return the run for one class against all others, see `hetcal.Run.view`."""
        cells = self.cells[number]
        if cells is None:
            raise ArtifactError(
                f"The class '{self.classes[number]}' cannot be compared with all others.",
                "That needs calibration rows of both whose scores overlap, and there were none "
                "when the run was saved.",
                "Choose another class.",
            )
        maps = cells.calibrator.with_min_rows(min_rows)
        return SavedRun(self.partition, (cells,), maps, measured=cells.evaluation)

    @cached_property
    def comparison(self) -> Comparison:
        """The test cells with the logits of the schemes that are compared, for two classes."""
        cells = self.role_cells
        if cells.joint is None:
            return score_four_schemes(cells.test, cells.calibration, self.leaf_maps)
        before, after = cells.joint.cells
        compared = score_four_schemes(before, cells.calibration, self.leaf_maps)
        return replace(compared, after=after, without=None, centred=None)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The metrics of the test rows before and after calibration, and the lift."""
        if self.measured is not None:
            return self.measured
        found = evaluate(self.comparison, [each.leaf for each in self.leaf_maps.maps_])
        return found if self.part is None else self.part.added_to(found)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Every measure of the test rows with its intervals, see `hetcal.Run.measures`."""
        return measure_change(self.comparison.before, self.comparison.after, self.evaluation)

    @cached_property
    def p_after(self) -> Floats:
        """P-values of calibrated probabilities after, see `hetcal.Run.p_after`."""
        leaves = [each.id for each in self.partition.leaves]
        return calibrated_p_values(self.comparison.after, leaves)

    @property
    def kind(self) -> Kind:
        """What is done to the score."""
        return "calibration" if self.choice is None else self.choice.kind

    @property
    def verdict(self) -> str:
        """What to do with the model, in sentences, see `hetcal.results.words.verdict`."""
        ladder = None if self.choice is None else self.choice.candidates
        one_map = bool(self.classes) and not self.divided
        return verdict(self.evaluation, self.kind, ladder, self.findings, one_map=one_map)

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.comparison, rate)

    @property
    def computed_on(self) -> str:
        """What the numbers were computed on, in sentences."""
        source = FROM_SKETCH if self.measured is None else FROM_ROWS
        error = largest_auc_error(self.comparison.before)
        if self.measured is None and error > COARSE:
            source += (
                f" The sketch is too coarse for these scores: AUC may be off by up to {error:.1g}, "
                "and the other measures as well."
            )
        group = self.role_cells.group
        if group is None:
            return source
        return (
            f"{source} Intervals and p-values count rows, not the groups of '{group}', which are "
            "not saved: they make the lift look more significant than it is."
        )


def largest_auc_error(cells: Cells) -> float:
    """Return the largest possible error of the AUC of the cells of a sketch.

    It is the share of pairs whose order is unknown, because the intervals of their cells overlap.
    """
    one, zero = (cells.chosen(cells.y == label) for label in (1, 0))
    low, high = (rank_class(each, zero.weight) for each in (zero.low, zero.high))
    unknown = high.at_or_above(one.low) - low.above(one.high)
    # Rows that are alone in their cells and have equal scores are tied for certain.
    alone = [each.chosen(each.low == each.high) for each in (one, zero)]
    ties = rank_class(alone[1].low, alone[1].weight)
    tied = np.sum(alone[0].weight * (ties.at_or_above(alone[0].low) - ties.above(alone[0].low)))
    pairs = one.weight.sum() * zero.weight.sum()
    return float((np.sum(one.weight * unknown) - tied) / pairs)


def saved_run(artifact: Artifact, min_rows: int) -> SavedRun:
    """Reopen a run, with at least `min_rows` rows for a map."""
    if not artifact.cells:
        raise ArtifactError(
            f"This artifact of hetcal {artifact.version} holds no sketches of its rows.",
            "Without them it can score new rows, but its run cannot be explored.",
            "Run the calibration again and save a new artifact.",
        )
    maps, only = artifact.calibrator, artifact.cells[0]
    if not artifact.classes and only is not None:
        own = only.calibrator.with_min_rows(min_rows)
        scheme = artifact.scheme
        maps = own if scheme is None else with_scheme(own, scheme, artifact.partition)
    parts = artifact.choice, artifact.applied, artifact.classes, artifact.evaluation
    of_model = artifact.part, artifact.findings
    return SavedRun(artifact.partition, artifact.cells, maps, *parts, *of_model)
