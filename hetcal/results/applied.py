"""What a scheme does to the probabilities of some rows, whether or not it is one map."""

import numpy as np
import pandas as pd
from scipy.special import expit

from hetcal.arrays import Floats

FEWEST = 20  # rows of a bin, so that a tenth of them are two
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9


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
