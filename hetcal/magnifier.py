"""A closer look at the rows of a node: into bins, then into parts of bins."""

from collections.abc import Sequence

import numpy as np

from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import BinnedRows, bounded, order_codes
from hetcal.row_passes import Found, Passes, Rows
from hetcal.runs import Runs


class RowMagnifier:
    """Divides runs of nodes.

    Parameters
    ----------
    table : BinnedRows
        All rows.
    values : array of float, values x rows
        What is added up besides the number of rows.
    rows : array of int
        The rows of all nodes, those of a node together.
    passes : Passes
        Numpy's or compiled ones.
    """

    def __init__(self, table: BinnedRows, values: Floats, rows: Rows, passes: Passes) -> None:
        self.table, self.values = table, values
        self.rows, self.passes = rows, passes

    def parts(self, sums: Floats, bins: Runs) -> Runs:
        """Divide bins of several values into parts, whose sums are channels x labels x parts."""
        wide = np.flatnonzero(np.isnan(bins.value))
        first, sizes = self.table.parts_of(bins.place[wide])
        skipped = np.cumsum(sizes) - sizes
        parts = np.arange(sizes.sum()) + np.repeat(first - skipped, sizes)
        sums, owner = sums.take(parts, axis=-1), np.repeat(wide, sizes)
        some = np.flatnonzero(sums[0].any(axis=0))
        parts, sums = parts[some], sums.take(some, axis=-1)
        return divided(bins, owner[some], sums, self.table.only[parts], parts)

    def single(self, nodes: Sequence[slice], asked: Sequence[Runs]) -> list[Runs]:
        """Divide parts of several values into rows, for each of some nodes."""
        numbers = np.full((len(nodes), self.table.only.size), -1, dtype=np.int32)
        sizes = np.zeros((len(nodes), self.table.X.shape[1]), dtype=np.int64)
        for parts, number, many in zip(asked, numbers, sizes, strict=True):
            owners = np.flatnonzero(np.isnan(parts.value))
            number[parts.place[owners]] = owners
            np.add.at(many, parts.feature[owners], parts.rows[owners].astype(np.int64))
        found = self.passes.collect(self.table, self.rows, nodes, numbers, sizes)
        return [self._in_order(*each) for each in zip(asked, found, strict=True)]

    def _in_order(self, parts: Runs, found: Found) -> Runs:
        """Replace parts by their rows, in the order of their values."""
        rows, owner = found[0], found[1].astype(np.int64)
        feature = parts.feature[owner]
        value = bounded(self.table.X[rows, feature])
        order = np.argsort((owner << 32) + order_codes(value))
        rows, owner, value = rows[order], owner[order], value[order]
        label = self.table.keys[rows, feature[order]] & ((1 << self.table.label_bits) - 1)
        sums = np.zeros((1 + len(self.values), self.table.labels, rows.size))
        each = np.arange(rows.size)
        sums[0, label, each] = 1.0
        sums[1:, label, each] = self.values[:, rows]
        return divided(parts, owner, sums, value, each)


def divided(runs: Runs, owner: Ints, sums: Floats, value: Singles, place: Ints) -> Runs:
    """Replace runs of several values by smaller ones; `owner` tells which, in order."""
    whole = np.flatnonzero(~np.isnan(runs.value))
    owner = np.concatenate([owner, whole])
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    sums = np.concatenate([sums, runs.sums.take(whole, axis=-1)], axis=-1).take(order, axis=-1)
    before = sums.cumsum(axis=-1) - sums
    last = np.diff(owner, append=-1) != 0
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    size = np.diff(first, append=owner.size)
    offset = runs.start.take(owner[first], axis=-1) - before.take(first, axis=-1)
    return Runs(
        runs.feature[owner],
        np.concatenate([place, runs.place[whole]])[order],
        before + np.repeat(offset, size, axis=-1),
        sums,
        np.concatenate([value, runs.value[whole]])[order],
        np.where(last, runs.joined[owner], True),
    )
