"""What hetcal knows of the inside of Keras, all in one place: the next release may change it.

Keras has no public way from a tensor back to the layer that made it, and none to leave out
the libraries that it imports only where they are installed.
"""

import gc
import sys
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
