"""How fast hetcal is, compared with other tools and with physical limits."""

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from hetcal.arrays import Floats, Ints
from hetcal.benchmarks import speed_jobs
from hetcal.benchmarks.speed_jobs import HISTOGRAM_BINS, Calibrated, Rows, make_rows
from hetcal.errors import HetcalError
from hetcal.metrics.ranking import rank_statistics

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


@dataclass(frozen=True)
class Measured:
    """One job, as hetcal and as a rival does it on the same rows."""

    name: str  # "fit" for calibrators that give other results
    rows: int
    compiled: bool  # whether kernels were compiled
    seconds: float
    rival: str
    rival_seconds: float
    ratio: float  # time of the rival over ours
    limit_ratio: float  # our time over the limit
    limit: str  # "stream": adding up all features once; "sort": sorting the scores once
    difference: float | None  # the largest of any result, where they should be the same
    memory: int  # peak of the process in bytes, including the rows
    remark: str  # how the rival was timed, where that was not as usual


REPLICATES = 1000
DRAWS = 20


def measure_speed(sizes: Sequence[int], *, compiled: bool = False) -> Iterator[Measured]:
    """Yield the jobs at each number of rows, with compiled kernels or with NumPy alone."""
    if compiled and find_spec("numba") is None:
        raise HetcalError(
            "Compiled kernels cannot be measured: numba is not installed.",
            "The option --compiled needs numba.",
            "Install hetcal[compiled], or leave the option out.",
        )
    with _kernels(compiled), threadpool_limits(1):  # one thread, for rivals as well
        if compiled:
            speed_jobs.warm_up()
        for size in sizes:
            yield from _SpeedTest(make_rows(size), compiled).lines()


@contextmanager
def _kernels(compiled: bool) -> Iterator[None]:
    """Switch compiled kernels on or off for a while."""
    name = "HETCAL_COMPILED"
    before = os.environ.get(name)
    os.environ[name] = str(int(compiled))
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


