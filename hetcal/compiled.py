"""Whether and how loops are compiled, and a fast logistic function."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from hetcal.arrays import Floats


def use_compiled() -> bool:
    """Return whether kernels can be compiled: numba is installed and HETCAL_COMPILED is not 0."""
    return os.environ.get("HETCAL_COMPILED") != "0" and find_spec("numba") is not None


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop written in plain Python; machine code is kept on disk between runs."""
    import numba

    try:
        return numba.njit(cache=True)(kernel)
    except RuntimeError:  # nowhere to keep the machine code: no directory can be written
        return numba.njit(kernel)


BLOCK = 1 << 14  # numbers at a time, so that they stay in the cache


def sigmoid(logits: Floats, out: Floats | None = None) -> Floats:
    """Return 1 / (1 + exp(-logit)) of each logit, in `out` if that is given.

    This is faster than scipy's `expit`, because numpy's exponential is vectorised. Below -709,
    where `expit` gives numbers such as 1e-308, the result is 0.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    probability = np.empty(len(logits)) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(logits), BLOCK):
            part = probability[start : start + BLOCK]
            np.negative(logits[start : start + BLOCK], out=part)
            np.exp(part, out=part)
            part += 1.0
            np.reciprocal(part, out=part)
    return probability
