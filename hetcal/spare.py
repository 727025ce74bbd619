"""A process that waits, ready, for a request that has not been made yet."""

import os
from collections.abc import Callable
from threading import Lock, Timer
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Spare(Generic[Made]):
    """At most one process that waits; it is given away once, and the next one begins.

    Parameters
    ----------
    begin : callable
        Begins a process; returns None where there is no room for one.
    ended : callable
        Whether a process has ended by itself.
    end : callable
        Ends a process and tidies up after it.
    """

    def __init__(
        self,
        begin: Callable[[], Made | None],
        ended: Callable[[Made], bool],
        end: Callable[[Made], object],
    ) -> None:
        self._begin, self._ended, self._end = begin, ended, end
        self._lock = Lock()
        self._waiting: Made | None = None
        self._keeper = 0  # the app, by its process: one that was forked from it takes nothing
        self._rest = 0.0

    def keep(self, rest: float = 0.0) -> None:
        """Let one wait from now on; after `take`, `prepare` begins the next `rest` seconds later.

        Until then somebody waits for what the one before does, and needs the processors.
        """
        self._keeper, self._rest = os.getpid(), rest
        self._fill()

    def close(self) -> None:
        """End the one that waits, and begin no other."""
        with self._lock:
            self._keeper = 0
            left, self._waiting = self._waiting, None
        if left is not None:
            self._end(left)

    def take(self) -> Made | None:
        """Give it away; None where there is none, or it has died."""
        if self._keeper != os.getpid():
            return None
        with self._lock:
            taken, self._waiting = self._waiting, None
        if taken is not None and self._ended(taken):
            self._end(taken)
            return None
        return taken

    def prepare(self) -> None:
        """Begin the next one, after the rest."""
        if not self._rest:
            self._fill()
            return
        later = Timer(self._rest, self._fill)
        later.daemon = True
        later.start()

    def _fill(self) -> None:
        with self._lock:
            if self._keeper != os.getpid():
                return
            if self._waiting is None or self._ended(self._waiting):
                self._waiting = self._begin()
