"""A run on more than two classes that was saved and reopened: live without its rows."""

from dataclasses import dataclass

from hetcal.class_artifacts import ClassArtifact
from hetcal.class_calibrator import ClassCalibrator
from hetcal.class_run import ClassEvaluation, maps_in_words
from hetcal.errors import ArtifactError
from hetcal.partition import Partition
from hetcal.saved_cells import SavedCells, SavedScheme
from hetcal.saved_run import SavedRun, no_sketches


@dataclass(frozen=True)
class SavedClassRun:
    """What `hetcal.class_run.ClassRun` tells, as far as it does not need the rows.

    Parameters
    ----------
    classes : tuple of str
        The values of the label, in the order of the scores.
    partition, calibrator, evaluation
        As in the run that was saved.
    divided : bool
        Whether the leaves have maps of their own.
    choice : SavedScheme or None
        What was chosen.
    cells : tuple of SavedCells or None
        Of each class against the rest; None where no map of its own can be fitted.
    """

    classes: tuple[str, ...]
    partition: Partition
    calibrator: ClassCalibrator
    evaluation: ClassEvaluation
    divided: bool
    choice: SavedScheme | None
    cells: tuple[SavedCells | None, ...]

    @property
    def maps_in_words(self) -> str:
        """Whether leaves have maps of their own, and how strongly these are drawn together."""
        return maps_in_words(self.calibrator, self.divided)

    def view(self, number: int, min_rows: int) -> SavedRun:
        """Return the run as one class against all others sees it, see `ClassRun.view`."""
        cells = self.cells[number]
        if cells is None:
            raise ArtifactError(
                f"The class '{self.classes[number]}' cannot be set against all others.",
                "That takes calibration rows of both sides whose scores overlap, and there were "
                "none when the run was saved.",
                "Choose another class.",
            )
        return SavedRun(self.partition, cells, cells.calibrator.with_min_rows(min_rows))


def saved_class_run(artifact: ClassArtifact) -> SavedClassRun:
    """Take up a run where it was saved."""
    saved = artifact.saved
    if saved is None:
        raise no_sketches(artifact.version)
    choice = None
    if artifact.chosen is not None:
        choice = SavedScheme(artifact.chosen, artifact.why or "", saved.divided)
    return SavedClassRun(
        artifact.classes,
        artifact.partition,
        artifact.calibrator,
        saved.evaluation,
        saved.divided,
        choice,
        saved.cells,
    )
