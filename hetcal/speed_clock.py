"""Time and memory of a piece of work."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

REPEATS = 3
PATIENCE = 20.0  # seconds; longer work is done once

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """Work that was timed: shortest time and number of runs, peak memory and result of the last.

    The shortest time is the least disturbed one.
    """

    seconds: float
    runs: int
    memory: int
    result: Result


def timed(
    work: Callable[[], Result], *, repeats: int = REPEATS, patience: float = float("inf")
) -> Timed[Result]:
    """Time several runs of the work; only one if it takes longer than `patience` seconds."""
    shortest, runs = float("inf"), 0
    while True:
        _reset_peak()
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
        runs += 1
        if runs == repeats or shortest > patience:
            return Timed(shortest, runs, _peak(), result)
        del result  # not to be held beside the next one


def _reset_peak() -> None:
    """Let the peak start at what is held now, where the system can do so."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # then the peak is that of the whole process
        return


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    held = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(held.split()[1]) * 1024
