"""Whether to compile loops with numba, and how."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any


def use_compiled() -> bool:
    """Tell whether kernels can be compiled: numba is installed and HETCAL_COMPILED is not 0."""
    return os.environ.get("HETCAL_COMPILED") != "0" and find_spec("numba") is not None


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop written in plain Python; machine code is kept on disk between runs."""
    import numba

    try:
        return numba.njit(cache=True)(kernel)
    except RuntimeError:  # nowhere to keep the machine code: no directory can be written
        return numba.njit(kernel)
