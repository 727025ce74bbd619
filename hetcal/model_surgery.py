"""Inside the child: load a model, remove its last sigmoid or softmax, record a layer's output."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hetcal.errors import ModelError
from hetcal.keras_internals import origin

# These change no value when a trained model predicts.
_TRANSPARENT = {"Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "Identity", "Cast"}
_TRANSPARENT |= {"ActivityRegularization", "Flatten", "Reshape", "Squeeze"}


def load(path: Path) -> Any:
    """Load a model file without compiling it and without running code from it."""
    import keras

    return keras.saving.load_model(path, compile=False, safe_mode=True)


def computation(
    model: Any, output: str | None, layer: str | None
) -> tuple[Callable[[dict[str, Any]], dict[str, Any]], str | None]:
    """Make a function that returns "own", "stripped" and "layer"; also name the last activation.

    "stripped" is the output without a final sigmoid or softmax, "layer" the output of an
    internal layer; both are left out where there is none.
    """
    import keras
    import tensorflow as tf

    last, watched = last_operation(model, output), None if layer is None else _find(model, layer)
    activation = activation_of(last)
    part = "activation" if hasattr(last, "activation") else "call"

    def predict(arrays: dict[str, Any]) -> Any:
        result = model(_arrange(model, arrays), training=False)
        return keras.ops.cast(_choose(result, output, model), "float32")

    def compute(arrays: dict[str, Any]) -> dict[str, Any]:
        found = {}
        if watched is None:
            found["own"] = predict(arrays)
        else:
            seen: list[Any] = []
            with _replaced(watched, "call", _recording(watched.call, seen)):
                found["own"] = predict(arrays)
            found["layer"] = keras.ops.cast(keras.tree.flatten(seen[0])[0], "float32")
        if activation in {"sigmoid", "softmax"}:
            with _replaced(last, part, _unchanged):
                found["stripped"] = predict(arrays)
        return found

    traced = tf.function(compute)

    def call(arrays: dict[str, Any]) -> dict[str, Any]:
        return traced({key: tf.convert_to_tensor(value) for key, value in arrays.items()})

    return call, activation


@contextmanager
def _replaced(operation: Any, name: str, value: Any) -> Iterator[None]:
    """Give a layer another function while TensorFlow records what the model does."""
    kept = getattr(operation, name)
    setattr(operation, name, value)
    try:
        yield
    finally:
        setattr(operation, name, kept)


def _recording(function: Callable[..., Any], seen: list[Any]) -> Callable[..., Any]:
    def call(*inputs: Any, **settings: Any) -> Any:
        seen.append(function(*inputs, **settings))
        return seen[-1]

    return call


def _unchanged(values: Any, **_: Any) -> Any:
    return values


def _find(model: Any, layer: str) -> Any:
    """Find a layer, or an operation between layers, by its path such as `encoder/hidden`."""
    import keras

    for name in layer.split("/"):
        parts = model.layers if isinstance(model, keras.Sequential) else model.operations
        model = next(each for each in parts if each.name == name)
    return model


def last_operation(model: Any, output: str | None = None) -> Any:
    """Find the layer that makes the last change to the values of the output."""
    import keras

    if isinstance(model, keras.Sequential):
        for layer in reversed(model.layers):
            if type(layer).__name__ not in _TRANSPARENT:
                return last_operation(layer) if isinstance(layer, keras.Model) else layer
    operation, before = origin(_choose(model.output, output, model))
    while type(operation).__name__ in _TRANSPARENT:
        operation, before = origin(before)
    return last_operation(operation) if isinstance(operation, keras.Model) else operation


def activation_of(operation: Any) -> str | None:
    """Name the activation of a layer; None for one that has none."""
    kind = type(operation).__name__
    if kind in {"Sigmoid", "Softmax"}:
        return kind.lower()
    if not hasattr(operation, "activation"):
        return None
    return getattr(operation.activation, "__name__", "linear")


def _arrange(model: Any, arrays: dict[str, Any]) -> Any:
    """Give the arrays the structure and types that the model's inputs have."""
    import keras

    if isinstance(model, keras.Sequential):
        (values,) = arrays.values()
        return _fit(values, model.inputs[0]) if model.inputs else values
    return keras.tree.map_structure(lambda tensor: _fit(arrays[tensor.name], tensor), model.input)


def _fit(values: Any, tensor: Any) -> Any:
    import keras

    if len(tensor.shape) == 1:
        values = values[:, 0]
    return values if tensor.dtype == "string" else keras.ops.cast(values, tensor.dtype)


def _choose(outputs: Any, output: str | None, model: Any) -> Any:
    """Pick the chosen one of several outputs."""
    if isinstance(outputs, (list, tuple)):
        outputs = dict(zip(model.output_names, outputs, strict=True))
    elif not isinstance(outputs, dict):
        return outputs
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    if output not in outputs:
        listed = ", ".join(f"'{name}'" for name in outputs)
        raise ModelError(
            f"The model has {len(outputs)} outputs: {listed}.",
            "One of them must be the score.",
            "Choose the output to use.",
        )
    return outputs[output]
