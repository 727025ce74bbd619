"""Report the progress of long computations.

The receiver may raise an exception to stop the computation: nothing is changed before it is done.
"""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Takes the share of the work that is done, from 0 to 1, and what comes next, in words."""


def silent(done: float, doing: str) -> None:
    """Report nothing."""


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
