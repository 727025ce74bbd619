"""A static look at the configuration inside a Keras model file, without Keras.

Everything that the file asks Keras to build must be on the list of
`hetcal.keras_allowed`; anything else is refused by name.
"""

import json
from collections.abc import Iterator
from typing import Any

from hetcal.errors import ModelError
from hetcal.keras_allowed import ACTIVATIONS, MODELS, PLAIN_VALUES, is_allowed

MAX_CONFIG_BYTES = 8 * 2**20
MAX_DEPTH = 60
INSTEAD = "or use a score column instead, which needs no model"


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


def objects(value: object, name: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Walk through every JSON object inside a value."""
    if depth > MAX_DEPTH:
        raise odd(name, "its description is nested too deeply")
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from objects(each, name, depth + 1)


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
    elif not is_allowed(module, class_name) or node.get("registered_name") not in (
        None,
        class_name,
    ):
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
    if isinstance(own_name, str) and any(sign in own_name for sign in "/\\\0"):
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
    """Say that Keras would not have written this file."""
    return ModelError(
        f"The model file '{name}' is not as Keras writes it: {why}.",
        "A file saved by Keras with model.save('model.keras') is needed.",
        f"Save the model again, {INSTEAD}.",
    )
