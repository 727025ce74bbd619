"""The best cut of a node: exact, though it looks only where the best cut can be."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from hetcal.arrays import Floats
from hetcal.runs import Judge, Runs

SLACK = 1e-12  # share of the mass of a node: more than rounding can change a score


@dataclass(frozen=True)
class Cut:
    """A cut of a node.

    Parameters
    ----------
    score : float
        What the criterion says.
    feature : int
        Column that is cut.
    threshold : float
        Values up to the threshold go left; infinity parts the missing values from the rest.
    last, next : float
        Largest value that goes left, and smallest one that goes right.
    missing_left : bool
        Side of the missing values.
    left : array of float, channels x labels
        Sums of the rows that go left.
    """

    score: float
    feature: int
    threshold: float
    last: float
    next: float
    missing_left: bool
    left: Floats


Search = Generator[Runs, Runs, Cut | None]


def best_cuts(
    searches: Sequence[Search], single: Callable[[list[int], list[Runs]], list[Runs]]
) -> list[Cut | None]:
    """Find the best cuts of several nodes, and look at all rows they ask for together.

    `single` divides parts into rows, given the positions of the searches that ask.
    """
    cuts: list[Cut | None] = [None] * len(searches)
    asked = {i: next(search) for i, search in enumerate(searches)}
    while asked:
        answers = single(list(asked), list(asked.values()))
        asking = dict(zip(asked, answers, strict=True))
        asked = {}
        for i, rows in asking.items():
            try:
                asked[i] = searches[i].send(rows)
            except StopIteration as end:
                cuts[i] = end.value
    return cuts


def search_cut(judge: Judge, bins: Runs, look_into: Callable[[Runs], Runs]) -> Search:
    """Search the best cut; of equals the first column, missing right, the lowest threshold.

    The best cut between two runs tells which runs could hold a better one: bins, which
    `look_into` divides into parts, and then parts. Parts are what the search asks for; it is
    to be sent their rows. Values next to the best cut may turn out to be too close for a cut.
    Then the search starts again and aims at what it found: as that is an allowed cut, it stays.
    """
    slack = SLACK * judge.total.sum()
    apart = _best_apart(judge)
    between = _between(judge, bins)
    aim = max(_highest(between), -np.inf if apart is None else apart.score)
    for raising in (True, False):
        parts = look_into(_worth_a_look(judge, bins, between, aim - slack))
        inner = _between(judge, parts)
        if raising:
            aim = max(aim, _highest(inner))
        rows = yield _worth_a_look(judge, parts, inner, aim - slack)
        cut = _best(judge, rows, apart)
        if cut is not None and cut.score >= aim - slack:
            break
        aim = -np.inf if cut is None else cut.score
    return cut


def _between(judge: Judge, runs: Runs) -> Floats:
    """Score the cut after each run, with missing values on the better side."""
    return np.max([judge.between(runs, side) for side in judge.sides], axis=0)


def _highest(scores: Floats) -> float:
    return float(scores.max(initial=-np.inf))


def _worth_a_look(judge: Judge, runs: Runs, between: Floats, aim: float) -> Runs:
    """Select the runs with the values next to every cut that may reach the aim."""
    within = np.max([judge.inside(runs, side) for side in judge.sides], axis=0)
    after = (between >= aim) & (between > -np.inf)
    wanted = after | ((within >= aim) & (within > -np.inf))
    wanted[1:] |= after[:-1]
    return runs.select(wanted)


def _best(judge: Judge, rows: Runs, apart: Cut | None) -> Cut | None:
    cuts = [_best_between(judge, rows, side) for side in judge.sides]
    cuts.insert(1, apart)
    found = [cut for cut in cuts if cut is not None]
    return max(found, key=lambda cut: (cut.score, -cut.feature), default=None)


def _best_between(judge: Judge, rows: Runs, missing_left: bool) -> Cut | None:
    score = judge.between(rows, missing_left)
    best = int(score.argmax()) if score.size else 0
    if not score.size or score[best] == -np.inf:
        return None
    feature = int(rows.feature[best])
    left = judge.left(rows, rows.end, missing_left)[..., best]
    if not judge.has_missing[feature]:  # nothing to learn from: the side with more rows
        missing_left = bool(2 * left[0].sum() > judge.total[0].sum())
    low, high = float(rows.value[best]), float(rows.value[best + 1])
    return Cut(score[best], feature, low / 2 + high / 2, low, high, missing_left, left)


def _best_apart(judge: Judge) -> Cut | None:
    """Return the best cut that parts the missing values of a column from the rest."""
    known = judge.total[..., None] - judge.missing
    score = np.where(judge.has_missing, judge.score(known), -np.inf)
    best = int(score.argmax())
    if score[best] == -np.inf:
        return None
    return Cut(score[best], best, np.inf, np.inf, np.inf, False, known[..., best])