class _SpeedTest:
    """All jobs on the same rows."""

    def __init__(self, rows: Rows, compiled: bool) -> None:
        self.rows, self.compiled = rows, compiled
        self.limits = {
            "stream": timed(lambda: rows.X.sum()).seconds,
            "sort": timed(lambda: np.sort(rows.scores)).seconds,
        }
        self.their_tree = _rival(lambda: speed_jobs.sklearn_tree(rows))
        reach = self.done.sketch.grid.reach
        edges = np.linspace(-reach, reach, HISTOGRAM_BINS + 1)
        self.recomputed = _rival(
            lambda: speed_jobs.sklearn_recompute(rows, self.their_tree.result, edges)
        )

    @cached_property
    def done(self) -> Calibrated:
        """The rows, calibrated by hetcal."""
        return speed_jobs.calibrate(self.rows)

    @cached_property
    def their_leaf(self) -> Ints:
        """The leaf of each row in scikit-learn's tree, numbered from left to right."""
        return np.unique(self.their_tree.result.apply(self.rows.X), return_inverse=True)[1] + 1

    def lines(self) -> Iterator[Measured]:
        """Do all jobs, one after the other."""
        yield self.whole_job()
        yield self.auc()
        yield self.slider()
        yield self.interval()
        yield self.apply()
        yield self.tree()
        yield from self.score_trees()
        yield from self.others()

    def whole_job(self) -> Measured:
        """Measure tree, routing, maps, measures before and after, and histograms."""
        ours = timed(lambda: speed_jobs.whole_job(self.rows))
        tree, rest = self.their_tree, self.recomputed
        theirs = Timed(tree.seconds + rest.seconds, min(tree.runs, rest.runs), 0, None)
        difference = ours.result.difference(rest.result)
        return self._line("whole-job", ours, "scikit-learn loop", theirs, difference)

    def auc(self) -> Measured:
        """Measure exact AUC and average precision; hetcal also gives the variance."""
        y, scores = self.rows.y, self.rows.scores
        ours = timed(lambda: rank_statistics(y, scores))
        theirs = _rival(lambda: speed_jobs.sklearn_ranks(y, scores))
        pair = ours.result.auc, ours.result.average_precision
        difference = float(np.max(np.abs(np.subtract(pair, theirs.result))))
        return self._line("auc", ours, "roc_auc, average_precision", theirs, difference, "sort")

    def slider(self) -> Measured:
        """Measure all that follows a moved control, from the sketch of the first pass."""
        sketch = self.done.sketch
        cells = sketch.cells()
        speed_jobs.slide(cells, sketch)  # what the raw scores say is cached
        ours = timed(lambda: speed_jobs.slide(cells, sketch))
        difference = ours.result[0].difference(self.recomputed.result)
        rival = "scikit-learn loop, no tree"
        return self._line("slider", ours, rival, self.recomputed, difference, "sort")

    def interval(self) -> Measured:
        """Measure the bootstrap of the lift; the difference is that of the standard errors."""
        ours = timed(lambda: speed_jobs.interval(self.done.sketch, REPLICATES))
        few = timed(
            lambda: speed_jobs.sklearn_bootstrap(self.rows, self.their_leaf, DRAWS), repeats=1
        )
        theirs = Timed(few.seconds * REPLICATES / DRAWS, 1, 0, few.result)
        difference = abs(ours.result.se - few.result)
        remark = f"from {DRAWS} of {REPLICATES:,} draws"
        return self._line("interval", ours, "naive bootstrap", theirs, difference, "sort", remark)

    def apply(self) -> Measured:
        """Measure scoring: from features and score to a calibrated probability."""
        rows, tree = self.rows, self.their_tree.result
        models = speed_jobs.sklearn_maps(rows.scores.astype(np.float64), rows.y, tree.apply(rows.X))

        def their_work() -> Floats:
            return speed_jobs.sklearn_predict(
                models, rows.scores.astype(np.float64), tree.apply(rows.X)
            )

        ours = timed(lambda: speed_jobs.apply(rows, self.done))
        theirs = _rival(their_work)
        difference = float(np.max(np.abs(ours.result - theirs.result)))
        return self._line("apply", ours, "apply, predict_proba", theirs, difference)

    def tree(self) -> Measured:
        """Measure the tree; the difference is the share of rows in another leaf."""
        ours = timed(lambda: speed_jobs.grow(self.rows))
        leaf = ours.result.apply(self.rows.frame)
        difference = float(np.mean(leaf != self.their_leaf))
        return self._line("tree", ours, "DecisionTreeClassifier", self.their_tree, difference)

    def score_trees(self) -> Iterator[Measured]:
        """Measure the trees that read scores, whose results no other tool gives."""
        for name, kind in speed_jobs.SCORE_TREES.items():
            ours = timed(partial(speed_jobs.grow_on_scores, self.rows, kind))
            yield self._line(name, ours, "DecisionTreeClassifier", self.their_tree, None)

    def others(self) -> Iterator[Measured]:
        """Measure fit and predict against calibrators that give other results."""
        ours: Timed[Floats] | None = None
        for name, work in speed_jobs.other_calibrators(len(self.rows.y)):
            ours = ours or timed(lambda: speed_jobs.probabilities(self.rows))
            theirs = _rival(partial(work, self.rows))
            yield self._line("fit", ours, name, theirs, None)

    def _line(
        self,
        name: str,
        ours: Timed[Any],
        rival: str,
        theirs: Timed[Any],
        difference: float | None,
        limit: str = "stream",
        remark: str = "",
    ) -> Measured:
        return Measured(
            name=name,
            rows=len(self.rows.y),
            compiled=self.compiled,
            seconds=ours.seconds,
            rival=rival,
            rival_seconds=theirs.seconds,
            ratio=theirs.seconds / ours.seconds,
            limit_ratio=ours.seconds / self.limits[limit],
            limit=limit,
            difference=difference,
            memory=ours.memory,
            remark=remark or ("once" if theirs.runs == 1 else ""),
        )


def _rival(work: Callable[[], Any]) -> Timed[Any]:
    return timed(work, patience=PATIENCE)
