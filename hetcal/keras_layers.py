"""The internal layers of a model, read from its configuration without Keras."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from hetcal.keras_allowed import MODELS
from hetcal.keras_config import objects
from hetcal.keras_graph import layers_of


@dataclass(frozen=True)
class ModelLayer:
    """A layer whose output goes into another layer, once for each row.

    Parameters
    ----------
    name : str
        Its name, after the names of the models around it.
    kind : str
        Its class, such as "Dense".
    width : int or None
        How many numbers it gives for each row; None when the file does not say.
    """

    name: str
    kind: str
    width: int | None


def read_layers(config: dict[str, Any], inside: str = "") -> tuple[ModelLayer, ...]:
    """List the internal layers of a model: inputs, outputs and shared layers are left out.

    So are layers that give texts, whole numbers or truth values. Layers of a model inside
    the model have its name in front, as in `encoder/hidden`.
    """
    layers = layers_of(config)
    sequential = config["class_name"] == "Sequential"
    widths = dict(_in_sequence(layers) if sequential else _in_graph(layers))
    found: list[ModelLayer] = []
    for layer in layers:
        name, kind = _name(layer), str(layer.get("class_name"))
        if kind == "InputLayer" or len(layer.get("inbound_nodes") or []) > 1:
            continue
        if kind in MODELS:
            found += read_layers(layer, f"{inside}{name}/")
        if name in widths:
            found.append(ModelLayer(f"{inside}{name}", kind, widths[name]))
    return tuple(found)


def _in_sequence(layers: list[dict[str, Any]]) -> Iterator[tuple[str, int | None]]:
    for layer, after in pairwise(layers):
        built = after.get("build_config")
        yield _name(layer), _width(built.get("input_shape") if isinstance(built, dict) else None)


def _in_graph(layers: list[dict[str, Any]]) -> Iterator[tuple[str, int | None]]:
    """Names of the layers whose output another layer takes, with their widths."""
    for layer in layers:
        for node in objects(layer.get("inbound_nodes"), ""):
            history, fractions = node.get("keras_history"), "float" in str(node.get("dtype"))
            # Of several outputs of a layer the first one is meant.
            if fractions and isinstance(history, list) and len(history) == 3 and history[2] == 0:
                yield str(history[0]), _width(node.get("shape"))
        yield from ((name, None) for name in _older_feeders(layer.get("inbound_nodes")))


def _older_feeders(value: object) -> Iterator[str]:
    """Names in the nodes of older files: lists such as ["hidden", 0, 0, {}]."""
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            yield value[0]
        for each in value:
            yield from _older_feeders(each)


def _width(shape: object) -> int | None:
    if not isinstance(shape, list) or not all(isinstance(each, int) for each in shape[1:]):
        return None
    return prod(shape[1:])


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("config", {}).get("name", layer.get("name")))
