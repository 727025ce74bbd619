"""What hetcal knows of the inside of Keras, all in one place: the next release may change it.

Keras has no public way from a tensor back to the layer that made it, none to leave out the
libraries that it imports only where they are installed, and none to build a model without memory
for its weights.
"""

import gc
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

# Layers whose weights are in a file once; SpectralNormalization, for one, saves some twice.
_COUNTED = re.compile(
    "Functional|Sequential|Dense|EinsumDense|Embedding|PReLU|Normalization"
    "|(Batch|Layer|Group|RMS)Normalization|(Separable|Depthwise)?Conv[123]D(Transpose)?"
    "|(LSTM|GRU|SimpleRNN)(Cell)?|Bidirectional|TimeDistributed|MultiHeadAttention"
)

_OPERATION_MODULES = ("numpy", "nn", "core", "image", "math", "linalg", "einops")


def import_keras() -> None:
    """Import Keras and TensorFlow in about 60 % of the usual time.

    Keras imports pandas and scikit-learn for data adapters and wrappers that are not used
    here, and does without them where they are missing. Collecting garbage while thousands of
    modules are loaded finds none.
    """
    absent = [name for name in ("pandas", "sklearn") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    gc.disable()
    try:
        import keras  # noqa: F401
        import tensorflow  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()
        for name in absent:
            del sys.modules[name]


def origin(tensor: Any) -> tuple[Any, int, Any]:
    """Return what made a tensor, which of its outputs it is, and the first tensor it took."""
    operation, node, place = tensor._keras_history
    taken = operation._inbound_nodes[node].input_tensors
    return operation, place, taken[0] if taken else None


def described_weights(path: Path) -> tuple[int, bool]:
    """Count the weights that the description in a model file asks for; they get no memory.

    Also returns whether the file must hold just these: every part of the model has made its
    weights, and is of a kind that Keras saves once.
    """
    import keras
    from keras.src.backend.common import global_state

    with keras.StatelessScope():
        try:
            model = _build(path)
            complete = all(map(_is_counted, model._flatten_layers()))
            # What was learnt beside a kernel (LoRA) is smaller than it, and saved as part of it.
            beside = [each.name.startswith("lora_") for each in model.weights]
            sizes = [prod(each.shape) for each in model.weights]
            kept = sum(size for size, own in zip(sizes, beside, strict=True) if not own)
            return max(kept, sum(sizes) - kept), complete
        finally:
            # Weights that were made in the scope would get their memory when it is left.
            global_state.set_global_attribute("uninitialized_variables", [])


def _is_counted(layer: Any) -> bool:
    beside = getattr(layer, "output_mode", "") == "tf_idf"  # numbers that are no weights
    known = not layer.weights or _COUNTED.fullmatch(type(layer).__name__) is not None
    return bool(layer.built and known and not beside)


def _build(path: Path) -> Any:
    import keras
    from keras.src.legacy.saving import saving_options, saving_utils
    from keras.src.saving.serialization_lib import SafeModeScope

    config = _described(path)
    if zipfile.is_zipfile(path):
        config.pop("compile_config", None)
        return keras.saving.deserialize_keras_object(config, safe_mode=True)
    with saving_options.keras_option_scope(use_legacy_config=True), SafeModeScope(True):
        return saving_utils.model_from_config(config)


def written_by(path: Path) -> str:
    """Return the version of Keras that wrote a model file; empty where the file does not say."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return archive_version(archive)
    import h5py

    with h5py.File(path, "r") as store:
        return store_version(store)


def archive_version(archive: zipfile.ZipFile) -> str:
    """Return the version of Keras that wrote a `.keras` file."""
    if "metadata.json" not in archive.namelist():
        return ""
    metadata = json.loads(archive.read("metadata.json"))
    return _text(metadata.get("keras_version") if isinstance(metadata, dict) else None)


def store_version(store: Any) -> str:
    """Return the version of Keras that wrote an open `.h5` file."""
    return _text(store.attrs.get("keras_version"))


def _text(version: object) -> str:
    version = version.decode("utf-8", "replace") if isinstance(version, bytes) else version
    return version[:20] if isinstance(version, str) else ""


def as_keras_3(path: Path) -> Path:
    """Write a model file of Keras 2 in the words of Keras 3, beside it; the weights stay."""
    return _rewritten(path, use_words_of_keras_3, forget_training)


def untrained(path: Path) -> Path:
    """Return a file of Keras 3 in which no inner model is compiled: if one is, another beside it.

    Keras would make the losses and metrics of inner models, whatever they are. In an `.h5` file it
    finds no operations, because it writes them there without their modules: they are added.
    """
    change = forget_training if zipfile.is_zipfile(path) else name_operations
    return _rewritten(path, change) if change(_described(path)["config"]) else path


def _described(path: Path) -> Any:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read("config.json"))
    import h5py

    with h5py.File(path, "r") as store:
        return json.loads(store.attrs["model_config"])


def name_operations(value: Any) -> bool:
    """Add the modules of operations, which lack a setting of every layer; return whether any."""
    changed = False
    if isinstance(value, dict) and "inbound_nodes" in value and "module" not in value:
        kind, config = str(value.get("class_name")), value["config"]
        if config.get("score_mode") == "dot":  # which Keras takes for a function here
            del config["score_mode"]
            changed = True
        places = [f"keras.src.ops.{name}" for name in _OPERATION_MODULES]
        found = [place for place in places if hasattr(import_module(place), kind)]
        if "trainable" not in config and found:
            value |= {"module": found[0], "registered_name": kind}
            changed = True
    return any([changed, *map(name_operations, _parts(value))])


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def forget_training(value: Any) -> bool:
    """Take out of a description how models were compiled; return whether any was."""
    found = False
    if isinstance(value, dict):
        found = "class_name" in value and value.pop("compile_config", None) is not None
    return any([found, *map(forget_training, _parts(value))])


def _rewritten(path: Path, *changes: Callable[[Any], object]) -> Path:
    """Write a model file with another description, beside it; the weights stay."""
    converted = path.with_name(f"converted_{path.name}")
    if not zipfile.is_zipfile(path):
        import h5py

        shutil.copyfile(path, converted)
        with h5py.File(converted, "r+") as store:
            store.attrs["model_config"] = _changed(store.attrs["model_config"], changes)
        return converted
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(converted, "w") as target:
        for name in archive.namelist():
            content = archive.read(name)
            target.writestr(name, _changed(content, changes) if name == "config.json" else content)
    return converted


def _changed(text: str | bytes, changes: Sequence[Callable[[Any], object]]) -> str:
    config = json.loads(text)
    for change in changes:
        change(config)
    return json.dumps(config)


# What Keras 2 also wrote down: settings that have one value or this usual one in Keras 3, and
# those without effect.
_ONLY_CHOICE = {
    **{"time_major": False, "ragged": False, "virtual_batch_size": None, "fused": None},
    **{"softmax_robust_masking": False, "causal": False, "score_mode": "dot", "groups": 1},
}
_NO_EFFECT = {"input_length", "batch_input_shape", "query_shape", "key_shape", "value_shape"}
_NO_EFFECT_IN = {
    "Discretization": {"trainable"},
    **{f"SpatialDropout{rank}D": {"trainable", "noise_shape"} for rank in (1, 2, 3)},
    **{
        f"{kind}Conv{rank}D": {
            *("groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint"),
        }
        for kind in ("Separable", "Depthwise")
        for rank in (1, 2)
    },
}
_MODULES = {
    f"{package}.src.engine.{kind}": f"keras.src.models.{kind}"
    for package in ("keras", "tf_keras")
    for kind in ("functional", "sequential")
}

# Keras 3 has another function of this name; these layers do what Keras 2 did.
_HARD_SIGMOID = {
    **{"module": "keras", "class_name": "Sequential", "registered_name": None},
    "config": {
        "name": "hard_sigmoid",
        "layers": [
            {"module": "keras.layers", "class_name": kind, "config": config}
            for kind, config in (
                ("Rescaling", {"name": "line", "scale": 0.2, "offset": 0.5}),
                ("ReLU", {"name": "ends", "max_value": 1.0}),
            )
        ],
    },
}

# Functions of TensorFlow that are an operation of Keras 3, by what they take beside a tensor.
_OF_TWO = {
    **{"math.truediv": "TrueDivide", "math.divide": "TrueDivide"},
    **{"__operators__.add": "Add", "math.add": "Add", "math.subtract": "Subtract"},
    **{"math.multiply": "Multiply", "math.pow": "Power"},
    **{"math.maximum": "Maximum", "math.minimum": "Minimum"},
    **{"math.greater": "Greater", "math.greater_equal": "GreaterEqual"},
    **{"math.less": "Less", "math.less_equal": "LessEqual"},
}
_OF_ONE = {
    **{"math.negative": "Negative", "math.abs": "Absolute", "math.square": "Square"},
    **{"math.sqrt": "Sqrt", "math.exp": "Exp", "math.log": "Log", "math.log1p": "Log1p"},
    "math.tanh": "Tanh",
}
_OF_NETWORKS = {"math.sigmoid": "Sigmoid", "nn.relu": "Relu", "nn.softmax": "Softmax"}
_ALONG_AXIS = {
    **{"math.reduce_mean": "Mean", "math.reduce_sum": "Sum"},
    **{"math.reduce_max": "Max", "math.reduce_min": "Min"},
    **{"expand_dims": "ExpandDims", "compat.v1.squeeze": "Squeeze"},
}
_OF_LISTS = {"concat": "Concatenate", "stack": "Stack"}
# Those that need all that they take, by its name in Keras: empty where the call takes it.
_OF_ALL: dict[str, tuple[str, str, dict[str, str]]] = {
    "where": ("Where", "numpy", {"x": "", "y": ""}),
    "reshape": ("Reshape", "numpy", {"shape": "newshape"}),
    "compat.v1.transpose": ("Transpose", "numpy", {"perm": "axes"}),
    "compat.v1.gather": ("Take", "numpy", {"indices": "", "axis": "axis"}),
    "clip_by_value": ("Clip", "numpy", {"clip_value_min": "x_min", "clip_value_max": "x_max"}),
    "cast": ("Cast", "core", {"dtype": "dtype"}),
}
_FUNCTIONS = {
    **{name: (kind, "numpy", {"y"}) for name, kind in _OF_TWO.items()},
    **{name: (kind, "numpy", set()) for name, kind in _OF_ONE.items()},
    **{name: (kind, "nn", set()) for name, kind in _OF_NETWORKS.items()},
    **{name: (kind, "numpy", {"axis", "keepdims"}) for name, kind in _ALONG_AXIS.items()},
    **{name: (kind, "numpy", {"axis"}) for name, kind in _OF_LISTS.items()},
    "__operators__.getitem": ("GetItem", "numpy", {"slice_spec"}),
    **{name: (kind, module, set(names)) for name, (kind, module, names) in _OF_ALL.items()},
}
_WITHOUT_EFFECT = (("validate_indices", None), ("batch_dims", 0), ("conjugate", False))


def use_words_of_keras_3(value: Any) -> None:
    """Change the description of a model of Keras 2 to mean the same in Keras 3.

    Keras 2 called the shape of an input `batch_input_shape`, listed the one axis of a batch
    normalisation, wrote settings that have only one value now, and named the tensors that a
    layer takes in another way.
    """
    if isinstance(value, dict):
        config = value.get("config")
        if isinstance(config, dict):
            _change_settings(str(value.get("class_name")), config)
            _replace_hard_sigmoid(config)
            if "output_layers" in config:
                _change_nodes(config)
        if value.get("class_name") == "MultiHeadAttention":
            value.pop("build_config", None)  # it needs two shapes now, which the call gives
        if value.get("module") in _MODULES:
            value["module"] = _MODULES[value["module"]]
    for part in _parts(value):
        use_words_of_keras_3(part)


def _change_settings(kind: str, config: dict[str, Any]) -> None:
    if kind == "InputLayer" and "batch_input_shape" in config:
        config["batch_shape"] = config["batch_input_shape"]
    axis, policy = config.get("axis"), config.get("dtype")
    if kind == "BatchNormalization" and isinstance(axis, list):
        (config["axis"],) = axis
    if isinstance(policy, dict) and policy.get("class_name") == "Policy":
        config["dtype"] = policy["config"]["name"]
    for part in (config.get("layer"), config.get("backward_layer"), config.get("cell")):
        if isinstance(part, dict):
            part.setdefault("module", "keras.layers")  # it was left out until Keras 2.12
    gone = _NO_EFFECT | _NO_EFFECT_IN.get(kind, set())
    gone |= {key for key, only in _ONLY_CHOICE.items() if config.get(key) == only}
    for key in gone & set(config):
        del config[key]


def _replace_hard_sigmoid(config: dict[str, Any]) -> None:
    for key, value in config.items():
        function = value.get("config") if isinstance(value, dict) else value
        if key.endswith("activation") and function == "hard_sigmoid":
            config[key] = _HARD_SIGMOID


def _change_nodes(config: dict[str, Any]) -> None:
    """Name the tensors that layers take as Keras 3 does: `["hidden", 0, 0, {}]` is older.

    Keras 2 counted the calls of a model from 1 where it began with an input, as if its own
    building had been a call; Keras 3 does so only where it names an output.
    """
    first = {layer["name"]: int(_begins_with_input(layer)) for layer in config["layers"]}
    inputs = [each["config"] for each in config["layers"] if each["class_name"] == "InputLayer"]
    fractions = all("float" in str(each.get("dtype")) for each in inputs)
    for layer in config["layers"]:
        nodes = layer["inbound_nodes"]
        if layer["class_name"] in {"TFOpLambda", "SlicingOpLambda"}:
            if fractions:  # of whole numbers TensorFlow and Keras make other means and ratios
                _change_function(layer, first)
            continue
        if all(isinstance(node, list) for node in nodes):
            layer["inbound_nodes"] = [_new_node(node, first) for node in nodes]
    sequential = {each["name"] for each in config["layers"] if each["class_name"] == "Sequential"}
    for end in config["output_layers"]:
        if isinstance(end, list) and end[0] in sequential:
            end[1] -= first[end[0]]


def _change_function(layer: dict[str, Any], first: dict[str, int]) -> None:
    """Put an operation of Keras 3 in the place of a function of TensorFlow that is the same."""
    function, nodes = layer["config"].get("function"), layer["inbound_nodes"]
    kind, module, known = _FUNCTIONS.get(function, (None, "", set()))
    if kind is None or len(nodes) != 1:
        return
    inputs = [each for each in nodes[0] if isinstance(each, list)] or nodes
    told = ((key, each) for key, each in inputs[-1][3].items() if key != "name")
    given = dict(each for each in told if each not in _WITHOUT_EFFECT)
    several = len(inputs) > 1 and function not in _OF_LISTS
    if several or set(given) - known or not _is_same(function, given):
        return
    # A constant comes as ["_CONSTANT_VALUE", -1, 1.0, {}].
    taken = [each[2] if each[1] == -1 else _new_tensors(each[:3], first) for each in inputs]
    args = [taken] if function in _OF_LISTS else taken
    args += [_new_tensors(given.pop(key), first) for key in ("x", "y", "indices") if key in given]
    args += [_new_slices(given.pop(key)) for key in ("slice_spec",) if key in given]
    names = _OF_ALL[function][2] if function in _OF_ALL else {}
    layer.pop("build_config", None)
    layer |= {"class_name": kind, "registered_name": kind, "module": f"keras.src.ops.{module}"}
    layer["config"] = {"name": layer["name"]}
    layer["config"] |= {names.get(key, key): each for key, each in given.items()}
    layer["inbound_nodes"] = [{"args": args, "kwargs": {}}]


def _is_same(function: str, given: dict[str, Any]) -> bool:
    """Whether Keras 3 does the same with what a function is given beside a tensor."""
    if function in _OF_ALL and set(given) != set(_OF_ALL[function][2]):
        return False
    values = list(given.values())
    if function == "compat.v1.gather" and given["axis"] is None:  # which Keras takes flat
        return False
    if function == "cast":  # of whole numbers TensorFlow and Keras make other means and ratios
        return "float" in str(values)
    if function == "where":
        return all(isinstance(each, float) or _is_tensor(each) for each in values)
    if function in _OF_ALL:
        return not any(isinstance(each, str | list) for part in values for each in _listed(part))
    return all(map(_is_plain, given.get("slice_spec", [])))


def _is_tensor(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_plain(part: object) -> bool:
    """Whether a part of an index is a number, a new axis or a slice, not a tensor."""
    slices = isinstance(part, dict) and set(part) == {"start", "stop", "step"}
    return slices or isinstance(part, int | None)


def _new_slices(parts: list[Any]) -> list[Any]:
    slices = [{"class_name": "__slice__", "config": each} for each in parts]
    return [new if isinstance(new["config"], dict) else new["config"] for new in slices]


def _begins_with_input(layer: dict[str, Any]) -> bool:
    if layer["class_name"] not in {"Functional", "Model", "Sequential"}:
        return False
    return layer["config"]["layers"][0]["class_name"] == "InputLayer"


def _new_node(node: list[Any], first: dict[str, int]) -> dict[str, Any]:
    inputs = [each for each in node if isinstance(each, list)] or [node]
    named = inputs[-1][3] if len(inputs[-1]) > 3 else {}
    taken = [_new_tensors(each[:3], first) for each in inputs]
    given = {key: _new_tensors(each, first) for key, each in named.items() if each is not None}
    return {"args": [taken if len(taken) > 1 else taken[0]], "kwargs": given}


def _new_tensors(value: Any, first: dict[str, int]) -> Any:
    if not isinstance(value, list):
        return value
    if _is_tensor(value) and value[0] in first:
        history = [value[0], value[1] - first[value[0]], value[2]]
        # Keras puts the tensor itself in its place, so its shape does not matter.
        told = {"shape": [None, None], "dtype": "float32", "keras_history": history}
        return {"class_name": "__keras_tensor__", "config": told}
    return [_new_tensors(each, first) for each in value]
