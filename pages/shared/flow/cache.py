"""Results are computed once for equal inputs, and kept for one session."""

import ctypes
import sys
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any

import streamlit as st

from hetcal.data.reading import Source
from hetcal.data.scores import Scores
from hetcal.data.table import Table
from hetcal.partitions.partition import Partition
from hetcal.runs.run import Run
from hetcal.schemes.choice import Choice

HASHED = Choice, Partition, Run, Scores, Source, Table
HASHES: dict[Any, Callable[[Any], Any]] = dict.fromkeys(HASHED, attrgetter("digest"))
_caches: list[Any] = []


def cached(function: Callable[..., Any]) -> Any:
    """Keep the latest results of a function, within one session and keyed on content.

    Everything hashed here carries a digest of its content; Streamlit would hash frames and arrays
    by a sample of their cells.
    """

    @wraps(function)
    def computed(*given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        release_freed_memory()
        return result

    keep = st.cache_resource(scope="session", max_entries=8, show_spinner=False, hash_funcs=HASHES)
    _caches.append(keep(computed))
    return _caches[-1]


def forget_results(*kept: Any) -> None:
    """Drop what was kept in this session, but for these functions' results.

    Two large tables may not fit into memory.
    """
    for each in _caches:
        if each not in kept:
            each.clear()


def release_freed_memory() -> None:
    """Return freed memory to the system, which only the C library of most Linux systems can.

    Arrays of up to 32 MB come from heaps, one per thread, which shrink only from their ends. After
    a pass over millions of rows they hold hundreds of megabytes that are not in use.
    """
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
