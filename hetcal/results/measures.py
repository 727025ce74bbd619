"""Every measure of the test rows before and after calibration, with 95 % intervals.

Intervals come from a paired Poisson bootstrap: in every replicate each row, or each group of rows,
counts a Poisson number of times, before and after alike. Many rows are summed up in cells first, so
that the time does not grow with them.
``python -m tests.results.certainty.bootstrap_coverage`` prints how often intervals cover the truth.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit

from hetcal.arrays import Floats, Groups, Ints
from hetcal.calibrators.bootstrap import Amounts, percentiles
from hetcal.cells.cells import Cells
from hetcal.compiled import sigmoid
from hetcal.metrics.calibration import cumulative_difference, loss_parts, smooth_error
from hetcal.metrics.delong import CONFIDENCE, FEWEST
from hetcal.metrics.metrics import (
    CALIBRATION_BINS,
    equal_mass_bins,
    loss_of_rows,
    measure_cells,
    order_of_cells,
)
from hetcal.metrics.ranking import first_of_ties
from hetcal.results.evaluation import Evaluation

REPLICATES = 2000
MOST_CELLS = 2**11
FINEST = 256  # bins of either score in which many rows are summed up
MOST_GROUPS = 512  # more are put together at random: the standard error then varies by 3 %
AT_ONCE = 2**19  # cells times replicates: bounds the memory
RANKED = ("auc", "average_precision")
MEANS = ("log_loss", "brier")
ERROR = "calibration_error_debiased"
MEASURES = {
    "auc": "AUC",
    "average_precision": "Average precision",
    "balanced_precision_area": "Class-balanced PR-AUC",
    "log_loss": "Log-loss",
    "loss_calibration": "Calibration part of the log-loss",
    "loss_refinement": "Refinement part of the log-loss",
    "brier": "Brier score",
    "calibration_error": "Calibration error",
    ERROR: "Calibration error, debiased",
    "smooth_error": "Smooth calibration error",
    "cumulative_difference": "Cumulative difference",
}
"""The measures by field and by name; each name has its definition in `hetcal.results.words`."""

Ends = tuple[float, float]
UNKNOWN: Ends = (math.nan, math.nan)


def measure_change(
    before: Cells,
    after: Cells,
    evaluation: Evaluation | None = None,
    group: Groups | None = None,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure the same cells with two scores, with intervals by the bootstrap.

    There is no interval with fewer than 12 rows of a class, nor with fewer than 12 groups.

    Parameters
    ----------
    before, after : Cells
        The same rows or cells with two scores.
    evaluation : Evaluation, optional
        Of the same rows. Its measures are taken over, and so are its intervals of the changes of
        AUC and log-loss, so that one change has one interval everywhere.
    group : array, optional
        Group of each row: those of one group are not independent.
    replicates, seed : int
        How often rows are drawn, and the seed of that.

    Returns
    -------
    DataFrame
        Indexed by the fields of `MEASURES`: `before`, `after` and `change` (after minus before),
        each with the ends `_low` and `_high` of its interval, and `p_before` and `p_after` of the
        hypothesis that the probabilities are calibrated; NaN where it is not known.
    """
    found = _values(before, after, evaluation)
    ends = _Bootstrap(before, after, group, replicates, seed).ends()
    if evaluation is not None:
        lift, loss = evaluation.lift, evaluation.loss
        ends["auc", "change"] = lift.low, lift.high
        ends["log_loss", "change"] = -loss.high, -loss.low
    for what in ("before", "after", "change"):
        own = [ends.get((name, what), UNKNOWN) for name in found.index]
        found[f"{what}_low"], found[f"{what}_high"] = np.transpose(own)
    return found


def _values(before: Cells, after: Cells, evaluation: Evaluation | None) -> pd.DataFrame:
    """Return the measures and the p-values of calibration."""
    columns = {}
    for name, cells in (("before", before), ("after", after)):
        own = measure_cells(cells) if evaluation is None else getattr(evaluation, name)
        parts, drift = loss_parts(cells), cumulative_difference(cells)
        unbinned = {
            "loss_calibration": parts.calibration,
            "loss_refinement": parts.refinement,
            "smooth_error": smooth_error(cells),
            "cumulative_difference": drift.range,
        }
        columns[name] = {
            field: unbinned.get(field, getattr(own, field, math.nan)) for field in MEASURES
        }
        columns[f"p_{name}"] = {"cumulative_difference": drift.p}
    found = pd.DataFrame(columns, index=list(MEASURES))
    found["change"] = found["after"] - found["before"]
    return found


