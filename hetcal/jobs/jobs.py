"""A queue of jobs: a few run at a time, equal ones run once, each can be watched and cancelled."""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal

from hetcal.errors import HetcalError, JobError
from hetcal.jobs.process import Cancelled
from hetcal.progress import Progress, TimeLeft

State = Literal["queued", "running", "done", "failed", "cancelled"]
Work = Callable[[Progress], Any]
MOST = 2  # jobs that run at a time, unless said otherwise
REMEMBERED = 50  # jobs that have ended


@dataclass(eq=False)
class Job:
    """Work that somebody asked for.

    Parameters
    ----------
    key : str
        Equal for equal work.
    name : str
        What it is for, in words.
    owner : str
        The run that it belongs to.
    work : callable
        Takes a `Progress` and returns the result. If it has a method `stop`, that ends it early;
        else its progress raises `Cancelled`.
    user : str
        Who asked for it.
    """

    key: str
    name: str
    owner: str
    work: Work
    user: str = ""
    state: State = "queued"
    done: float = 0.0
    doing: str = ""
    left: str = ""  # how long it will still take, in words; empty while that is uncertain
    error: HetcalError | None = None
    result: Any = None
    cancelled: bool = False
    _clock: TimeLeft = field(default_factory=TimeLeft)
    _future: Future[None] = field(default_factory=Future)

    @property
    def open(self) -> bool:
        """Whether it has not ended yet."""
        return self.state in ("queued", "running")

    def cancel(self) -> None:
        """End it as soon as may be; a job that waits never begins."""
        self.cancelled = True
        stop = getattr(self.work, "stop", None)
        if stop is not None:
            stop()
        if self._future.cancel():
            self._end("cancelled")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, at most so long."""
        wait([self._future], seconds)

    def _note(self, done: float, doing: str) -> None:
        if self.cancelled and not hasattr(self.work, "stop"):
            raise Cancelled
        self.done, self.doing, self.left = done, doing, self._clock.after(done)

    def _run(self) -> None:
        self.state = "running"
        try:
            self.result = self.work(self._note)
            self._end("done")
        except Cancelled:
            self._end("cancelled")
        except HetcalError as error:
            self.error = error
            self._end("cancelled" if self.cancelled else "failed")
        except BaseException:
            logging.getLogger(__name__).exception("The job '%s' failed", self.name)
            self.error = JobError(
                f"{self.name} failed: hetcal made an error that it did not expect.",
                "What is wrong is written to the terminal in which hetcal runs.",
                "Try again; if it happens again, please report it with that text.",
            )
            self._end("failed")

    def _end(self, state: State) -> None:
        """Let go of the work, which may hold the rows of a table."""
        self.state, self.work = state, _nothing


def _nothing(progress: Progress) -> None:
    """Take the place of work that has ended."""


class Jobs:
    """Jobs of all users of one server, in the order in which they were asked for.

    At most `most` run at a time, and at most `each` of one user: later ones of others come first.
    """

    def __init__(self, most: int = MOST, each: int | None = None) -> None:
        self._each = most if each is None else each
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="hetcal-job")
        self._jobs: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._at_work: list[Job] = []
        self._lock = Lock()

    def ask(self, key: str, name: str, owner: str, work: Work, user: str = "") -> Job:
        """Return the job with this key that has not failed, or begin one."""
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and (known.open or known.state == "done"):
                return known
            job = self._jobs[key] = Job(key, name, owner, work, user or owner)
            self._waiting.append(job)
            self._pool.submit(self._work)
            ended = [each for each in self._jobs.values() if not each.open]
            for each in ended[:-REMEMBERED]:
                del self._jobs[each.key]
            return job

    def _work(self) -> None:
        """Run one job after the other until none is left that may begin."""
        while (job := self._next()) is not None:
            job._run()
            with self._lock:
                self._at_work.remove(job)
            job._future.set_result(None)

    def _next(self) -> Job | None:
        """Take the first job that waits and whose user has room; leave out what was cancelled."""
        with self._lock:
            self._waiting = [each for each in self._waiting if not each._future.cancelled()]
            users = Counter(each.user for each in self._at_work)
            for job in self._waiting:
                if users[job.user] < self._each and job._future.set_running_or_notify_cancel():
                    self._waiting.remove(job)
                    self._at_work.append(job)
                    return job
        return None

    def find(self, key: str) -> Job | None:
        """Return the latest job with this key."""
        return self._jobs.get(key)

    def forget(self, key: str) -> None:
        """Drop a job, with its result; one that has not ended is cancelled."""
        with self._lock:
            job = self._jobs.pop(key, None)
        if job is not None and job.open:
            job.cancel()

    def of(self, owner: str) -> list[Job]:
        """Return the jobs of a run, in the order in which they were asked for."""
        return [each for each in list(self._jobs.values()) if each.owner == owner]

    def before(self, job: Job) -> list[Job]:
        """Return the jobs that run or wait before one that waits; none before any other."""
        if job.state != "queued":
            return []
        asked = [each for each in list(self._jobs.values()) if each.open]
        return asked[: asked.index(job)] if job in asked else []

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        for each in list(self._jobs.values()):
            if each.open:
                each.cancel()
        self._pool.shutdown()
