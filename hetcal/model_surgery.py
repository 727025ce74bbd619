"""Inside the child: load a model, take off the last sigmoid or softmax, watch a layer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hetcal.errors import ModelError
from hetcal.keras_internals import origin

Function = Callable[[dict[str, Any]], Any]

# These change no value when a trained model predicts.
_TRANSPARENT = {
    "Dropout",
    "AlphaDropout",
    "GaussianDropout",
    "GaussianNoise",
    "ActivityRegularization",
    "Flatten",
    "Reshape",
    "Squeeze",
    "Identity",
    "Cast",
}

_PAIR = "own", "layer"


def load(path: Path) -> Any:
    """Load a model file without compiling it and without running code from it."""
    import keras

    return keras.saving.load_model(path, compile=False, safe_mode=True)


def computation(
    model: Any, output: str | None, layer: str | None
) -> tuple[Callable[[dict[str, Any]], dict[str, Any]], str | None]:
    """Make a function that gives "own", "stripped" and "layer" by name; name the activation.

    The last two are left out where there is nothing to take off, or no layer to watch.
    """
    own, stripped, activation = functions_of(model, output)
    both = None if layer is None else watching(model, output, layer)

    def call(arrays: dict[str, Any]) -> dict[str, Any]:
        found = (
            {"own": own(arrays)} if both is None else dict(zip(_PAIR, both(arrays), strict=True))
        )
        return found if stripped is None else {**found, "stripped": stripped(arrays)}

    return call, activation


def functions_of(model: Any, output: str | None) -> tuple[Function, Function | None, str | None]:
    """Make the model's own function, the one before its last activation, and name that.

    The second is None unless the last activation is a sigmoid or softmax.
    """
    own = _function(model, output)
    operation = last_operation(model, output)
    activation = activation_of(operation)
    if activation not in {"sigmoid", "softmax"}:
        return own, None, activation
    return own, _stripped(model, output, operation), activation


def watching(model: Any, output: str | None, layer: str) -> Function:
    """Make the model's own function; it gives the output of a layer, too, as a pair."""
    import keras

    operation = _find(model, layer)
    own = _uncompiled(model, output)

    def compute(arrays: dict[str, Any]) -> Any:
        seen: list[Any] = []
        kept = operation.call

        def call(*inputs: Any, **settings: Any) -> Any:
            seen.append(kept(*inputs, **settings))
            return seen[-1]

        operation.call = call
        try:
            result = own(arrays)
        finally:
            operation.call = kept
        first = keras.tree.flatten(seen[0])[0]
        return result, keras.ops.cast(first, "float32")

    return _compiled(compute)


def _find(model: Any, layer: str) -> Any:
    """Find a layer, or an operation between layers, by its path such as `encoder/hidden`."""
    import keras

    for name in layer.split("/"):
        parts = model.layers if isinstance(model, keras.Sequential) else model.operations
        model = next(each for each in parts if each.name == name)
    return model


def last_operation(model: Any, output: str | None = None) -> Any:
    """Find the layer that gives the output its last change of value."""
    import keras

    if isinstance(model, keras.Sequential):
        for layer in reversed(model.layers):
            if type(layer).__name__ not in _TRANSPARENT:
                return last_operation(layer) if isinstance(layer, keras.Model) else layer
    tensor = _choose(model.output, output, model)
    while True:
        operation, before = origin(tensor)
        if isinstance(operation, keras.Model):
            return last_operation(operation)
        if type(operation).__name__ not in _TRANSPARENT:
            return operation
        tensor = before


def activation_of(operation: Any) -> str | None:
    """Name the activation of a layer; None for one that has none."""
    kind = type(operation).__name__
    if kind in {"Sigmoid", "Softmax"}:
        return kind.lower()
    if not hasattr(operation, "activation"):
        return None
    return getattr(operation.activation, "__name__", "linear")


def _function(model: Any, output: str | None) -> Function:
    return _compiled(_uncompiled(model, output))


def _uncompiled(model: Any, output: str | None) -> Function:
    import keras

    def compute(arrays: dict[str, Any]) -> Any:
        result = model(_arrange(model, arrays), training=False)
        return keras.ops.cast(_choose(result, output, model), "float32")

    return compute


def _compiled(compute: Function) -> Function:
    import tensorflow as tf

    traced = tf.function(compute)

    def call(arrays: dict[str, Any]) -> Any:
        return traced({key: tf.convert_to_tensor(value) for key, value in arrays.items()})

    return call


def _stripped(model: Any, output: str | None, operation: Any) -> Function:
    """Compute with the last activation replaced by nothing, and put it back.

    A function of TensorFlow keeps the model as it was when first called.
    """
    compute = _function(model, output)
    name = "activation" if hasattr(operation, "activation") else "call"
    kept = getattr(operation, name)

    def call(arrays: dict[str, Any]) -> Any:
        setattr(operation, name, _unchanged)
        try:
            return compute(arrays)
        finally:
            setattr(operation, name, kept)

    return call


def _unchanged(values: Any, **_: Any) -> Any:
    return values


def _arrange(model: Any, arrays: dict[str, Any]) -> Any:
    """Give the arrays the structure and types that the model's inputs have."""
    import keras

    if isinstance(model, keras.Sequential):
        (values,) = arrays.values()
        dtype = model.inputs[0].dtype if model.inputs else None
        return _fit(values, dtype, None if not model.inputs else len(model.inputs[0].shape))
    return keras.tree.map_structure(
        lambda tensor: _fit(arrays[tensor.name], tensor.dtype, len(tensor.shape)), model.input
    )


def _fit(values: Any, dtype: str | None, rank: int | None) -> Any:
    import keras

    if rank == 1:
        values = values[:, 0]
    if dtype in (None, "string"):
        return values
    return keras.ops.cast(values, dtype)


def _choose(outputs: Any, output: str | None, model: Any) -> Any:
    """Pick the chosen one of several outputs."""
    if isinstance(outputs, dict):
        named = outputs
    elif isinstance(outputs, (list, tuple)):
        named = dict(zip(model.output_names, outputs, strict=True))
    else:
        return outputs
    if len(named) == 1:
        return next(iter(named.values()))
    if output not in named:
        listed = ", ".join(f"'{name}'" for name in named)
        raise ModelError(
            f"The model has {len(named)} outputs: {listed}.",
            "One of them must be the score.",
            "Choose the output to use.",
        )
    return named[output]
