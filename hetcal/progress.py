"""Tell how far a long pass over the rows has come.

Whoever is told may raise an exception to end the pass: nothing is changed before it is done.
"""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Takes the share of the work that is done, from 0 to 1, and what comes next, in words."""


def silent(done: float, doing: str) -> None:
    """Tell nobody."""


def between(progress: Progress, start: float, end: float) -> Progress:
    """Return what tells of a part of the work as a part of the whole.

    Examples
    --------
    >>> told = []
    >>> between(lambda done, doing: told.append((done, doing)), 0.5, 1.0)(0.5, "Sorting")
    >>> told
    [(0.75, 'Sorting')]
    """
    return lambda done, doing: progress(start + (end - start) * done, doing)
