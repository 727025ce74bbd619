"""Histograms of the scores by leaf, role and label on shared bins."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.cells.cells import Cells

Axis = Literal["logit", "probability"]

TAIL = 0.005


@dataclass(frozen=True)
class ScoreHistograms:
    """Histograms of scores, all with the same bins.

    The bins run from the 0.5 % to the 99.5 % quantile of all train and test scores; rows
    beyond are counted in the first and in the last bin.

    """

    edges: Floats  # ascending, one more than bins
    # Weight of the rows, which is their number if they have none, by position in `leaves`, role
    # (train, test), label (0, 1) and bin; `rows` counts the rows in the same way.
    counts: NDArray[Any]
    leaves: tuple[int, ...]  # the first is 0, for all rows
    axis: Axis
    rows: Ints

    @property
    def weighted(self) -> bool:
        """Whether the counts are weights, and not numbers of rows."""
        return not np.array_equal(self.counts, self.rows)

    @property
    def densities(self) -> Floats:
        """The weights scaled so that each histogram has area 1; 0 where it has no rows."""
        total = self.counts.sum(axis=-1, keepdims=True)
        share = np.divide(self.counts, total, out=np.zeros(self.counts.shape), where=total > 0)
        return share / np.diff(self.edges)

    def together(self, leaves: Collection[int]) -> "ScoreHistograms":
        """Return the histograms of the rows of some leaves together, as those of all rows."""
        places = [self.leaves.index(each) for each in leaves]
        counts, rows = (
            each[places].sum(axis=0, keepdims=True) for each in (self.counts, self.rows)
        )
        return ScoreHistograms(self.edges, counts, (0,), self.axis, rows)


def score_histograms(
    train: Cells,
    test: Cells,
    leaves: Sequence[int],
    *,
    axis: Axis = "logit",
    bins: int = 40,
) -> ScoreHistograms:
    """Count the scores of train and test rows, all leaves in one pass.

    A cell is counted in the bin of its mean score.
    """
    role = np.repeat([0, 1], [train.score.size, test.score.size])
    score, y, leaf, rows = (
        np.concatenate([getattr(each, name) for each in (train, test)])
        for name in ("score", "y", "leaf", "rows")
    )
    values = score if axis == "logit" else expit(score)
    edges = _edges(values, rows, axis, bins)
    bin_of = np.searchsorted(edges[1:-1], values, "right")
    ids = (0, *leaves)
    size = max(int(leaf.max(initial=0)), *ids) + 1
    key = ((leaf * 2 + role) * 2 + y) * bins + bin_of

    def summed(weight: NDArray[Any]) -> NDArray[Any]:
        counts = np.bincount(key, weight, size * 4 * bins).reshape(size, 2, 2, bins)
        counts[0] = counts.sum(axis=0)  # no row has leaf 0, which is that of all rows
        return counts[list(ids)]

    number = summed(rows).astype(np.int64)
    if train.counted and test.counted:
        return ScoreHistograms(edges, number, ids, axis, number)
    mass = summed(np.append(train.weight, test.weight))
    return ScoreHistograms(edges, mass, ids, axis, number)


def _edges(values: Floats, rows: Ints, axis: Axis, bins: int) -> Floats:
    """Return equal steps between the outer quantiles, or around a single value."""
    low, high = _tails(values, rows) if values.size else (0.0, 0.0)
    if high - low <= 1e-9 * max(1.0, abs(low)):
        low, high = (low - 0.5, low + 0.5) if axis == "logit" else (0.0, 1.0)
    return np.linspace(low, high, bins + 1)


def _tails(values: Floats, rows: Ints) -> tuple[float, float]:
    """Return the outer quantiles of values, each repeated for its rows."""
    order = np.argsort(values)
    ends = np.cumsum(rows[order])
    place = (ends[-1] - 1) * np.array([TAIL, 1 - TAIL])
    below, above = (
        values[order][np.searchsorted(ends, each, "right")]
        for each in (np.floor(place), np.ceil(place))
    )
    low, high = below + (place % 1) * (above - below)
    return float(low), float(high)