@dataclass(frozen=True, eq=False)
class _Places:
    """Cells with two scores, of few enough different places to be drawn again and again."""

    y: Floats
    rank: tuple[Ints, Ints]  # before and after; equal where scores are tied
    bin: tuple[Ints, Ints]  # of the calibration error
    amounts: Amounts
    means: Floats  # by cell: the losses before and after, the squared gaps, and the gaps
    number: Ints  # of the place of each given cell


def _places(before: Cells, after: Cells) -> _Places:
    """Put cells into bins of both scores, as fine as it takes to have few enough places.

    Positive and negative rows have half of the mass each, so that rare ones have bins, too.
    """
    y, w = before.y.astype(np.float64), before.weight
    sides = before, after
    bins = [equal_mass_bins(each.centre, CALIBRATION_BINS, each.given_weight) for each in sides]
    if y.size <= MOST_CELLS:
        number = np.arange(y.size)
        ranks = [np.unique(each.centre, return_inverse=True)[1] for each in sides]
    else:
        mass = w / np.array([w[y == 0].sum(), w[y == 1].sum()])[before.y.astype(np.int64)]
        fine = [equal_mass_bins(each.centre, FINEST, mass) for each in sides]
        for coarser in range(int(math.log2(FINEST))):
            # A calibration bin has whole places, and so the order of places is that of the scores.
            ranks = [own * FINEST + (each >> coarser) for own, each in zip(bins, fine, strict=True)]
            key = (ranks[0] * (CALIBRATION_BINS * FINEST) + ranks[1]) * 2 + before.y
            places, number = np.unique(key, return_inverse=True)
            if places.size <= MOST_CELLS:
                break
    first = np.zeros(number.max() + 1, dtype=np.int64)
    first[number] = np.arange(number.size)
    weight = np.bincount(number, w).astype(np.float64)
    values = [loss_of_rows(before.y, each.score) for each in (before, after)]
    gaps = [sigmoid(each.score) - y for each in (before, after)]
    means = [
        np.bincount(number, w * each) / weight for each in (*values, *(g**2 for g in gaps), *gaps)
    ]
    return _Places(
        y[first],
        (ranks[0][first], ranks[1][first]),
        (bins[0][first], bins[1][first]),
        Amounts(weight, np.bincount(number, before.squares).astype(np.float64)),
        np.transpose(means),
        number,
    )


