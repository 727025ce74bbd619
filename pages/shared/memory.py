"""Memory that was freed but that the process still holds."""

import ctypes
import sys
from collections.abc import Callable


def _trimming() -> Callable[[int], int] | None:
    """Find what gives freed memory back: only the C library of most Linux systems has it."""
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


def give_back_freed_memory() -> None:
    """Let the system have the memory that was freed, where it does not take it by itself.

    Arrays of up to 32 MB come from heaps, one per thread, which shrink only from their ends. A
    pass over millions of rows so leaves hundreds of megabytes that nobody uses.
    """
    trim = _trimming()
    if trim is not None:
        trim(0)
