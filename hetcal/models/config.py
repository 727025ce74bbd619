"""The configuration inside a Keras model file, checked and read without Keras.

Everything that Keras would build from the file must be on the list of
`hetcal.models.allowed`; anything else is refused by name.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from hetcal.errors import ModelError
from hetcal.models.allowed import ACTIVATIONS, MODELS, PARTS, PLAIN_VALUES, REFUSED, is_allowed

MAX_CONFIG_BYTES = 8 * 2**20
MAX_DEPTH = 60
MOST_INPUTS = 2_000
MOST_LAYERS = 5_000
MOST_CALLS = 20_000
MOST_NESTED = 10  # models inside models
INSTEAD = "or use a score column instead, which needs no model"
MOST_UNITS = 4096
SCALERS = {"Rescaling", "Normalization", "BatchNormalization", "LayerNormalization"}
SCALERS |= {"Multiply", "Divide", "TrueDivide", "Subtract"}
"""Kinds of first layers that may bring numbers to the range that the others were trained on."""

MOST_VALUES = 2**28
"""Numbers that a layer may give for all rows together: 1 GiB."""


HARD_SIGMOID = "hard_sigmoid"  # that of Keras 2 is a model of layers of Keras 3
_ENDS = {"Sigmoid": "sigmoid", "Softmax": "softmax", "LogSoftmax": "log_softmax"}

# Keras makes paths of the names of layers.
_NAME = re.compile(r"(?!.*\.\.)[^/\\\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True)
class ModelInput:
    """One input of a model."""

    name: str  # columns are matched to it
    width: int | None  # number of columns; None when the file does not say
    dtype: str = "float32"  # or such as "int64" or "string"
    layer: str = ""  # the name of the input layer inside the model
    ids: int | None = None  # number of known ids, where an embedding takes the input
    shape: tuple[int | None, ...] | None = None  # of a row, where it has more axes than one
    scaler: str = ""  # the kind of a first layer that scales, such as "Rescaling"
    reach: tuple[float, ...] = ()  # weight of each column in a first Dense layer, where known


@dataclass(frozen=True)
class ModelLayer:
    """A layer whose output goes into another layer, once for each row."""

    name: str  # preceded by the names of the models around it
    kind: str  # its class, such as "Dense"
    width: int | None  # number of outputs for each row; None when the file does not say


def parse_config(text: bytes, name: str) -> dict[str, Any]:
    """Read the JSON of a model file, refusing what only a crafted file contains."""
    if len(text) > MAX_CONFIG_BYTES:
        raise odd(name, f"its description is {len(text) / 2**20:.0f} MB long")
    try:
        config = json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise odd(name, "its description is nested too deeply") from None
    except (ValueError, UnicodeDecodeError):
        raise odd(name, "its description is not readable JSON") from None
    if not isinstance(config, dict) or config.get("class_name") not in MODELS:
        kind = config.get("class_name") if isinstance(config, dict) else type(config).__name__
        raise ModelError(
            f"The model file '{name}' describes {str(kind)[:60]!r}, which is not a Sequential or "
            "Functional model.",
            "Only models made of Keras' own layers can be opened; a subclassed model cannot.",
            f"Rebuild it with keras.Sequential or keras.Model(inputs, outputs), {INSTEAD}.",
        )
    return config


def refuse_unknown(config: dict[str, Any], name: str) -> None:
    """Refuse every class and function that is not on the list, however deeply nested."""
    for node in objects(config, name):
        _check_layer_settings(node, name)
        if "class_name" in node:
            _check_class(node, name)


def objects(value: object, name: str) -> Iterator[dict[str, Any]]:
    """Walk through every JSON object inside a value."""
    waiting = [(value, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise odd(name, "its description is nested too deeply")
        if isinstance(value, dict):
            yield value
            value = list(value.values())
        if isinstance(value, list):
            waiting += [(each, depth + 1) for each in reversed(value)]


def refuse_too_much(config: dict[str, Any], name: str) -> None:
    """Refuse a model that would take Keras a very long time to build.

    A model called twice inside a model called twice is four calls, so a short description can
    ask for endless work.
    """
    layers = sum(node.get("class_name") in PARTS for node in objects(config, name))
    inputs = len(_endpoints(config, "input_layers"))
    for count, most, what in (
        (inputs, MOST_INPUTS, "inputs"),
        (layers, MOST_LAYERS, "layers"),
        (_calls(config, name), MOST_CALLS, "calls of layers"),
    ):
        if count > most:
            raise ModelError(
                f"The model '{name}' has {_at_most(count)} {what}.",
                f"A model may have at most {most:,}.",
                f"Use a smaller model, {INSTEAD}.",
            )


def _at_most(count: int) -> str:
    return f"{count:,}" if count < 10**9 else "billions of"


def _calls(value: object, name: str, models: int = 0) -> int:
    """Count how often Keras calls layers while it builds what a value describes."""
    if isinstance(value, list):
        return sum(_calls(each, name, models) for each in value)
    if not isinstance(value, dict):
        return 0
    kind, nodes = value.get("class_name"), value.get("inbound_nodes")
    models += kind in MODELS
    if models > MOST_NESTED:
        raise odd(name, f"more than {MOST_NESTED} models are inside one another")
    inside = sum(_calls(value[key], name, models) for key in value if key != "inbound_nodes")
    times = max(1, len(nodes)) if isinstance(nodes, list) else 1
    if kind == "Bidirectional":
        times *= 2  # one layer for each direction
    return times * (inside + (kind in PARTS))


def _check_class(node: dict[str, Any], name: str) -> None:
    class_name, module = node["class_name"], node.get("module")
    if not isinstance(class_name, str):
        raise odd(name, "a class has no name")
    if class_name in PLAIN_VALUES:
        return
    if class_name in {"Lambda", "__lambda__"}:
        raise ModelError(
            f"The model file '{name}' contains a Lambda layer{_called(node)}.",
            "A Lambda layer carries Python code, and code from a file is never run.",
            f"Save the model again with keras.ops or a built-in layer in its place, {INSTEAD}.",
        )
    if class_name == "function":
        _check_function(node, name)
    elif not (is_allowed(module, class_name) and node.get("registered_name") in (None, class_name)):
        raise _refused(name, f"{class_name}{_called(node)}", module, REFUSED.get(class_name))


def _check_function(node: dict[str, Any], name: str) -> None:
    function, module = node.get("config"), node.get("module")
    if (
        function not in ACTIVATIONS
        or module not in (None, "builtins", "keras.activations")
        or node.get("registered_name") not in (None, "function", function)
    ):
        raise _refused(name, f"the function {str(function)[:80]}", module)


def _check_layer_settings(node: dict[str, Any], name: str) -> None:
    for key, activation in node.items():
        if key.endswith("activation"):
            _check_activation(activation, name)
    for key in ("vocabulary", "idf_weights"):
        if not isinstance(node.get(key), list | None):
            raise ModelError(
                f"The model file '{name}' takes a {key} from another file.",
                "A model may not read files; the list must be part of the model.",
                f"Save the model again with the list itself as {key}, {INSTEAD}.",
            )
    own_name = node.get("name")
    if isinstance(own_name, str) and not _NAME.fullmatch(own_name):
        raise odd(name, f"a layer is called {own_name[:60]!r}")


def _check_activation(activation: object, name: str) -> None:
    if isinstance(activation, str) and activation not in ACTIVATIONS:
        raise _refused(name, f"the activation {activation[:80]}", None)
    # Keras writes a function of Python so; one with a name is an object that is checked itself.
    if isinstance(activation, list | dict) and "class_name" not in activation:
        raise ModelError(
            f"The model file '{name}' has a function of Python as an activation.",
            "Such a function is Python code, and code from a file is never run.",
            f"Save the model again with one of Keras' own activations in its place, {INSTEAD}.",
        )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        message = "a key appears twice"
        raise ValueError(message)
    return keys


def _called(node: dict[str, Any]) -> str:
    config = node.get("config")
    own = config.get("name") if isinstance(config, dict) else None
    return f" called '{own[:60]}'" if isinstance(own, str) else ""


def _refused(name: str, what: str, module: object, why: str | None = None) -> ModelError:
    origin = f" (from {str(module)[:80]})" if module else ""
    why = why or "is not one of the Keras parts that are known to be safe"
    return ModelError(
        f"The model file '{name}' uses {what}{origin}, which {why}.",
        "A model may consist of Keras' own layers, activations and arithmetic only, because "
        "anything else could run code.",
        f"Save the model again with built-in layers, {INSTEAD}.",
    )


def odd(name: str, why: str) -> ModelError:
    """Return the error for a file that Keras would not have written."""
    return ModelError(
        f"The model file '{name}' is not as Keras writes it: {why}.",
        "A file saved by Keras with model.save('model.keras') is needed.",
        f"Save the model again, {INSTEAD}.",
    )


def layers_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the configurations of the layers of a model."""
    inner = config.get("config")
    layers = inner.get("layers") if isinstance(inner, dict) else None
    if not isinstance(layers, list) or not layers or not all(isinstance(x, dict) for x in layers):
        raise KeyError("layers")  # `inspect_model` names the file
    return layers


