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
from hetcal.models.allowed import ACTIVATIONS, MODELS, PARTS, PLAIN_VALUES, is_allowed

MAX_CONFIG_BYTES = 8 * 2**20
MAX_DEPTH = 60
MOST_INPUTS = 2_000
MOST_LAYERS = 5_000
MOST_CALLS = 20_000
MOST_NESTED = 10  # models inside models
INSTEAD = "or use a score column instead, which needs no model"
MOST_UNITS = 4096
MOST_VALUES = 2**28
"""Numbers that a layer may give for all rows together: 1 GiB."""


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
    trusted_shape = {key: value for key, value in config.items() if key != "compile_config"}
    for node in objects(trusted_shape, name):
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
        raise _refused(name, f"{class_name}{_called(node)}", module)


def _check_function(node: dict[str, Any], name: str) -> None:
    function, module = node.get("config"), node.get("module")
    if (
        function not in ACTIVATIONS
        or module not in (None, "builtins", "keras.activations")
        or node.get("registered_name") not in (None, "function", function)
    ):
        raise _refused(name, f"the function {str(function)[:80]}", module)


def _check_layer_settings(node: dict[str, Any], name: str) -> None:
    activation = node.get("activation")
    if isinstance(activation, str) and activation not in ACTIVATIONS:
        raise _refused(name, f"the activation {activation[:80]}", None)
    for key in ("vocabulary", "idf_weights"):
        if isinstance(node.get(key), str):
            raise ModelError(
                f"The model file '{name}' takes a {key} from another file.",
                "A model may not read files; the list must be part of the model.",
                f"Save the model again with the list itself as {key}, {INSTEAD}.",
            )
    own_name = node.get("name")
    if isinstance(own_name, str) and not _NAME.fullmatch(own_name):
        raise odd(name, f"a layer is called {own_name[:60]!r}")


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


def _refused(name: str, what: str, module: object) -> ModelError:
    origin = f" (from {str(module)[:80]})" if module else ""
    return ModelError(
        f"The model file '{name}' uses {what}{origin}, which is not one of the Keras parts "
        "that are known to be safe.",
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
        return (_input(str(first.get("name", "input")), first, layers[named:][:1], shape, name),)
    by_name = {str(layer.get("name")): layer.get("config", {}) for layer in layers}
    fed = defaultdict(list)
    for layer in layers:
        for taken in {taken for taken, _ in _taken(layer)}:
            fed[taken].append(layer)
    found = []
    for key, end in _endpoints(config, "input_layers"):
        own = by_name.get(end, {})
        found.append(_input(key, own, fed[str(own.get("name", key))], None, name))
    if not found:
        raise odd(name, "it names no inputs")
    return tuple(found)


def _input(
    key: str, config: dict[str, Any], fed: list[dict[str, Any]], shape: object, name: str
) -> ModelInput:
    """Describe an input by its layer's configuration and the layers that it feeds."""
    shape = config.get("batch_shape") or config.get("batch_input_shape") or shape
    dtype = config.get("dtype", "float32")
    sizes = [
        each.get("config", {}).get("input_dim")
        for each in fed
        if each.get("class_name") == "Embedding"
    ]
    return ModelInput(
        name=key,
        width=_width(shape, key, name),
        dtype=dtype if isinstance(dtype, str) else "float32",
        layer=str(config.get("name", key)),
        ids=min((size for size in sizes if isinstance(size, int)), default=None),
    )


def read_outputs(config: dict[str, Any]) -> tuple[str, ...]:
    """Name the outputs of a model."""
    if config["class_name"] == "Sequential":
        return (str(layers_of(config)[-1].get("config", {}).get("name", "output")),)
    return tuple(key for key, _ in _endpoints(config, "output_layers"))


def last_activation(config: dict[str, Any]) -> str | None:
    """Name the activation of the last layer, where there is one output and it has one."""
    last = _last_layer(config)
    if last.get("class_name") in {"Sigmoid", "Softmax"}:
        return str(last["class_name"]).lower()
    activation = last.get("config", {}).get("activation")
    if isinstance(activation, dict):
        layer = isinstance(activation.get("config"), dict)
        activation = activation.get("class_name" if layer else "config")
    return activation if isinstance(activation, str) else None


def last_units(config: dict[str, Any]) -> int | None:
    """Return the number of units of the last layer; None where the file does not say."""
    units = _last_layer(config).get("config", {}).get("units")
    return units if isinstance(units, int) else None


def _last_layer(config: dict[str, Any]) -> dict[str, Any]:
    """Return the layer of the only output, also inside models; empty where there are several."""
    layers = layers_of(config)
    if config["class_name"] == "Sequential":
        last = layers[-1]
    else:
        ends = _endpoints(config, "output_layers")
        chosen = [layer for layer in layers if len(ends) == 1 and layer.get("name") == ends[0][1]]
        last = chosen[0] if chosen else {}
    return _last_layer(last) if last.get("class_name") in MODELS else last


def _width(shape: object, layer: str, name: str) -> int | None:
    if not isinstance(shape, list):
        return None
    if len(shape) > 2:
        raise ModelError(
            f"The input '{layer}' of the model '{name}' has the shape {tuple(shape[1:])}: "
            "it takes images or sequences.",
            "A model must take rows of a table: one number or text per column.",
            f"Use a model whose inputs are columns, {INSTEAD}.",
        )
    width = shape[1] if len(shape) == 2 else 1
    return width if isinstance(width, int) else None


def _taken(layer: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name the layers whose output a layer takes, each with the description of that output."""
    for node in objects(layer.get("inbound_nodes"), ""):
        history = node.get("keras_history")
        if isinstance(history, list) and history:
            yield str(history[0]), node


def _endpoints(config: dict[str, Any], key: str) -> list[tuple[str, str]]:
    """Pairs of the displayed name and the name of the layer."""
    ends = config["config"].get(key)
    if isinstance(ends, dict):
        return [(str(own), str(end[0])) for own, end in ends.items() if isinstance(end, list)]
    if isinstance(ends, list) and ends and isinstance(ends[0], str):
        return [(ends[0], ends[0])]
    return [(str(end[0]), str(end[0])) for end in ends or () if isinstance(end, list) and end]


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
