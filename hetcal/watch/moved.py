"""Whether rows have moved: other leaves, scores or labels, or values that are not known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtrc, kolmogorov, xlogy

from hetcal.arrays import Floats
from hetcal.cells.cells import Cells, leaf_positions
from hetcal.results.leaf_tests import holm

FEWEST = 5.0  # rows expected in a class of the chi-squared test; rarer ones are put together
PARTS = 10  # in which scores are divided for the stability index
MOVED, FAR = 0.1, 0.25  # of the population stability index, by the usual rule of thumb
ALPHA = 0.05


@dataclass(frozen=True)
class Sample:
    """Shares of rows, and how many rows they count for."""

    shares: Floats
    rows: float


def stability_index(reference: Sample, new: Sample) -> float:
    """Return the population stability index: the sum of (new - old) · log(new / old) of shares.

    A share counts at least half a row.

    >>> even, other = (Sample(np.array([each, 1 - each]), 1e9) for each in (0.5, 0.6))
    >>> round(stability_index(even, other), 4)
    0.0405
    """
    old, now = (np.maximum(each.shares, 0.5 / each.rows) for each in (reference, new))
    return float(np.sum((now - old) * np.log(now / old)))


def effective_rows(cells: Cells) -> float:
    """Return how many rows without weights would vary as much; 0 without rows."""
    squares = float(cells.squares.sum())
    return float(cells.weight.sum()) ** 2 / squares if squares else 0.0


def movements(
    reference: Cells,
    new: Cells,
    leaves: Sequence[int],
    columns: tuple[pd.DataFrame | None, pd.DataFrame],
    labels: tuple[Cells, Cells] | None = None,
) -> pd.DataFrame:
    """Compare newer rows with the test rows of a run.

    Parameters
    ----------
    reference, new : Cells
        With the scores of the model.
    leaves : sequence of int
        Ids of all leaves.
    columns : tuple
        What columns hold, see `hetcal.artifacts.columns.count_columns`: of the test rows, or None
        where the artifact does not know, and of the newer rows.
    labels : tuple of Cells, optional
        The test rows and those of the newer rows that have labels.

    Returns
    -------
    DataFrame
        `what` (`leaves`, `scores`, `labels`, `missing` or `unknown`), `column` (of the last two,
        else empty), `reference` and `new` (the share of positive labels, or of such values; of
        leaves and scores the rows), `index` (stability index), `p` (corrected by Holm's method over
        all that is compared), `size` (`same`, `moved` or `far`; `same` unless p is below 5 %).
    """
    found = [_of_leaves(reference, new, leaves), _of_scores(reference, new)]
    if labels is not None:
        shares = [_share_of_ones(each) for each in labels]
        found.append(_of_shares("labels", "", *shares))
    found += _of_columns(*columns)
    table = pd.DataFrame(found)
    table["p"] = holm(table["p"].to_numpy(dtype=np.float64))
    table["size"] = [_size(*each) for each in zip(table["p"], table["index"], strict=True)]
    return table


def _size(p: float, index: float) -> str:
    if not p < ALPHA or index < MOVED:
        return "same"
    return "far" if index >= FAR else "moved"


def _of_leaves(reference: Cells, new: Cells, leaves: Sequence[int]) -> dict[str, object]:
    one, other = (_leaf_sample(each, leaves) for each in (reference, new))
    counts = np.stack([one.shares * one.rows, other.shares * other.rows])
    p = homogeneity(counts)
    return _record("leaves", "", (one.rows, other.rows), stability_index(one, other), p)


def _leaf_sample(cells: Cells, leaves: Sequence[int]) -> Sample:
    place = leaf_positions(cells.leaf, leaves)
    mass = np.bincount(place[place >= 0], cells.weight[place >= 0], len(leaves))
    return Sample(mass / mass.sum(), effective_rows(cells))


def homogeneity(counts: Floats) -> float:
    """Return the p-value of the chi-squared test that two rows of counts have the same shares.

    Columns in which fewer than 5 are expected in either row are put together.
    """
    totals = counts.sum(axis=1, keepdims=True)
    expected = totals * counts.sum(axis=0) / totals.sum()
    rare = (expected < FEWEST).any(axis=0)
    kept = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    kept = kept[:, kept.sum(axis=0) > 0]
    if kept.shape[1] < 2:
        return 1.0
    expected = totals * kept.sum(axis=0) / totals.sum()
    return float(chdtrc(kept.shape[1] - 1, np.sum((kept - expected) ** 2 / expected)))


def _of_scores(reference: Cells, new: Cells) -> dict[str, object]:
    distance, index = score_distance(reference, new)
    rows = effective_rows(reference), effective_rows(new)
    p = float(kolmogorov(distance * math.sqrt(rows[0] * rows[1] / sum(rows))))
    return _record("scores", "", rows, index, p)


def score_distance(reference: Cells, new: Cells) -> tuple[float, float]:
    """Return Kolmogorov's distance of two samples of scores, and their stability index.

    Of a sketch both distributions are known exactly at the ends of its bins, where they are
    compared; the index is that of its tenths, or of fewer parts where scores are tied.
    """
    order = np.argsort(reference.high, kind="stable")
    high, low = reference.high[order], np.sort(reference.low)
    share = np.cumsum(reference.weight[order]) / reference.weight.sum()
    up = np.flatnonzero(np.append(high[1:] > high[:-1], True))  # the last of equal ends
    ranked = np.argsort(new.score, kind="stable")
    scores = new.score[ranked]
    total = np.append(0.0, np.cumsum(new.weight[ranked])) / new.weight.sum()
    ends = high[up]
    reached = total[np.searchsorted(scores, ends, side="right")]
    distance = float(np.abs(reached - share[up]).max())
    begins = np.unique(low)
    before = np.append(0.0, share[up])[np.searchsorted(ends, begins, side="left")]
    reached_before = total[np.searchsorted(scores, begins, side="left")]
    distance = max(distance, float(np.abs(reached_before - before).max()))
    cuts = np.unique(np.searchsorted(share[up], np.arange(1, PARTS) / PARTS - 1e-12))
    old, now = (np.diff(each[cuts], prepend=0.0, append=1.0) for each in (share[up], reached))
    both = Sample(old, effective_rows(reference)), Sample(now, effective_rows(new))
    return distance, stability_index(*both)


def _share_of_ones(cells: Cells) -> Sample:
    rate = float(np.average(cells.y, weights=cells.weight)) if cells.rows.size else math.nan
    return Sample(np.array([rate, 1 - rate]), effective_rows(cells))


def _of_shares(what: str, column: str, one: Sample, other: Sample) -> dict[str, object]:
    index = stability_index(one, other)
    return _record(what, column, (one.shares[0], other.shares[0]), index, share_p(one, other))


def share_p(one: Sample, other: Sample) -> float:
    """Return the p-value of equal shares: the likelihood ratio, with half a row more in each class.

    Without the half rows shares near 0 would differ too often by chance.
    """
    counts = np.stack([each.shares * each.rows for each in (one, other)]) + 0.5
    totals = counts.sum(axis=1, keepdims=True)
    shared = counts.sum(axis=0) / counts.sum()
    ratio = 2 * float(np.sum(xlogy(counts, counts / (totals * shared))))
    return float(chdtrc(1, max(ratio, 0.0)))


def _of_columns(reference: pd.DataFrame | None, new: pd.DataFrame) -> list[dict[str, object]]:
    if reference is None:
        return []
    known = reference.set_index("column")
    found = []
    for each in new.itertuples():
        if each.column not in known.index:
            continue
        before = known.loc[each.column]
        for what in ("missing", "unknown") if each.kind == "category" else ("missing",):
            sides = [
                Sample(np.array([count, rows - count]) / rows, rows)
                for count, rows in (
                    (float(before[what]), float(before["rows"])),
                    (float(getattr(each, what)), float(each.rows)),
                )
            ]
            found.append(_of_shares(what, str(each.column), *sides))
    return found


def _record(
    what: str, column: str, sides: tuple[float, float], index: float, p: float
) -> dict[str, object]:
    both = {"reference": float(sides[0]), "new": float(sides[1])}
    return {"what": what, "column": column, **both, "index": index, "p": p}
