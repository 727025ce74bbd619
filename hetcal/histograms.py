"""Histograms of the scores by leaf, role and label on shared bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcal.arrays import Floats, Ints
from hetcal.ranking import Labels
from hetcal.splits import Split

Axis = Literal["logit", "probability"]

TAIL = 0.005


@dataclass(frozen=True)
class ScoreHistograms:
    """Counted and weighed scores; every histogram has the same bins.

    The bins run from the 0.5 % to the 99.5 % quantile of all train and test scores; rows
    beyond are counted in the first and in the last bin, so that no row is lost.

    Parameters
    ----------
    edges : array
        Ascending, one more than bins.
    counts : array
        Weight of the rows, which is their number if they have none, by position in
        `leaves`, role (train, test), label (0, 1) and bin.
    leaves : tuple of int
        Leaf ids; the first is 0 and stands for all rows.
    axis : "logit" or "probability"
        What the edges are.
    rows : array of int
        Number of rows, by position as the counts.
    """

    edges: Floats
    counts: NDArray[Any]
    leaves: tuple[int, ...]
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


def score_histograms(
    scores: Floats,
    y: Labels,
    leaf: Ints,
    split: Split,
    leaves: Sequence[int],
    *,
    axis: Axis = "logit",
    bins: int = 40,
    weight: Floats | None = None,
) -> ScoreHistograms:
    """Count the scores of train and test rows, all leaves in one pass.

    Rows whose score is not finite are left out.
    """
    rows = np.concatenate([split.train, split.test])
    role = np.repeat([0, 1], [split.train.size, split.test.size])
    usable = np.isfinite(scores[rows])
    rows, role = rows[usable], role[usable]
    values = scores[rows] if axis == "logit" else expit(scores[rows])
    edges = _edges(values, axis, bins)
    bin_of = np.searchsorted(edges[1:-1], values, "right")
    ids = (0, *leaves)
    size = max(int(leaf.max(initial=0)), *ids) + 1
    key = ((leaf[rows] * 2 + role) * 2 + y[rows]) * bins + bin_of
    number, mass = (
        _by_leaf(np.bincount(key, each, size * 4 * bins).reshape(size, 2, 2, bins), ids)
        for each in (None, None if weight is None else weight[rows])
    )
    return ScoreHistograms(edges, mass, ids, axis, number)


def _by_leaf(counts: NDArray[Any], ids: Sequence[int]) -> NDArray[Any]:
    """Pick the leaves; 0, which no row has, stands for all."""
    counts[0] = counts.sum(axis=0)
    return counts[list(ids)]


def _edges(values: Floats, axis: Axis, bins: int) -> Floats:
    """Return equal steps between the outer quantiles, or about the only value there is."""
    low, high = np.quantile(values, [TAIL, 1 - TAIL]) if values.size else (0.0, 0.0)
    if high - low <= 1e-9 * max(1.0, abs(low)):
        low, high = (low - 0.5, low + 0.5) if axis == "logit" else (0.0, 1.0)
    return np.linspace(low, high, bins + 1)
