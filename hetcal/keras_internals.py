"""The private parts of Keras that hetcal uses, all of them.

A tensor of a functional model knows which operation gave it only in private: the public `output`
of an operation fails where it is used several times.
"""

from typing import Any


def origin(tensor: Any) -> tuple[Any, Any]:
    """Return the operation that gave a symbolic tensor, and the first tensor that went in.

    The latter is None for an input.
    """
    operation, node, _ = tensor._keras_history
    given = operation._inbound_nodes[node].input_tensors
    return operation, given[0] if given else None