def read_inputs(config: dict[str, Any], name: str) -> tuple[ModelInput, ...]:
    """List the inputs of a model."""
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        if layers[0].get("class_name") in MODELS:
            return read_inputs(layers[0], name)[:1]
        named = layers[0].get("class_name") == "InputLayer"
        shape = config["config"].get("build_input_shape")
        first = layers[0].get("config", {})
        return (_input(str(first.get("name", "input")), first, layers[named:][:1], shape),)
    by_name = {str(layer.get("name")): layer.get("config", {}) for layer in layers}
    fed = defaultdict(list)
    for layer in layers:
        for taken in {taken for taken, _ in _taken(layer)}:
            fed[taken].append(layer)
    found = []
    for key, end, _ in _endpoints(config, "input_layers"):
        own = by_name.get(end, {})
        found.append(_input(key, own, fed[str(own.get("name", key))], None))
    if not found:
        raise odd(name, "it names no inputs")
    return tuple(found)


def _input(
    key: str, config: dict[str, Any], fed: list[dict[str, Any]], shape: object
) -> ModelInput:
    """Describe an input by its layer's configuration and the layers that it feeds."""
    shape = config.get("batch_shape") or config.get("batch_input_shape") or shape
    dtype = config.get("dtype", "float32")
    sizes = [
        each.get("config", {}).get("input_dim")
        for each in fed
        if each.get("class_name") == "Embedding"
    ]
    kinds = [each.get("class_name") for each in fed]
    return ModelInput(
        name=key,
        width=_width(shape),
        dtype=dtype if isinstance(dtype, str) else "float32",
        layer=str(config.get("name", key)),
        ids=min((size for size in sizes if isinstance(size, int)), default=None),
        shape=_row_shape(shape),
        scaler=next((str(kind) for kind in kinds if kind in SCALERS), ""),
    )


