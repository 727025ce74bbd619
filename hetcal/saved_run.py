"""A run that was saved and reopened: its cells are as live as they were, without its rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hetcal.artifacts import Artifact
from hetcal.cells import Cells
from hetcal.composed_maps import with_scheme
from hetcal.errors import ArtifactError
from hetcal.evaluation import Evaluation, evaluate
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.operating_points import OperatingPoint
from hetcal.partition import Partition
from hetcal.ranking import rank_class
from hetcal.result_curves import points_of_rate
from hetcal.saved_cells import SavedCells, SavedScheme
from hetcal.ways import Ways, score_in_four_ways

FROM_SKETCH = "From the sketch saved with the run; its rows are not here."
FROM_ROWS = "Computed on all rows before the run was saved; curves come from the saved sketch."
COARSE = 2e-3  # of an AUC; on their usual grid normal scores have about a tenth


@dataclass(frozen=True)
class SavedRun:
    """What the pages show of a run, as far as it does not need the rows.

    Parameters
    ----------
    partition : Partition
        As it was saved.
    cells : SavedCells
        What is known of the rows.
    calibrator : LeafCalibrator
        The maps; `with_min_rows` chooses among them anew.
    choice : SavedScheme or None
        The scheme that calibrated in place of the maps.
    applied : bool
        Whether the maps calibrate; a scheme of many trees takes their place.
    """

    partition: Partition
    cells: SavedCells
    calibrator: LeafCalibrator
    choice: SavedScheme | None = None
    applied: bool = True

    @cached_property
    def ways(self) -> Ways:
        """The test cells scored in the ways that are compared."""
        if self.cells.joint is None:
            return score_in_four_ways(self.cells.test, self.cells.calibration, self.calibrator)
        before, after = self.cells.joint.cells
        ways = score_in_four_ways(before, self.cells.calibration, self.calibrator)
        return replace(ways, after=after)

    @cached_property
    def evaluation(self) -> Evaluation:
        """What the ways are worth."""
        if self.cells.evaluation is not None:
            return self.cells.evaluation
        return evaluate(self.ways, [each.leaf for each in self.calibrator.maps_])

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.ways, rate)

    @property
    def computed_on(self) -> str:
        """What the numbers were computed on, in sentences."""
        told = FROM_SKETCH if self.cells.evaluation is None else FROM_ROWS
        error = largest_auc_error(self.ways.before)
        if self.cells.evaluation is None and error > COARSE:
            told += (
                f" The sketch is coarse for these scores: AUC may be off by up to {error:.1g}, and "
                "the other measures as well."
            )
        if self.cells.group is None:
            return told
        return (
            f"{told} Intervals and p-values count rows, not the groups of '{self.cells.group}', "
            "which a saved run does not hold: they make the lift look surer than it is."
        )


def largest_auc_error(cells: Cells) -> float:
    """Return how far the AUC of the cells of a sketch is off at most.

    It is the share of pairs whose order is not known, for the intervals of their cells overlap.
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
    """Take up a run where it was saved, with any least number of rows for a map."""
    if artifact.cells is None:
        raise no_sketches(artifact.version)
    calibrator = artifact.cells.calibrator.with_min_rows(min_rows)
    if artifact.scheme is not None:
        calibrator = with_scheme(calibrator, artifact.scheme, artifact.partition)
    parts = artifact.partition, artifact.cells, calibrator, artifact.choice
    return SavedRun(*parts, artifact.applied)


def no_sketches(version: str) -> ArtifactError:
    """Say why an artifact of an older version cannot be explored."""
    return ArtifactError(
        f"This artifact of hetcal {version} holds no sketches of its rows.",
        "Without them it can score new rows, but its run cannot be explored.",
        "Run the calibration again and save a new artifact.",
    )
