"""A run that was saved and reopened: its cells are as live as they were, without its rows."""

from dataclasses import dataclass, replace
from functools import cached_property

from hetcal.artifacts import Artifact
from hetcal.composed_maps import with_scheme
from hetcal.errors import ArtifactError
from hetcal.evaluation import Evaluation
from hetcal.exactness import evaluate_sketch
from hetcal.exactness_words import exactness, exactness_details
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.operating_points import OperatingPoint
from hetcal.partition import Partition
from hetcal.result_curves import points_of_rate
from hetcal.saved_cells import SavedCells, SavedScheme
from hetcal.ways import Ways, score_in_four_ways


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
        """What the ways are worth, with the bounds of numbers that are told by cells."""
        if self.cells.evaluation is not None:
            return self.cells.evaluation
        measured = () if self.cells.joint is None else ("after",)
        return evaluate_sketch(self.ways, None, self.calibrator, measured)

    def points(self, rate: float) -> tuple[OperatingPoint, OperatingPoint]:
        """Return the operating points before and after with this false positive rate."""
        return points_of_rate(self.ways, rate)

    @property
    def exactness(self) -> str:
        """How exact the numbers of the evaluation are, in a sentence."""
        told = exactness(self.evaluation.errors)
        if self.cells.group is None:
            return told
        return (
            f"{told} Intervals and p-values count rows, not the groups of '{self.cells.group}', "
            "which a saved run does not hold: they make the lift look surer than it is."
        )

    @property
    def exactness_details(self) -> str:
        """How exact each of them is, in sentences."""
        told = exactness_details(self.evaluation.errors)
        if self.cells.evaluation is not None:
            told = f"{told} Curves and points on them are drawn from cells of rows."
        return f"From a saved run, without its rows. {told}"


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
