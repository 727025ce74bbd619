"""What hetcal knows of the inside of Keras, all in one place: the next release may change it.

Keras has no public way from a tensor back to the layer that made it, none to leave out the
libraries that it imports only where they are installed, and none to build a model without memory
for its weights.
"""

import gc
import json
import sys
import zipfile
from math import prod
from pathlib import Path
from typing import Any


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


def origin(tensor: Any) -> tuple[Any, Any]:
    """Return the layer or operation that made a tensor, and the first tensor it took."""
    operation, node, _ = tensor._keras_history
    taken = operation._inbound_nodes[node].input_tensors
    return operation, taken[0] if taken else None


def described_weights(path: Path) -> int:
    """Count the weights that the description in a model file asks for; they get no memory."""
    import keras
    from keras.src.backend.common import global_state

    with keras.StatelessScope():
        try:
            return sum(prod(each.shape) for each in _build(path).weights)
        finally:
            # Weights that were made in the scope would get their memory when it is left.
            global_state.set_global_attribute("uninitialized_variables", [])


def _build(path: Path) -> Any:
    import h5py
    import keras
    from keras.src.legacy.saving import saving_options, saving_utils
    from keras.src.saving.serialization_lib import SafeModeScope

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))
        config.pop("compile_config", None)
        return keras.saving.deserialize_keras_object(config, safe_mode=True)
    with h5py.File(path, "r") as store:
        config = json.loads(store.attrs["model_config"])
    with saving_options.keras_option_scope(use_legacy_config=True), SafeModeScope(True):
        return saving_utils.model_from_config(config)


def written_by(path: Path) -> str:
    """Return the version of Keras that wrote a model file; empty where the file does not say."""
    if not zipfile.is_zipfile(path):
        return ""
    with zipfile.ZipFile(path) as archive:
        if "metadata.json" not in archive.namelist():
            return ""
        metadata = json.loads(archive.read("metadata.json"))
    version = metadata.get("keras_version") if isinstance(metadata, dict) else None
    return version[:20] if isinstance(version, str) else ""


def as_keras_3(path: Path) -> Path:
    """Write a `.keras` file of Keras 2 in the words of Keras 3, beside it.

    Keras 2 called the shape of an input `batch_input_shape` and listed the one axis of a batch
    normalisation; both mean the same in Keras 3. The weights stay as they are.
    """
    converted = path.with_name(f"converted_{path.name}")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(converted, "w") as target:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "config.json":
                config = json.loads(content)
                _in_words_of_keras_3(config)
                content = json.dumps(config).encode()
            target.writestr(name, content)
    return converted


def _in_words_of_keras_3(value: Any) -> None:
    if isinstance(value, dict):
        config = value.get("config")
        if isinstance(config, dict):
            shape = config.pop("batch_input_shape", None)
            if value.get("class_name") == "InputLayer":
                config.pop("ragged", None)
                config["batch_shape"] = shape
            axis = config.get("axis")
            if value.get("class_name") == "BatchNormalization" and isinstance(axis, list):
                (config["axis"],) = axis
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _in_words_of_keras_3(each)
