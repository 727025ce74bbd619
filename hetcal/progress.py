"""Report the progress of long computations.

The receiver may raise an exception to stop the computation: nothing is changed before it is done.
"""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

Progress = Callable[[float, str], None]
"""Takes the share of the work that is done, from 0 to 1, and what comes next, in words."""
Found = TypeVar("Found")


class Keep(Protocol):
    """Takes the name of a part of some work and what does it; it may be known from before."""

    def __call__(self, name: str, find: Callable[[], Found]) -> Found:
        """Return what the part of this name gives."""


STEADY = 2.0  # seconds of work that an estimate of the time left needs,
MOVED = 0.1  # and the share of the work done in them


def silent(done: float, doing: str) -> None:
    """Report nothing."""


def anew(name: str, find: Callable[[], Found]) -> Found:
    """Find what no other work has kept."""
    return find()


def between(progress: Progress, start: float, end: float) -> Progress:
    """Return a progress of a part of the work, from `start` to `end` of the whole.

    Examples
    --------
    >>> seen = []
    >>> between(lambda done, doing: seen.append((done, doing)), 0.5, 1.0)(0.5, "Sorting")
    >>> seen
    [(0.75, 'Sorting')]
    """
    return lambda done, doing: progress(start + (end - start) * done, doing)


class TimeLeft:
    """Estimates how long work will still take, from how fast its share has risen.

    Loading and compiling before the first step do not count. A share that falls belongs to other
    work, which is timed anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start: tuple[float, float] | None = None
        self._latest = 0.0

    def after(self, done: float) -> str:
        """Say how long the rest will take; nothing while that is uncertain."""
        now = self._clock()
        if done < self._latest:
            self._start = None
        self._latest = done
        if done <= 0 or self._start is None:
            self._start = (now, done) if done > 0 else None
            return ""
        began, share = self._start
        if now - began < STEADY or done - share < MOVED or done >= 1:
            return ""
        left = (now - began) * (1 - done) / (done - share)
        return f"about {duration_in_words(max(left, 1.0))} left"


def duration_in_words(seconds: float) -> str:
    """Write a duration in seconds, or in minutes where it is long.

    Examples
    --------
    >>> duration_in_words(12.4), duration_in_words(150)
    ('12 s', '2 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
