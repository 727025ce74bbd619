"""What the artifact of a run on more than two classes keeps of its rows, class by class."""

import zipfile
from collections.abc import Collection
from dataclasses import dataclass, replace

from hetcal.artifact_zip import read_entry
from hetcal.class_run import ClassEvaluation, ClassRun
from hetcal.errors import CalibrationError
from hetcal.evaluation_json import evaluation_json, read_evaluation
from hetcal.joint_sketch import joint_sketch
from hetcal.partition import Partition
from hetcal.saved_cells import SavedCells, read_saved_cells, require_both_labels, saved_entries
from hetcal.sketch_file import MOST_CELLS
from hetcal.strict_json import JsonError

EVALUATION = "evaluation.json"
# Cells with rows of all classes together, of the joint sketches and of all others, and the
# number that each class may have even so: a few MB once packed.
FILLED, FEWEST = 2**17, 2**11


@dataclass(frozen=True)
class SavedClasses:
    """What can be explored of a run without its rows.

    Parameters
    ----------
    evaluation : ClassEvaluation
        As measured then.
    divided : bool
        Whether the leaves have maps of their own.
    min_rows : int
        Fewest calibration rows for a leaf map of one class against the rest.
    cells : tuple of SavedCells or None
        Of each class against the rest; None where no map of its own can be fitted.
    """

    evaluation: ClassEvaluation
    divided: bool
    min_rows: int
    cells: tuple[SavedCells | None, ...]


def class_entries(run: ClassRun) -> dict[int, dict[str, bytes]]:
    """Return the entries of each class that can be set against the rest."""
    count, leaves = len(run.classes), [each.id for each in run.partition.leaves]
    entries = {}
    for number in range(count):
        try:
            view = run.view(number)
        except CalibrationError:  # its calibration rows allow no map, and it is not shown
            continue
        sketches = view.cells.sketched(leaves).within(_filled(count), MOST_CELLS // count)
        joint = joint_sketch(view.ways.before, view.ways.after, leaves, _filled(count))
        entries[number] = {
            **saved_entries(sketches, view.calibrator, joint, _folder(number)),
            _folder(number) + EVALUATION: evaluation_json(view.evaluation).encode(),
        }
    return entries


def read_class_cells(
    archive: zipfile.ZipFile, partition: Partition, sketched: Collection[int], count: int
) -> tuple[SavedCells | None, ...]:
    """Read what is saved of each class, of which only those in `sketched` can be explored."""
    return tuple(
        _cells(archive, partition, number, count) if number in sketched else None
        for number in range(count)
    )


def _cells(archive: zipfile.ZipFile, partition: Partition, number: int, count: int) -> SavedCells:
    cells = read_saved_cells(
        archive, partition, _folder(number), joint=True, most=MOST_CELLS // count
    )
    require_both_labels(cells, "calibration")
    joint = 0 if cells.joint is None else cells.joint.key.size
    filled = sum(each.rows.size for each in (cells.train, cells.calibration, cells.test)) + joint
    # With two bins a sketch has 4 cells in a leaf, and a joint sketch 8.
    if filled > 2 * _filled(count) + 20 * len(partition.leaves):
        raise JsonError("it has too many cells")
    told = read_entry(archive, _folder(number) + EVALUATION)
    return replace(cells, evaluation=read_evaluation(told, [each.id for each in partition.leaves]))


def _filled(count: int) -> int:
    """Return how many cells with rows one of so many classes may have."""
    return max(FILLED // count, FEWEST)


def _folder(number: int) -> str:
    return f"class_{number}/"
