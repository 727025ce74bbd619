"""The look into a model file: nothing in it is run, and TensorFlow is not imported.

A crafted file can make the HDF5 library loop for ever or end its process, so this runs in a child
that is shut in: see `hetcal.models.file`.
"""

import io
import json
import os
import re
import stat
import sys
import zipfile
from dataclasses import asdict, dataclass, replace
from typing import IO, Any, Literal

from hetcal.errors import ModelError
from hetcal.models.config import (
    INSTEAD,
    MAX_CONFIG_BYTES,
    ModelInput,
    ModelLayer,
    first_layers,
    last_activation,
    last_units,
    odd,
    parse_config,
    read_inputs,
    read_layers,
    read_outputs,
    refuse_too_much,
    refuse_unknown,
)
from hetcal.models.keras_internals import (
    archive_version,
    forget_training,
    store_version,
    use_words_of_keras_3,
)
from hetcal.models.sandbox import GIB, Limits, confine

NAME = "HETCAL_MODEL_NAME"
"""The variable in which the child finds what the user calls the file."""

LIMITS = Limits(seconds=10, memory=2 * GIB, file_bytes=16 * 2**20, files=64)
MAX_BYTES = 512 * 2**20
MAX_MEMBERS = 256
MAX_RATIO = 50
MAX_OBJECTS = 20_000
MOST_WEIGHED = 20_000_000  # weights of a file that is read again for those of its first layer
_SMALL = 2**20
_WEIGHTS = "model.weights.h5"
_PACKINGS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_NEEDED = "A Keras model saved with model.save('model.keras') or model.save('model.h5') is needed."
_KINDS = (
    (b"\x80", "a Python pickle, which is never opened"),
    (b"\x1f\x8b", "a gzip file"),
    (b"PAR1", "a Parquet table"),
    (b"{", "a JSON text"),
    (b"%PDF", "a PDF document"),
)
_OF_TRAINING = re.compile("^/(optimizer|metrics/)|/(optimizer|metrics/[^/]+)/vars/")


@dataclass(frozen=True)
class Description:
    """What a model file says of its model."""

    format: Literal["keras", "h5"]  # by its content; the extension does not matter
    inputs: tuple[ModelInput, ...]
    outputs: tuple[str, ...]
    activation: str | None  # of the last layer, where the file says
    parameters: int  # number of weights
    layers: tuple[ModelLayer, ...] = ()  # internal layers, of which a partition may use one
    units: int | None = None  # numbers per row of the last layer, where the file says


def main() -> None:
    """In the child: describe the file at stdin, or say why not, in one line of JSON."""
    import h5py  # noqa: F401  # before the clock starts

    confine(LIMITS)
    try:
        with open(0, "rb", closefd=False) as file:
            said = {"model": asdict(describe(file, json.loads(os.environ[NAME])))}
    except ModelError as error:
        said = {"error": {"wrong": error.wrong, "needed": error.needed, "remedy": error.remedy}}
    sys.stdout.write(f"{json.dumps(said)}\n")


def describe(file: IO[bytes], name: str) -> Description:
    """Describe a model file, and refuse what is broken, oversized or could run code.

    Whatever a crafted file makes the libraries raise means the same for its user.
    """
    kind = _identify(file, name)
    try:
        read = _read_archive if kind == "keras" else _read_hdf5
        text, parameters, version = read(file, name)
    except ModelError:
        raise
    except Exception as error:
        raise broken(name) from error
    try:
        config = parse_config(text, name)
        forget_training(config)  # nor does the child read it
        if version.startswith("2."):
            use_words_of_keras_3(config)
        refuse_unknown(config, name)
        refuse_too_much(config, name)
        inputs, outputs = read_inputs(config, name), read_outputs(config)
        activation, units = last_activation(config), last_units(config)
        layers = read_layers(config)
        if parameters <= MOST_WEIGHED:
            inputs = _with_reach(inputs, config, file, kind)
    except ModelError:
        raise
    except Exception as error:
        raise odd(name, "its description is incomplete or has no layers") from error
    return Description(kind, inputs, outputs, activation, parameters, layers, units)


def _identify(file: IO[bytes], name: str) -> Literal["keras", "h5"]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(8)
    if size > MAX_BYTES:
        raise ModelError(
            f"The model file '{name}' is {size / 2**20:,.0f} MB large.",
            f"A model file may have at most {MAX_BYTES // 2**20} MB.",
            f"Save the model without its optimizer (include_optimizer=False), {INSTEAD}.",
        )
    if head.startswith(b"PK\x03\x04"):
        return "keras"
    if head == b"\x89HDF\r\n\x1a\n":
        return "h5"
    looks = next((text for magic, text in _KINDS if head.startswith(magic)), "something else")
    if not head:
        looks = "an empty file"
    raise ModelError(
        f"'{name}' is not a Keras model file but {looks}.",
        _NEEDED,
        f"Choose another file, {INSTEAD}.",
    )


def _read_archive(file: IO[bytes], name: str) -> tuple[bytes, int, str]:
    """Read the description, count the weights and find the version of a `.keras` file."""
    with zipfile.ZipFile(file) as archive:
        names = [member.filename for member in archive.infolist()]
        if "config.json" not in names or _WEIGHTS not in names:
            raise ModelError(
                f"'{name}' is a zip file, but not one that Keras wrote.",
                _NEEDED,
                f"Choose another file, {INSTEAD}.",
            )
        _check_members(archive.infolist(), name)
        with _opened(io.BytesIO(archive.read(_WEIGHTS))) as store:
            weights = _count_weights(store, name)
        return archive.read("config.json"), weights, archive_version(archive)


