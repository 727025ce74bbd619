"""What a scheme does to the probabilities of some rows, whether or not it is one map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.cells.cells import Cells

FEWEST = 20  # rows of a bin, so that a tenth of them are two
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
MOST_ROWS = 200_000  # whose spread is computed


def applied_map(before: Floats, after: Floats, bins: int = 20) -> pd.DataFrame:
    """Return the probabilities after against those before, with their spread.

    In every bin rows are moved along the bin's own line of `after` against `before` to the middle
    of the bin. What is left of the spread is what does not come from the score: none at all where
    one map `slope * logit + intercept` holds for all rows.

    Parameters
    ----------
    before, after : array
        Logits of the same rows; rows without both are left out.
    bins : int, default=20
        At most so many bins of the same number of rows, with at least 20 rows each; rows of
        equal scores are never separated.

    Returns
    -------
    DataFrame
        One row per bin: `before` (probability at the mean logit), `n`, and of the probability
        after `low`, `middle`, `high` (10, 50 and 90 %) and `mean`.
    """
    known = np.isfinite(before) & np.isfinite(after)
    scores, mapped = before[known], after[known]
    found = [
        _bin(scores[inside], mapped[inside]) for inside in _bins(scores, min(bins, scores.size))
    ]
    return pd.DataFrame(found, columns=["before", "n", "low", "middle", "high", "mean"])


def _bins(scores: Floats, most: int) -> list[np.ndarray]:
    """Return the positions of the rows of each bin, from the lowest scores to the highest."""
    if not scores.size:
        return []
    bins = max(1, min(most, scores.size // FEWEST))
    inner = np.quantile(scores, np.arange(1, bins) / bins, method="inverted_cdf")
    place = np.searchsorted(np.unique(inner), scores, side="left")
    return [np.flatnonzero(place == each) for each in np.unique(place)]


def _bin(scores: Floats, mapped: Floats) -> tuple[float, int, float, float, float, float]:
    middle = scores.mean()
    away = scores - middle
    spread = away @ away
    slope = away @ (mapped - mapped.mean()) / spread if spread > 0 else 0.0
    moved = expit(mapped - slope * away)
    low, half, high = np.quantile(moved, (LOW, MIDDLE, HIGH))
    return float(expit(middle)), scores.size, low, half, high, moved.mean()


@dataclass(frozen=True, eq=False)
class Applied:
    """What a scheme does to the rows of every leaf.

    Parameters
    ----------
    maps : dict
        `applied_map` of every leaf that has rows, by its id; 0 is all rows.
    leaves : DataFrame
        One row per leaf, the first one for all rows: `leaf`, `rows`, `positive_rate`,
        `mean_before` and `mean_after` (probabilities), `slope` (of the line of least squares
        through the logits after against those before) and `explained` (share of the variance of
        the logit after that this line explains: 1 where one map holds, and less where
        columns decide, too); NaN without rows.
    rows, drawn : int
        All rows, and how many of them the maps are drawn from.
    """

    maps: dict[int, pd.DataFrame]
    leaves: pd.DataFrame
    rows: int
    drawn: int


def applied_to_leaves(
    before: Cells, after: Cells, leaves: Sequence[int], most: int = MOST_ROWS
) -> Applied:
    """Compare the logits of the same cells before and after, in all rows and in every leaf.

    Maps are drawn from at most so many rows in all, spread evenly over the cells.
    """
    drawn = evenly_drawn(before.rows, most)
    leaf = before.leaf[drawn]
    maps, found = {}, []
    for each in (0, *leaves):
        shown = drawn if each == 0 else drawn[leaf == each]
        if shown.size:
            maps[each] = applied_map(before.score[shown], after.score[shown])
        inside = np.ones(before.leaf.size, bool) if each == 0 else before.leaf == each
        found.append({"leaf": each, **_moved(before.chosen(inside), after.chosen(inside))})
    return Applied(maps, pd.DataFrame(found), int(before.rows.sum()), drawn.size)


def evenly_drawn(rows: Ints, most: int) -> Ints:
    """Return the positions of cells once for each of their rows, or for each row drawn.

    >>> evenly_drawn(np.array([1, 3]), 10), evenly_drawn(np.array([2, 6]), 4)
    (array([0, 1, 1, 1]), array([0, 1, 1, 1]))
    """
    ends = np.cumsum(rows)
    total = int(ends[-1]) if ends.size else 0
    count = min(total, most)
    wanted = (np.arange(count) + 0.5) * (total / max(count, 1))
    return np.searchsorted(ends, wanted, side="right")


def _moved(before: Cells, after: Cells) -> dict[str, float]:
    rows = int(before.rows.sum())
    if not before.weight.sum() > 0:
        nothing = dict.fromkeys(_MOVED, np.nan)
        return {"rows": rows, **nothing}
    weight = before.weight / before.weight.sum()
    away, moved = (each.score - weight @ each.score for each in (before, after))
    spread, covered, total = weight @ away**2, weight @ (away * moved), weight @ moved**2
    still = total <= 1e-18  # all rows get the same logit, which is one map
    numbers = (
        weight @ before.y,
        weight @ expit(before.score),
        weight @ expit(after.score),
        covered / spread if spread > 0 else np.nan,
        1.0 if still else covered**2 / (spread * total) if spread > 0 else 0.0,
    )
    return {"rows": rows, **dict(zip(_MOVED, map(float, numbers), strict=True))}


_MOVED = ("positive_rate", "mean_before", "mean_after", "slope", "explained")
