"""The zip of an artifact: its entries written and read, with limits and without pickle."""

import hashlib
import io
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hetcal.columns import FeatureKind
from hetcal.errors import ArtifactError, HetcalError
from hetcal.model_file import ModelFile, inspect_model
from hetcal.model_scores import InputColumns
from hetcal.scores import ScoreKind
from hetcal.strict_json import MAX_TEXT, Fields, JsonError, parse_object
from hetcal.version import __version__

LIBRARIES = (
    *("keras", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy"),
    *("tensorflow", "tensorflow-cpu"),
)
# A zip remembers when it was written; equal runs give equal bytes only without that.
EPOCH = (1980, 1, 1, 0, 0, 0)
MODEL_ENTRIES = ("model.keras", "model.h5")
LARGEST_MODEL = 2**30
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


def model_entry(model: ModelFile) -> str:
    """Name the entry of a model."""
    return f"model.{model.format}"


def inputs_document(inputs: InputColumns) -> list[dict[str, object]]:
    """Write which columns feed which input."""
    return [{"input": name, "columns": columns} for name, columns in inputs.columns]


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
    """Open a zip, and say in words what is wrong with one that is not an artifact."""
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


def read_object_entry(archive: zipfile.ZipFile, name: str) -> Fields:
    """Read an entry that holds a JSON object."""
    return parse_object(read_entry(archive, name))


def require_format(manifest: Fields, newest: int) -> None:
    """Refuse a format that this version does not know."""
    found = manifest.integer("format", 0, 2**31)
    if not 1 <= found <= newest:
        raise ArtifactError(
            f"The artifact has format number {found}.",
            f"This version of hetcal ({__version__}) reads formats 1 to {newest}.",
            "Open it with the version that wrote it, or run the calibration again.",
        )


def read_model(manifest: Fields, archive: zipfile.ZipFile, directory: Path) -> ModelFile:
    """Unpack the model that the artifact was saved with, and look at it."""
    entry = manifest.fields("scoring").text("model")
    if entry not in MODEL_ENTRIES:
        raise JsonError("its model has a name of its own")
    content = read_entry(archive, entry, LARGEST_MODEL)
    digest = hashlib.sha256(content).hexdigest()
    if digest != manifest.fields("digests").text("model"):
        raise JsonError("its model is not the one it was saved with")
    path = directory / f"{digest}{Path(entry).suffix}"
    path.write_bytes(content)
    return inspect_model(path, name=entry)


def read_inputs(scoring: Fields) -> InputColumns:
    """Read which columns feed which input."""
    inputs = ((each.text("input"), each.texts("columns")) for each in scoring.objects("inputs"))
    return InputColumns(tuple(inputs))


def read_output(scoring: Fields) -> str | None:
    """Read the name of the output, where there is a choice."""
    return None if scoring.is_null("output") else scoring.text("output")


def read_score_kind(scoring: Fields) -> ScoreKind:
    """Read what score columns hold."""
    kind = scoring.text("kind")
    if kind not in ("logit", "probability"):
        raise JsonError(f"the kind of its scores is {kind!r}")
    return kind  # type: ignore[return-value]


def read_kinds(fields: Fields) -> dict[str, FeatureKind]:
    """Read how the columns of new rows are to be read."""
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
