"""The zip of an artifact: sketches of the rows of a run are written, and read as untrusted."""

import hashlib
import io
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd

from hetcal.artifacts.evaluation import evaluation_json, read_evaluation
from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.cells.joint import JointSketch, joint_sketch, joint_sketch_bytes, read_joint_sketch
from hetcal.cells.sketch import MOST_CELLS, read_sketch, sketch_bytes
from hetcal.choices import KINDS, Kind
from hetcal.data.columns import FeatureKind
from hetcal.errors import ArtifactError, CalibrationError, HetcalError
from hetcal.files import write_file
from hetcal.models.file import ModelFile, inspect_model
from hetcal.partitions.partition import Partition
from hetcal.results.evaluation import Evaluation, leaf_counts
from hetcal.runs.role_cells import PASSED, RoleSketches
from hetcal.runs.run import Run
from hetcal.strict_json import MAX_TEXT, Fields, JsonError
from hetcal.version import __version__

LIBRARIES = (
    *("keras", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy"),
    *("tensorflow", "tensorflow-cpu"),
)
# A zip remembers when it was written; equal runs give equal bytes only without that.
EPOCH = (1980, 1, 1, 0, 0, 0)
MODEL_ENTRIES = ("model.keras", "model.h5")
LARGEST_MODEL = 2**30
SEALED = 3  # the first format whose entries have digests
# What `zipfile` raises on damaged files.
NOT_A_ZIP = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, OverflowError),
    *(NotImplementedError, RuntimeError, ValueError),
)


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """Pack entries; equal entries give equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers depend on."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # TensorFlow has two names, of which one is installed.
            continue
    return found


@contextmanager
def opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open a zip; errors say what is wrong with one that is not an artifact."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive
    except HetcalError:
        raise
    except JsonError as error:
        raise _refusal(str(error)) from error
    except NOT_A_ZIP as error:
        raise _refusal("it is not a zip with the right entries") from error


def read_entry(archive: zipfile.ZipFile, name: str, limit: int = MAX_TEXT) -> bytes:
    """Unpack an entry; its size in the zip's index may lie, so never more than the limit."""
    with archive.open(name) as entry:
        content = entry.read(limit + 1)
    if len(content) > limit:
        raise JsonError(f"its entry {name!r} is larger than {limit // 2**20:,} MB")
    return content


def require_format(manifest: Fields, newest: int, *, sealed: bool) -> None:
    """Refuse a format that this version does not know, or one whose seal is missing."""
    found = manifest.integer("format", 0, 2**31)
    if not 1 <= found <= newest:
        raise ArtifactError(
            f"The artifact has format number {found}.",
            f"This version of hetcal ({__version__}) reads formats 1 to {newest}.",
            "Open it with the version that wrote it, or run the calibration again.",
        )
    if found >= SEALED and not sealed:
        raise JsonError("the digests of its entries are missing")


def read_model(manifest: Fields, archive: zipfile.ZipFile, directory: Path) -> ModelFile:
    """Unpack the model that the artifact was saved with, and check it."""
    entry = manifest.fields("scoring").text("model")
    if entry not in MODEL_ENTRIES:
        raise JsonError("its model has an unknown name")
    content = read_entry(archive, entry, LARGEST_MODEL)
    digest = hashlib.sha256(content).hexdigest()
    if digest != manifest.fields("digests").text("model"):
        raise JsonError("its model is not the one it was saved with")
    path = directory / f"{digest}{Path(entry).suffix}"
    write_file(path, content)
    return inspect_model(path, name=entry)


def read_kinds(fields: Fields) -> dict[str, FeatureKind]:
    """Read the kinds of the columns of new rows."""
    kinds = {name: fields.text(name) for name in fields.names}
    if not set(kinds.values()) <= {"number", "category"}:
        raise JsonError("the kind of a column is neither number nor category")
    return kinds  # type: ignore[return-value]


def _refusal(why: str) -> ArtifactError:
    return ArtifactError(
        f"This file is not an artifact of hetcal, or it is damaged: {why}.",
        "An artifact is the zip that the Export page or `python -m hetcal run` wrote.",
        "Choose that file, or download it again.",
    )


LADDER_NUMBERS = (
    *("auc", "lift", "se", "low", "high", "without", "adds", "adds_low", "adds_high", "adds_p"),
    *("log_loss", "loss_fall", "loss_se", "strength"),
)
MAPS = "maps.json"  # of one class against all others; until format 3 of two classes, too
JOINT = "joint.sketch"
EVALUATION = "evaluation.json"
LARGEST_SKETCH = 2**28
# Cells with rows of all classes together, of the joint sketches and of all others, and the
# number that each class may have even so: a few MB once packed.
FILLED, FEWEST = 2**17, 2**11


@dataclass(frozen=True)
class SavedScheme:
    """What is saved of a `hetcal.schemes.choice.Choice`, beyond the scheme itself."""

    chosen: str
    why: str
    divided: bool = True  # whether leaves have maps of their own
    kind: Kind = "calibration"  # what the scheme does to the score
    measure: str = "AUC"  # what lifts are measured in
    # The ladder, as in `hetcal.schemes.choice.candidate_table`; None if it was not saved.
    candidates: pd.DataFrame | None = field(default=None, compare=False)


