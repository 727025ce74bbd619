"""What an artifact keeps of the rows of a run: written into its zip, and read as untrusted."""

import zipfile
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from hetcal.artifact_zip import read_entry
from hetcal.cells import Cells
from hetcal.errors import CalibrationError
from hetcal.evaluation import Evaluation
from hetcal.evaluation_json import evaluation_json, read_evaluation
from hetcal.finished_run import Run
from hetcal.joint_sketch import JointSketch, joint_sketch
from hetcal.joint_sketch_file import joint_sketch_bytes, read_joint_sketch
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.leaf_measures import leaf_counts
from hetcal.partition import Partition
from hetcal.role_cells import PASSED, RoleSketches
from hetcal.sketch_file import MOST_CELLS, read_sketch, sketch_bytes
from hetcal.strict_json import JsonError

MAPS = "maps.json"
JOINT = "joint.sketch"
EVALUATION = "evaluation.json"
LARGEST_SKETCH = 2**28
# Cells with rows of all classes together, of the joint sketches and of all others, and the
# number that each class may have even so: a few MB once packed.
FILLED, FEWEST = 2**17, 2**11


@dataclass(frozen=True)
class SavedScheme:
    """What is saved of the choice of a scheme, beyond the scheme itself.

    Parameters
    ----------
    chosen, why : str
        As in `hetcal.choice.Choice`.
    divided : bool
        Whether the rows are divided into leaves for it.
    """

    chosen: str
    why: str
    divided: bool = True


@dataclass(frozen=True)
class SavedCells:
    """What is saved of the rows.

    Parameters
    ----------
    train, calibration, test : Cells
        Their scores.
    calibrator : LeafCalibrator
        The map of every leaf that can be trusted, however few its rows.
    joint : JointSketch or None
        The test rows with their logits before and after, where it is not these maps that
        calibrate.
    group : str or None
        The column whose groups the rows belong to, which sketches do not know.
    evaluation : Evaluation or None
        What these are worth as the rows told it; None where it follows from the cells.
    """

    train: Cells
    calibration: Cells
    test: Cells
    calibrator: LeafCalibrator
    joint: JointSketch | None = None
    group: str | None = None
    evaluation: Evaluation | None = None


def saved_entries(run: Run) -> dict[str, bytes]:
    """Return the entries that `read_saved_cells` reads of a run on two classes."""
    leaves = [each.id for each in run.partition.leaves]
    joint = None
    if run.choice is not None:
        joint = joint_sketch(run.ways.before, run.ways.after, leaves)
    return _entries(run.role_cells.sketched(leaves), run.leaf_maps, joint)


def class_entries(run: Run) -> dict[int, dict[str, bytes]]:
    """Return the entries of each of several classes that can be set against the rest."""
    count, leaves = len(run.classes), [each.id for each in run.partition.leaves]
    entries = {}
    for number in range(count):
        try:
            view = run.view(number)
        except CalibrationError:  # its calibration rows allow no map, and it is not shown
            continue
        cells = view.role_cells.sketched(leaves).within(_filled(count), MOST_CELLS // count)
        joint = joint_sketch(view.ways.before, view.ways.after, leaves, _filled(count))
        entries[number] = {
            **_entries(cells, view.leaf_maps, joint, _folder(number)),
            _folder(number) + EVALUATION: evaluation_json(view.evaluation).encode(),
        }
    return entries


def _entries(
    sketches: RoleSketches, maps: LeafCalibrator, joint: JointSketch | None, folder: str = ""
) -> dict[str, bytes]:
    entries = {folder + MAPS: maps.with_min_rows(0).to_json().encode()}
    for role in PASSED:
        entries[folder + sketch_entry(role)] = sketch_bytes(getattr(sketches, role))
    if joint is not None:
        entries[folder + JOINT] = joint_sketch_bytes(joint)
    return entries


def sketch_entry(role: str) -> str:
    """Name the entry that holds the sketch of a role."""
    return f"{role}.sketch"


def read_saved_cells(
    archive: zipfile.ZipFile,
    partition: Partition,
    folder: str = "",
    *,
    joint: bool,
    most: int = MOST_CELLS,
) -> SavedCells:
    """Read what is saved of the rows.

    Parameters
    ----------
    archive : ZipFile
        The artifact.
    partition : Partition
        Whose leaves the rows are in.
    folder : str, optional
        Where in the zip the entries are.
    joint : bool
        Whether there is a joint sketch.
    most : int, optional
        Most cells of a sketch, empty ones included.
    """
    calibrator = LeafCalibrator.from_json(read_entry(archive, folder + MAPS))
    require_leaves(calibrator, partition)
    leaves = [each.id for each in partition.leaves]
    grids, cells = set(), {}
    for role in PASSED:
        content = read_entry(archive, folder + sketch_entry(role), LARGEST_SKETCH)
        sketch = read_sketch(content, most)
        if list(sketch.leaves) != leaves:
            raise JsonError(f"its sketch of the {role} rows is not of its leaves")
        grids.add(sketch.grid)
        cells[role] = sketch.cells()
    if len(grids) > 1:
        raise JsonError("its sketches do not have the same bins")
    both = _joint(archive, folder, leaves, cells["test"]) if joint else None
    train, calibration, test = (cells[role] for role in PASSED)
    return SavedCells(train, calibration, test, calibrator, both)


def require_leaves(calibrator: LeafCalibrator, partition: Partition) -> None:
    """Refuse maps of other leaves."""
    if [each.leaf for each in calibrator.maps_] != [each.id for each in partition.leaves]:
        raise JsonError("its maps are not those of its leaves")


def require_both_labels(cells: SavedCells, *roles: str) -> None:
    """Refuse roles whose rows all have the same label."""
    for role in roles:
        if np.unique(getattr(cells, role).y).size < 2:
            raise JsonError(f"its sketch of the {role} rows does not hold both classes")


def _joint(archive: zipfile.ZipFile, folder: str, leaves: list[int], test: Cells) -> JointSketch:
    joint = read_joint_sketch(read_entry(archive, folder + JOINT, LARGEST_SKETCH))
    found, expected = (leaf_counts(each, leaves) for each in (joint.cells[0], test))
    if list(joint.leaves) != leaves or not np.array_equal(found, expected):
        raise JsonError("its joint sketch is not of its test rows")
    return joint


def read_class_cells(
    archive: zipfile.ZipFile, partition: Partition, sketched: Collection[int], count: int
) -> tuple[SavedCells | None, ...]:
    """Read what is saved of each class, of which only those in `sketched` can be explored."""
    return tuple(
        _class_cells(archive, partition, number, count) if number in sketched else None
        for number in range(count)
    )


def _class_cells(
    archive: zipfile.ZipFile, partition: Partition, number: int, count: int
) -> SavedCells:
    folder, leaves = _folder(number), [each.id for each in partition.leaves]
    cells = read_saved_cells(archive, partition, folder, joint=True, most=MOST_CELLS // count)
    require_both_labels(cells, "calibration")
    joint = 0 if cells.joint is None else cells.joint.key.size
    filled = sum(each.rows.size for each in (cells.train, cells.calibration, cells.test)) + joint
    # With two bins a sketch has 4 cells in a leaf, and a joint sketch 8.
    if filled > 2 * _filled(count) + 20 * len(leaves):
        raise JsonError("it has too many cells")
    return replace(
        cells, evaluation=read_evaluation(read_entry(archive, folder + EVALUATION), leaves)
    )


def _filled(count: int) -> int:
    """Return how many cells with rows one of so many classes may have."""
    return max(FILLED // count, FEWEST)


def _folder(number: int) -> str:
    return f"class_{number}/"
