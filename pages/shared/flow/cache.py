"""Results are computed once for equal inputs, and kept for one user."""

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
from pages.shared.memory import give_back_freed_memory

HASHES: dict[Any, Callable[[Any], Any]] = dict.fromkeys(
    (*(Choice, Partition, Run, Scores, Source, Table),),
    attrgetter("digest"),
)
_kept: list[Any] = []


def once(function: Callable[..., Any]) -> Any:
    """Keep the latest results of a function, within one session and keyed on content.

    Everything hashed here carries a digest of its content; frames and arrays would be
    hashed by a sample of their cells.
    """

    @wraps(function)
    def lean(*given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        give_back_freed_memory()
        return result

    keep = st.cache_resource(scope="session", max_entries=8, show_spinner=False, hash_funcs=HASHES)
    _kept.append(keep(lean))
    return _kept[-1]


def forget_results() -> None:
    """Drop what was kept in this session: a large table must not wait next to the next one."""
    for each in _kept:
        each.clear()