def first_layers(config: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Name the inputs that a Dense layer takes alone, that layer, and its number among those.

    Where a layer normalises what it gives, its weights say nothing of the size of its inputs.
    """
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        taken = [{_name(each)} for each in [*layers[:1], *layers[:-1]]]
        inputs = {_name(layers[0])}
    else:
        taken = [{name for name, _ in _taken(each)} for each in layers]
        inputs = {_name(each) for each in layers if each.get("class_name") == "InputLayer"}
    normalised: set[str] = set()
    for each, names in zip(layers, taken, strict=True):
        normalised |= names if str(each.get("class_name")).endswith("Normalization") else set()
    dense = [pair for pair in zip(layers, taken, strict=True) if pair[0]["class_name"] == "Dense"]
    for number, (layer, names) in enumerate(dense):
        if len(names) == 1 and names <= inputs and _name(layer) not in normalised:
            yield names.pop(), _name(layer), number


def read_outputs(config: dict[str, Any]) -> tuple[str, ...]:
    """Name the outputs of a model."""
    if config["class_name"] == "Sequential":
        return (str(layers_of(config)[-1].get("config", {}).get("name", "output")),)
    return tuple(key for key, *_ in _endpoints(config, "output_layers"))


def last_activation(config: dict[str, Any]) -> str | None:
    """Name the activation of the last layer, where there is one output and it has one."""
    return _activation(_last_layer(config))


def _activation(layer: dict[str, Any]) -> str | None:
    """Name the activation of a layer, which may be a layer itself."""
    kind = layer.get("class_name")
    if kind in _ENDS:
        return _ENDS[kind]
    activation = layer.get("config", {}).get("activation")
    if isinstance(activation, dict) and isinstance(activation.get("config"), dict):
        if activation["config"].get("name") == HARD_SIGMOID:
            return HARD_SIGMOID
        return _activation(activation) or str(activation.get("class_name"))
    if isinstance(activation, dict):
        activation = activation.get("config")
    return activation if isinstance(activation, str) else None


def last_units(config: dict[str, Any]) -> int | None:
    """Return the number of units of the last layer; None where the file does not say."""
    units = _last_layer(config).get("config", {}).get("units")
    return units if isinstance(units, int) else None


def _last_layer(config: dict[str, Any], place: int | None = None) -> dict[str, Any]:
    """Return the layer of the only output, also inside models; empty where there are several.

    `place` is which output of a model inside another is used.
    """
    layers, inner = layers_of(config), 0
    if config["class_name"] == "Sequential":
        last = layers[-1]
    else:
        ends = _endpoints(config, "output_layers")
        if place is None and len(ends) > 1:
            return {}
        _, name, inner = ends[place or 0]
        last = next((layer for layer in layers if layer.get("name") == name), {})
    return _last_layer(last, inner) if last.get("class_name") in MODELS else last


def _row_shape(shape: object) -> tuple[int | None, ...] | None:
    if not isinstance(shape, list) or len(shape) < 3:
        return None
    return tuple(each if isinstance(each, int) else None for each in shape[1:])


def _width(shape: object) -> int | None:
    if not isinstance(shape, list) or len(shape) > 2:
        return None
    width = shape[1] if len(shape) == 2 else 1
    return width if isinstance(width, int) else None


def _taken(layer: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name the layers whose output a layer takes, each with the description of that output."""
    for node in objects(layer.get("inbound_nodes"), ""):
        history = node.get("keras_history")
        if isinstance(history, list) and history:
            yield str(history[0]), node


def _endpoints(config: dict[str, Any], key: str) -> list[tuple[str, str, int]]:
    """List the displayed name, the name of the layer, and which of its outputs it is."""
    ends = config["config"].get(key)
    if isinstance(ends, dict):
        pairs = list(ends.items())
    elif isinstance(ends, list) and ends and isinstance(ends[0], str):
        pairs = [(ends[0], ends)]
    else:
        pairs = [(end[0], end) for end in ends or () if isinstance(end, list) and end]
    return [
        (str(own), str(end[0]), end[2] if len(end) > 2 and isinstance(end[2], int) else 0)
        for own, end in pairs
        if isinstance(end, list)
    ]


def read_layers(config: dict[str, Any], inside: str = "") -> tuple[ModelLayer, ...]:
    """List the internal layers of a model, without inputs, outputs and shared layers.

    Layers whose output is text, whole numbers or booleans are left out, too. Layers of a
    model inside the model are preceded by its name, as in `encoder/hidden`.
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
        yield _name(layer), _units(built.get("input_shape") if isinstance(built, dict) else None)


def _in_graph(layers: list[dict[str, Any]]) -> Iterator[tuple[str, int | None]]:
    """Names of the layers whose output another layer takes, with their widths."""
    for layer in layers:
        for name, node in _taken(layer):
            # Of several outputs of a layer the first one is meant.
            first = len(node["keras_history"]) == 3 and node["keras_history"][2] == 0
            if first and "float" in str(node.get("dtype")):
                yield name, _units(node.get("shape"))
        yield from ((name, None) for name in _older_feeders(layer.get("inbound_nodes")))


def _older_feeders(value: object) -> Iterator[str]:
    """Names in the nodes of older files: lists such as ["hidden", 0, 0, {}]."""
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            yield value[0]
        for each in value:
            yield from _older_feeders(each)


def _units(shape: object) -> int | None:
    if not isinstance(shape, list) or not all(isinstance(each, int) for each in shape[1:]):
        return None
    return prod(shape[1:])


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("config", {}).get("name", layer.get("name")))


def check_width(model: str, layer: str, units: int, rows: int) -> None:
    """Refuse a layer that gives too many numbers."""
    if units > MOST_UNITS:
        raise ModelError(
            f"The layer '{layer}' of the model '{model}' gives {units:,} numbers per row.",
            f"A partition can use at most {MOST_UNITS:,}.",
            "Choose a narrower layer, such as one after the pooling or flattening.",
        )
    if units * rows > MOST_VALUES:
        raise ModelError(
            f"The layer '{layer}' of the model '{model}' gives {units:,} numbers for each of "
            f"{rows:,} rows.",
            f"All rows together may have at most {MOST_VALUES:,} numbers.",
            "Choose a narrower layer, or use fewer rows.",
        )