OF_RUNGS = ("name", "words", "kind")
FLAGS = ("allowed", "chosen")
MOST_RUNGS = 64


def read_ladder(rungs: list[Fields]) -> pd.DataFrame:
    """Read the rungs of a ladder; how long they took is not saved."""
    if len(rungs) > MOST_RUNGS:
        raise JsonError(f"its ladder has more than {MOST_RUNGS} rungs")
    found = []
    for each in rungs:
        numbers = {name: each.number_or_nan(name) for name in LADDER_NUMBERS}
        texts = {name: each.text(name) for name in OF_RUNGS}
        if texts["kind"] not in KINDS:
            raise JsonError("a rung of its ladder is of a kind that is not known")
        counts = {
            "numbers": each.integer("numbers", 0, 2**62),
            "seconds": float("nan"),
            "rows": each.integer("rows", 1, 2**62),
        }
        flags = {name: each.flag(name) for name in FLAGS}
        found.append(texts | numbers | counts | flags)
    return pd.DataFrame(found)


@dataclass(frozen=True)
class Ancestor:
    """An artifact whose maps were fitted again on newer rows."""

    artifact: str  # SHA-256 of its zip
    table: str  # identifies its table
    version: str  # of hetcal


def read_ancestry(manifest: Fields) -> tuple[Ancestor, ...]:
    """Read which artifacts one comes from, oldest first; most come from none."""
    found = manifest.objects("ancestry") if "ancestry" in manifest else []
    return tuple(Ancestor(*map(each.text, ("artifact", "table", "hetcal"))) for each in found)


@dataclass(frozen=True)
class SavedCells:
    """What is saved of the rows: the scores of each role, and what was fitted on them."""

    train: Cells
    calibration: Cells
    test: Cells
    calibrator: LeafCalibrator  # a map of every leaf in which one can be fitted, whatever min_rows
    joint: JointSketch | None = None  # test logits before and after, where other maps calibrate
    group: str | None = None  # the group column: sketches do not know the groups of rows
    evaluation: Evaluation | None = None  # computed on all rows; None where cells are exact enough


def saved_entries(run: Run) -> dict[str, bytes]:
    """Return the entries that `read_saved_cells` reads of a run on two classes."""
    leaves = [each.id for each in run.partition.leaves]
    joint = None
    if run.choice is not None:
        joint = joint_sketch(run.comparison.before, run.comparison.after, leaves)
    return sketch_entries(run.role_cells.sketched(leaves), joint)


def class_entries(run: Run) -> dict[int, dict[str, bytes]]:
    """Return the entries of each of several classes that can be set against the rest."""
    count, leaves = len(run.classes), [each.id for each in run.partition.leaves]
    entries = {}
    for number in range(count):
        try:
            view = run.view(number)
        except CalibrationError:  # no map can be fitted on its calibration rows
            continue
        cells = view.role_cells.sketched(leaves).within(_filled(count), MOST_CELLS // count)
        joint = joint_sketch(view.comparison.before, view.comparison.after, leaves, _filled(count))
        entries[number] = {
            _folder(number) + MAPS: view.leaf_maps.with_min_rows(0).to_json().encode(),
            **sketch_entries(cells, joint, _folder(number)),
            _folder(number) + EVALUATION: evaluation_json(view.evaluation).encode(),
        }
    return entries


def sketch_entries(
    sketches: RoleSketches, joint: JointSketch | None, folder: str = ""
) -> dict[str, bytes]:
    """Return the entries of the rows of each role, and of the test rows before and after."""
    entries = {f"{folder}{role}.sketch": sketch_bytes(getattr(sketches, role)) for role in PASSED}
    if joint is not None:
        entries[folder + JOINT] = joint_sketch_bytes(joint)
    return entries


def read_saved_cells(
    archive: zipfile.ZipFile,
    partition: Partition,
    folder: str = "",
    *,
    maps: str,
    joint: bool,
    most: int = MOST_CELLS,
) -> SavedCells:
    """Read what is saved of the rows, in sketches of at most `most` cells, empty ones included.

    `maps` is the entry with a map of every leaf in which one can be fitted.
    """
    calibrator = LeafCalibrator.from_json(read_entry(archive, folder + maps))
    require_leaves(calibrator, partition)
    leaves = [each.id for each in partition.leaves]
    grids, cells = set(), {}
    for role in PASSED:
        content = read_entry(archive, f"{folder}{role}.sketch", LARGEST_SKETCH)
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
    archive: zipfile.ZipFile, partition: Partition, number: int, count: int
) -> SavedCells:
    """Read what is saved of one of `count` classes."""
    folder, leaves = _folder(number), [each.id for each in partition.leaves]
    most = MOST_CELLS // count
    cells = read_saved_cells(archive, partition, folder, maps=MAPS, joint=True, most=most)
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
