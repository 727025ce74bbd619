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