class _Bootstrap:
    """Measures of replicates, and the intervals that follow from them."""

    def __init__(
        self, before: Cells, after: Cells, group: Groups | None, replicates: int, seed: int
    ) -> None:
        self._before, self._after, self._group = before, after, group
        self._replicates, self._rng = replicates, np.random.Generator(np.random.SFC64(seed))

    @cached_property
    def units(self) -> float:
        """Independent rows, by Kish, of the rarer class, or groups with rows of it."""
        counts = []
        for inside in (self._before.y == 0, self._before.y == 1):
            if self._group is not None:
                counts.append(pd.unique(self._group[inside]).size)
            else:
                weight, squares = self._before.weight[inside], self._before.squares[inside]
                counts.append(weight.sum() ** 2 / squares.sum() if weight.size else 0)
        return float(min(counts))

    def ends(self) -> dict[tuple[str, str], Ends]:
        """Return the intervals by measure and by what is measured; none where rows are few."""
        if self.units < FEWEST:
            return {}
        parts = zip(*self._draw(), strict=True)
        ranked, means, squared = (np.concatenate(each, axis=-1) for each in parts)
        # Rows of one place are tied: what that changes is the same in all replicates.
        given = self._ranked(self._cells.amounts.weight[None])
        exact = np.array([_exact_areas(each) for each in (self._before, self._after)]).T
        ranked += exact[..., None] - given
        # A row that is drawn twice is tied with itself, which favours the average precision. The
        # estimate leans as much as replicates do beyond it.
        ranked -= 2 * (np.nanmean(ranked, axis=-1) - exact)[..., None]
        ends: dict[tuple[str, str], Ends] = {}
        for names, values in ((RANKED, ranked), (MEANS, means)):
            for name, (was, now) in zip(names, values, strict=True):
                for what, each in (("before", was), ("after", now), ("change", now - was)):
                    ends[name, what] = self._between(each)
        return ends | self._error_ends(squared)

    def _ranked(self, weight: Floats) -> Floats:
        """Return AUC and average precision by side and replicate."""
        cells = self._cells
        found = [
            _areas(weight[:, order], cells.y[order], cells.rank[side][order])
            for side, order in enumerate(self._orders)
        ]
        return np.stack(found, axis=1)

    @cached_property
    def _orders(self) -> list[Ints]:
        return [np.argsort(each, kind="stable") for each in self._cells.rank]

    def _between(self, values: Floats) -> Ends:
        """Return the percentiles, further out where rows are few (Hesterberg, 2015).

        They are those at which a normal interval would have the width of Student's.
        """
        n = self.units
        quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(n / (n - 1))
        low, high = percentiles(values, [ndtr(-quantile), ndtr(quantile)])
        return low, high

    @cached_property
    def _cells(self) -> _Places:
        return _places(self._before, self._after)

    def _weights(self) -> Iterator[Floats]:
        """Yield weights of places by replicate, some replicates at a time."""
        cells = self._cells
        step, by_group = max(1, AT_ONCE // cells.y.size), None
        if self._group is not None:
            codes, names = pd.factorize(self._group)
            if names.size > MOST_GROUPS:
                codes = (self._rng.permutation(names.size) % MOST_GROUPS)[codes]
            shape = min(names.size, MOST_GROUPS), cells.y.size
            key = codes * shape[1] + cells.number
            summed = np.bincount(key, self._before.weight, shape[0] * shape[1])
            by_group = summed.astype(np.float64).reshape(shape)
        for start in range(0, self._replicates, step):
            count = min(step, self._replicates - start)
            if by_group is None:
                yield cells.amounts.draw(count, self._rng)
            else:
                drawn = self._rng.poisson(1.0, (count, len(by_group))).astype(np.float64)
                yield drawn @ by_group

    def _draw(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield AUC and average precision, mean losses, and mass and gaps of bins.

        Axes: measure, side (before or after), then bins where there are, and the replicate.
        """
        cells = self._cells
        columns = [np.ones((cells.y.size, 1)), cells.means[:, :4]]
        for side in (0, 1):
            member = np.equal.outer(cells.bin[side], np.arange(CALIBRATION_BINS)).astype(np.float64)
            columns += [member, member * cells.means[:, 4 + side, None]]
        factors = np.hstack(columns)
        for weight in self._weights():
            sums = (weight @ factors).T
            means = (sums[1:5] / sums[0]).reshape(2, 2, -1)
            shape = 2, 2, CALIBRATION_BINS, -1
            yield self._ranked(weight), means, (sums[5:] / sums[0]).reshape(shape)

    def _error_ends(self, drawn: Floats) -> dict[tuple[str, str], Ends]:
        """Return the intervals of the calibration error, without the bias of sampling noise.

        Drawing rows adds noise to gaps that have some already. So the noise is drawn about gaps
        that are shrunk to the size of the debiased error, and its own mean square is taken off.
        """
        ends: dict[tuple[str, str], Ends] = {}
        for what, (mass, sums) in zip(("before", "after"), drawn, strict=True):
            used = mass.mean(axis=1) > 0
            share = mass[used]
            gap = np.divide(sums[used], share, out=np.zeros_like(share), where=share > 0)
            weight, mean = share.mean(axis=1), gap.mean(axis=1)
            noise = gap - mean[:, None]
            variance = noise.var(axis=1)
            plain, excess = weight @ mean**2, weight @ variance
            shrunk = mean * math.sqrt(max(1 - excess / plain, 0.0)) if plain else mean
            squared = weight @ ((shrunk[:, None] + noise) ** 2 - variance[:, None])
            low, high = self._between(squared)
            ends[ERROR, what] = math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
        return ends


def _exact_areas(cells: Cells) -> Ends:
    found = order_of_cells(cells)
    return found.auc, found.average_precision


def _areas(weight: Floats, y: Floats, rank: Ints) -> Floats:
    """Return AUC and average precision of replicates, whose places are in order of their score."""
    first = first_of_ties(rank.astype(np.float64))
    ones, both = (
        np.add.reduceat(each, first, axis=1) if first.size < rank.size else each
        for each in (weight * y, weight)
    )
    zeros = both - ones
    true, false = np.cumsum(ones, axis=1), np.cumsum(zeros, axis=1)
    positives, negatives = true[:, -1:].copy(), false[:, -1:].copy()
    placed = false - zeros / 2
    # From the sums below each place to those at it and above.
    np.subtract(positives + ones, true, out=true)
    np.subtract(negatives + zeros, false, out=false)
    false += true
    precision = np.divide(true, false, out=np.zeros_like(true), where=false > 0)
    with np.errstate(invalid="ignore"):
        area = np.einsum("ij,ij->i", ones, placed) / (positives * negatives)[:, 0]
        return np.array([area, np.einsum("ij,ij->i", ones, precision) / positives[:, 0]])
