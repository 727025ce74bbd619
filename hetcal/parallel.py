"""Run parts of a long computation in parallel threads, or while the caller does other work."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Generic, TypeVar

from joblib import cpu_count

from hetcal.progress import Progress, silent

PAUSE = 0.1  # seconds between two reports

Result = TypeVar("Result")
Report = Callable[[float], None]
"""Takes the share of a part that is done, from 0 to 1; raises `EndedError` to stop the part."""


class EndedError(Exception):
    """Stops a part whose result is no longer needed."""


def side_by_side(
    parts: Sequence[Callable[[Report], Result]], doing: str, progress: Progress = silent
) -> list[Result]:
    """Run all parts, and return their results in order.

    Progress is reported in the thread of the caller. An exception of `progress` or of one part
    stops the others the next time that they report.

    Parameters
    ----------
    parts : sequence of callable
        Each takes a `Report`, which it calls from time to time.
    doing : str
        The work in words.
    progress : callable, optional
        Receives the mean share of the parts several times a second.
    """
    done, ended = [0.0] * len(parts), Event()

    def do(number: int) -> Result:
        def report(share: float) -> None:
            if ended.is_set():
                raise EndedError
            done[number] = share

        report(0.0)
        result = parts[number](report)
        done[number] = 1.0
        return result

    progress(0.0, doing)
    with ThreadPoolExecutor(max(1, min(len(parts), cpu_count()))) as pool:
        futures = [pool.submit(do, number) for number in range(len(parts))]
        try:
            _watch(futures, lambda: progress(sum(done) / len(parts), doing))
        finally:
            ended.set()
    return [each.result() for each in futures]


def _watch(futures: list[Future[Result]], show: Callable[[], None]) -> None:
    """Report until all are done; raise what one raises."""
    waiting = set(futures)
    while waiting:
        finished, waiting = wait(waiting, PAUSE, FIRST_EXCEPTION)
        for each in finished:
            each.result()
        show()


class Task(Generic[Result]):
    """Work in a thread of `pool` while the caller does other work.

    `work` takes a `Progress`, which it calls now and then.
    """

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[Progress], Result]) -> None:
        self._latest: tuple[float, str] | None = None
        self._ended = Event()
        self._future = pool.submit(work, self._note)

    def result(self, progress: Progress = silent) -> Result:
        """Wait for the result, and report progress in the thread of the caller meanwhile."""
        while not self._future.done():
            wait([self._future], PAUSE)
            if self._latest is not None:
                progress(*self._latest)
        return self._future.result()

    @property
    def done(self) -> float:
        """The share of the work that is done, from 0 to 1."""
        if self._future.done():
            return 1.0
        return 0.0 if self._latest is None else self._latest[0]

    def stop(self) -> None:
        """End the work the next time that it reports; what has not begun is not done."""
        self._ended.set()
        self._future.cancel()

    def _note(self, done: float, doing: str) -> None:
        if self._ended.is_set():
            raise EndedError
        self._latest = done, doing
