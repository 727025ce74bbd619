"""What a model takes and gives, read from its configuration without Keras."""

from dataclasses import dataclass
from typing import Any

from hetcal.errors import ModelError
from hetcal.keras_allowed import MODELS
from hetcal.keras_config import INSTEAD, objects, odd


@dataclass(frozen=True)
class ModelInput:
    """One input of a model.

    Parameters
    ----------
    name : str
        The name that columns are matched to.
    width : int or None
        Number of columns it takes; None when the file does not say.
    dtype : str
        Such as "float32", "int64" or "string".
    layer : str
        The name of the input layer inside the model.
    ids : int or None
        When the input goes straight into an embedding: how many ids it knows.
    """

    name: str
    width: int | None
    dtype: str = "float32"
    layer: str = ""
    ids: int | None = None


def read_inputs(config: dict[str, Any], name: str) -> tuple[ModelInput, ...]:
    """List the inputs of a model."""
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        return (_sequential_input(config, layers, name),)
    by_name = {str(layer.get("name")): layer for layer in layers}
    found = tuple(
        _functional_input(key, by_name.get(layer, {}), layers, name)
        for key, layer in _endpoints(config, "input_layers")
    )
    if not found:
        raise odd(name, "it names no inputs")
    return found


def read_outputs(config: dict[str, Any]) -> tuple[str, ...]:
    """Name the outputs of a model."""
    if config["class_name"] == "Sequential":
        return (str(layers_of(config)[-1].get("config", {}).get("name", "output")),)
    return tuple(key for key, _ in _endpoints(config, "output_layers"))


def last_activation(config: dict[str, Any]) -> str | None:
    """Name the activation of the last layer, where there is one output and it has one."""
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        last = layers[-1]
    else:
        ends = _endpoints(config, "output_layers")
        chosen = [layer for layer in layers if len(ends) == 1 and layer.get("name") == ends[0][1]]
        if not chosen:
            return None
        last = chosen[0]
    if last.get("class_name") in MODELS:
        return last_activation(last)
    if last.get("class_name") in {"Sigmoid", "Softmax"}:
        return str(last["class_name"]).lower()
    activation = last.get("config", {}).get("activation")
    if isinstance(activation, dict):
        activation = activation.get("config")
    return activation if isinstance(activation, str) else None


def _sequential_input(
    config: dict[str, Any], layers: list[dict[str, Any]], name: str
) -> ModelInput:
    first = layers[0].get("config", {})
    shape = (
        first.get("batch_shape")
        or first.get("batch_input_shape")
        or config["config"].get("build_input_shape")
    )
    if layers[0].get("class_name") in MODELS:
        return read_inputs(layers[0], name)[0]
    layer = str(first.get("name", "input"))
    dtype = first.get("dtype", "float32")
    follower = (
        layers[1] if layers[0].get("class_name") == "InputLayer" and layers[1:] else layers[0]
    )
    return ModelInput(
        name=layer,
        width=_width(shape, layer, name),
        dtype=dtype if isinstance(dtype, str) else "float32",
        layer=layer,
        ids=_embedding_size(follower),
    )


def _functional_input(
    key: str, layer: dict[str, Any], layers: list[dict[str, Any]], name: str
) -> ModelInput:
    config = layer.get("config", {})
    own = str(config.get("name", key))
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    sizes = [_embedding_size(each) for each in layers if own in _feeders(each)]
    known = [size for size in sizes if size is not None]
    return ModelInput(
        name=key,
        width=_width(shape, key, name),
        dtype=str(config.get("dtype", "float32")),
        layer=own,
        ids=min(known, default=None),
    )


def _width(shape: object, layer: str, name: str) -> int | None:
    if not isinstance(shape, list):
        return None
    if len(shape) > 2:
        raise ModelError(
            f"The input '{layer}' of the model '{name}' has the shape {tuple(shape[1:])}: "
            "it takes images or sequences.",
            "Here a model takes one row of a table: one number or text per column.",
            f"Use a model whose inputs are columns, {INSTEAD}.",
        )
    width = shape[1] if len(shape) == 2 else 1
    return width if isinstance(width, int) else None


def _embedding_size(layer: dict[str, Any]) -> int | None:
    size = layer.get("config", {}).get("input_dim")
    return size if layer.get("class_name") == "Embedding" and isinstance(size, int) else None


def _feeders(layer: dict[str, Any]) -> set[str]:
    """Names of the layers whose output a layer takes."""
    found = set()
    for node in objects(layer.get("inbound_nodes"), ""):
        history = node.get("keras_history")
        if isinstance(history, list) and history:
            found.add(str(history[0]))
    return found


def _endpoints(config: dict[str, Any], key: str) -> list[tuple[str, str]]:
    """Pairs of the name for people and the name of the layer."""
    ends = config["config"].get(key)
    if isinstance(ends, dict):
        return [(str(own), str(end[0])) for own, end in ends.items() if isinstance(end, list)]
    if isinstance(ends, list) and ends and isinstance(ends[0], str):
        return [(ends[0], ends[0])]
    return [(str(end[0]), str(end[0])) for end in ends or () if isinstance(end, list) and end]


def layers_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the configurations of the layers of a model."""
    inner = config.get("config")
    layers = inner.get("layers") if isinstance(inner, dict) else None
    if not isinstance(layers, list) or not layers or not all(isinstance(x, dict) for x in layers):
        raise odd(str(config.get("class_name")), "it has no layers")
    return layers