def _check_members(members: list[zipfile.ZipInfo], name: str) -> None:
    names = [member.filename for member in members]
    if len(names) > MAX_MEMBERS or len(set(names)) < len(names):
        raise odd(name, "it has too many members, or one of them twice")
    if sum(member.file_size for member in members) > MAX_BYTES:
        raise odd(name, f"it unpacks to more than {MAX_BYTES // 2**20} MB")
    for member in members:
        _check_member(member, name)


def _check_member(member: zipfile.ZipInfo, name: str) -> None:
    parts = member.filename.split("/")
    known = member.filename in {"config.json", "metadata.json", _WEIGHTS} or parts[0] == "assets"
    if not known or ".." in parts or "\\" in member.filename:
        raise odd(name, f"it contains '{member.filename[:60]}'")
    if stat.S_ISLNK(member.external_attr >> 16) or member.flag_bits & 1:
        raise odd(name, f"its member '{member.filename[:60]}' is a link or encrypted")
    if member.compress_type not in _PACKINGS:
        raise odd(name, f"its member '{member.filename[:60]}' is packed in another way")
    if member.filename.endswith(".json") and member.file_size > MAX_CONFIG_BYTES:
        raise odd(name, f"its description is {member.file_size / 2**20:.0f} MB long")
    if member.file_size > _SMALL + MAX_RATIO * member.compress_size:
        raise odd(name, f"its member '{member.filename[:60]}' unpacks to far more than it holds")


def _read_hdf5(file: IO[bytes], name: str) -> tuple[bytes, int, str]:
    """Read the description, count the weights and find the version of an `.h5` file."""
    with _opened(file) as store:
        version = store_version(store)
        parameters, text = _count_weights(store, name), store.attrs.get("model_config")
    if text is None:
        raise ModelError(
            f"The file '{name}' holds weights only, not the model they belong to.",
            _NEEDED,
            f"Save the whole model with model.save, {INSTEAD}.",
        )
    return text if isinstance(text, bytes) else str(text).encode(), parameters, version


def _with_reach(
    inputs: tuple[ModelInput, ...], config: dict[str, Any], file: IO[bytes], kind: str
) -> tuple[ModelInput, ...]:
    """Add to each input the weights of its columns, where a Dense layer takes it alone."""
    first = {taken: (layer, number) for taken, layer, number in reversed([*first_layers(config)])}
    if not first:
        return inputs
    if kind == "keras":
        with zipfile.ZipFile(file) as archive:
            file = io.BytesIO(archive.read(_WEIGHTS))
    with _opened(file) as store:
        return tuple(
            replace(each, reach=_reach(store, *first[each.layer])) if each.layer in first else each
            for each in inputs
        )


def _reach(store: Any, layer: str, number: int) -> tuple[float, ...]:
    """Return the root mean square of the weights of each column; empty where there are none."""
    import numpy as np

    if "model_weights" in store:
        place, wanted = f"model_weights/{layer}", "kernel"
    else:  # Keras names the layers of a kind by their order
        place, wanted = f"layers/dense{f'_{number}' if number else ''}/vars", "0"
    found = _datasets(store[place], layer) if place in store else []
    kernels = [node for path, node in found if path.rpartition("/")[2].startswith(wanted)]
    if len(kernels) != 1 or kernels[0].ndim != 2 or kernels[0].dtype.kind != "f":
        return ()
    weights = np.sqrt((kernels[0][()].astype(np.float64) ** 2).mean(axis=1))
    return tuple(map(float, weights)) if np.isfinite(weights).all() else ()


def _opened(file: IO[bytes]) -> Any:
    import h5py

    return h5py.File(file, "r")


def _count_weights(store: Any, name: str) -> int:
    """Count the numbers of an HDF5 file that belong to layers.

    Optimizers have numbers, too, and metrics in files of Keras 2; inner models may have their own.
    """
    return sum(node.size for path, node in _datasets(store, name) if not _OF_TRAINING.search(path))


def _datasets(store: Any, name: str) -> list[tuple[str, Any]]:
    """List all datasets with their paths, following hard links only."""
    import h5py

    found, seen, waiting = [], set(), [("", store)]
    while waiting:
        path, group = waiting.pop()
        for key in group:
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise odd(name, f"its weights '{key[:60]}' point to another place")
            node = group[key]
            address = h5py.h5o.get_info(node.id).addr
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > MAX_OBJECTS:
                raise odd(name, f"its weights have more than {MAX_OBJECTS:,} parts")
            if isinstance(node, h5py.Group):
                waiting.append((f"{path}/{key}", node))
            else:
                _check_dataset(node, key, name)
                found.append((f"{path}/{key}", node))
    return found


def _check_dataset(node: Any, key: str, name: str) -> None:
    import h5py

    if not isinstance(node, h5py.Dataset) or node.external or node.is_virtual:
        raise odd(name, f"its weights '{key[:60]}' point to another place")
    if node.dtype.hasobject or node.shape is None:
        raise odd(name, f"its weights '{key[:60]}' are not numbers")
    if node.nbytes > _SMALL + MAX_RATIO * node.id.get_storage_size():
        raise odd(name, f"its weights '{key[:60]}' claim more numbers than the file holds")


def broken(name: str) -> ModelError:
    """Return the error for a file that cannot be read to its end."""
    return ModelError(
        f"The model file '{name}' is damaged or incomplete.",
        _NEEDED,
        f"Copy it again or save the model again, {INSTEAD}.",
    )
