"""The internal layers of a model, read from its configuration without Keras."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from hetcal.keras_config import objects
from hetcal.keras_graph import layers_of


@dataclass(frozen=True)
class ModelLayer:
    """A layer whose output goes into another layer, once for each row.

    Parameters
    ----------
    name : str
        Its name in the model.
    kind : str
        Its class, such as "Dense".
    width : int or None
        How many numbers it gives for each row; None when the file does not say.
    """

    name: str
    kind: str
    width: int | None


def read_layers(config: dict[str, Any]) -> tuple[ModelLayer, ...]:
    """List the internal layers of a model: inputs, outputs and shared layers are left out."""
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        shapes = [(_name(each), _built_on(after)) for each, after in pairwise(layers)]
        widths = {name: _width(shape) for name, shape in shapes}
    else:
        widths = {name: _width(shape) for layer in layers for name, shape in _feeders(layer)}
    inside = [each for each in layers if each.get("class_name") != "InputLayer"]
    return tuple(
        ModelLayer(_name(each), str(each.get("class_name")), widths[_name(each)])
        for each in inside
        if _name(each) in widths and len(each.get("inbound_nodes") or []) <= 1
    )


def _feeders(layer: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Names of the layers whose output a layer takes, with its shape."""
    for node in objects(layer.get("inbound_nodes"), ""):
        history = node.get("keras_history")
        # Of several outputs of a layer the first one is meant.
        if isinstance(history, list) and len(history) == 3 and history[2] == 0:
            yield str(history[0]), node.get("shape")
    yield from ((name, None) for name in _older_feeders(layer.get("inbound_nodes")))


def _older_feeders(value: object) -> Iterator[str]:
    """Names in the nodes of older files: lists such as ["hidden", 0, 0, {}]."""
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            yield value[0]
        for each in value:
            yield from _older_feeders(each)


def _built_on(layer: dict[str, Any]) -> object:
    built = layer.get("build_config")
    return built.get("input_shape") if isinstance(built, dict) else None


def _width(shape: object) -> int | None:
    if not isinstance(shape, list) or not all(isinstance(each, int) for each in shape[1:]):
        return None
    return prod(shape[1:])


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("config", {}).get("name", layer.get("name")))
