"""A model file that passed the checks, which a child makes that is shut in.

No HDF5 and no zip of a stranger is opened in this process.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from hetcal.digests import file_digest
from hetcal.errors import ModelError
from hetcal.models.child import (
    MOST_TEXT,
    OUT_OF_TIME,
    parsed_lines,
    reported_error,
    require_keras,
    unusable,
)
from hetcal.models.config import INSTEAD, ModelInput, ModelLayer
from hetcal.models.process import begun, command_line, environment, kill
from hetcal.models.scan import LIMITS, NAME, Description, broken

_START = 30.0  # seconds that a busy machine may take to start Python


@dataclass(frozen=True)
class ModelFile:
    """A model file that passed the checks."""

    path: Path
    name: str  # what the user calls it
    format: Literal["keras", "h5"]
    digest: str  # SHA-256 of the content
    inputs: tuple[ModelInput, ...]
    outputs: tuple[str, ...]
    activation: str | None
    parameters: int
    layers: tuple[ModelLayer, ...] = ()
    units: int | None = None

    @property
    def description(self) -> Description:
        """What the file says of its model."""
        found = self.inputs, self.outputs, self.activation, self.parameters, self.layers
        return Description(self.format, *found, self.units)


def inspect_model(path: Path, *, name: str | None = None) -> ModelFile:
    """Check a model file, and refuse what is broken, oversized or could run code.

    `name` is what the user calls the file; it is only displayed.
    """
    require_keras("h5py")
    name = name or path.name
    digest = file_digest(path)
    return _inspected(path, name, digest)


@lru_cache(maxsize=64)
def _inspected(path: Path, name: str, digest: str) -> ModelFile:
    return described(path, name, digest, _look(path, name))


def described(path: Path, name: str, digest: str, said: Mapping[str, Any]) -> ModelFile:
    """Make a model file of its description as JSON, in which nothing is taken on trust."""
    try:
        found = ModelFile(
            path,
            name,
            _one_of(said["format"]),
            digest,
            tuple(map(_input, said["inputs"])),
            tuple(said["outputs"]),
            said["activation"],
            said["parameters"],
            tuple(ModelLayer(**each) for each in said["layers"]),
            said["units"],
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise unusable("the description of the model is incomplete") from error
    texts = [found.activation or "", *found.outputs]
    numbers: list[object] = [found.parameters, found.units or 0]
    fractions: list[object] = []
    for each in found.inputs:
        texts += [each.name, each.dtype, each.layer, each.scaler]
        numbers += [each.width or 0, each.ids or 0, *(axis or 0 for axis in each.shape or ())]
        fractions += each.reach
    for layer in found.layers:
        texts += [layer.name, layer.kind]
        numbers += [layer.width or 0]
    if not (
        all(isinstance(each, str) for each in texts)
        and all(type(each) is int for each in numbers)
        and all(type(each) is float for each in fractions)
    ):
        raise unusable("the description of the model has wrong types")
    return found


def _input(said: Mapping[str, Any]) -> ModelInput:
    shape = said.get("shape")
    axes = None if shape is None else tuple(shape)
    return ModelInput(**{**said, "shape": axes, "reach": tuple(said.get("reach", ()))})


def _one_of(kind: object) -> Literal["keras", "h5"]:
    if kind == "keras":
        return "keras"
    if kind == "h5":
        return "h5"
    raise TypeError(kind)


def _look(path: Path, name: str) -> dict[str, Any]:
    """Let a child look into the file; it is handed the open file and has no other."""
    nowhere = Path(sys.prefix)
    with path.open("rb") as file, tempfile.TemporaryFile() as out:
        popen = begun(
            lambda: subprocess.Popen(
                command_line("hetcal.models.scan"),
                stdin=file,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=nowhere,
                env={**environment(nowhere), NAME: json.dumps(name)},
                start_new_session=True,
            )
        )
        try:
            code = popen.wait(LIMITS.seconds + _START)
        except subprocess.TimeoutExpired:
            raise _too_slow(name) from None
        finally:
            kill(popen)
        out.seek(0)
        messages = parsed_lines(out.read(MOST_TEXT))
    error = reported_error(messages)
    if error is not None:
        raise error
    said = messages[0].get("model") if code == 0 and messages else None
    if not isinstance(said, dict):
        raise _too_slow(name) if code in OUT_OF_TIME else broken(name)
    return said


def _too_slow(name: str) -> ModelError:
    return ModelError(
        f"The model file '{name}' could not be read within {LIMITS.seconds} s.",
        "A file saved by Keras is read in less; one that is damaged may never end.",
        f"Copy it again or save the model again, {INSTEAD}.",
    )
