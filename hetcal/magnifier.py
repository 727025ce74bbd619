"""A closer look at the rows of a node: into bins, then into parts of bins."""

import numpy as np

from hetcal.arrays import Floats, Ints, Singles
from hetcal.binning import PARTS, BinnedRows, Bytes, order_codes
from hetcal.row_passes import Passes, Rows
from hetcal.runs import Runs


class RowMagnifier:
    """Divides runs of a node by reading its rows.

    Parameters
    ----------
    table : BinnedRows
        All rows.
    y : array of uint8
        Their labels.
    values : array of float, values x rows
        What is added up besides the number of rows.
    rows : array of int
        The rows of the node.
    passes : Passes
        Numpy's or compiled ones.
    """

    def __init__(
        self, table: BinnedRows, y: Bytes, values: Floats, rows: Rows, passes: Passes
    ) -> None:
        self.table, self.y, self.values = table, y, values
        self.rows, self.passes = rows, passes

    def parts(self, bins: Runs) -> Runs:
        """Divide bins of several values into parts, and remember where each row went."""
        self._bins = np.flatnonzero(np.isnan(bins.value))
        number = np.full(self.table.only.shape, -1, dtype=np.int32)
        number.flat[bins.place[self._bins]] = np.arange(self._bins.size)
        sizes = np.bincount(bins.feature[self._bins], bins.rows[self._bins], len(number))
        self._found, spot = self.passes.collect(
            self.table, self.rows, self.y, number, sizes.astype(np.int64)
        )
        self._part = spot >> 1
        sums = self._sums(spot, self._bins.size * PARTS)
        part = np.flatnonzero(sums[0].any(axis=0))
        unknown = np.full(part.size, np.nan, dtype=np.float32)
        return _divided(bins, self._bins[part // PARTS], sums[..., part], unknown, part)

    def _sums(self, spot: Ints, parts: int) -> Floats:
        added = [np.bincount(spot, minlength=2 * parts)]
        added += [np.bincount(spot, each[self._found], 2 * parts) for each in self.values]
        return np.stack(added).reshape(len(added), parts, 2).swapaxes(1, 2).astype(np.float64)

    def single(self, parts: Runs) -> Runs:
        """Divide parts of several values into rows."""
        owners = np.flatnonzero(np.isnan(parts.value))
        owner_of = np.full(self._bins.size * PARTS + 1, -1)
        owner_of[parts.place[owners]] = owners
        owner = owner_of[self._part]
        inside = np.flatnonzero(owner >= 0)
        rows, owner = self._found[inside], owner[inside]
        value = self.table.X[rows, parts.feature[owner]]
        order = np.argsort((owner << 32) + order_codes(value).astype(np.int64))
        rows, owner, value = rows[order], owner[order], value[order]
        sums = np.zeros((1 + len(self.values), 2, rows.size))
        each = np.arange(rows.size)
        sums[0, self.y[rows], each] = 1.0
        sums[1:, self.y[rows], each] = self.values[:, rows]
        return _divided(parts, owner, sums, value, each)


def _divided(runs: Runs, owner: Ints, sums: Floats, value: Singles, place: Ints) -> Runs:
    """Replace runs of several values by smaller ones; `owner` tells which, in order."""
    whole = np.flatnonzero(~np.isnan(runs.value))
    owner = np.concatenate([owner, whole])
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    sums = np.concatenate([sums, runs.sums[..., whole]], axis=-1)[..., order]
    before = sums.cumsum(axis=-1) - sums
    last = np.diff(owner, append=-1) != 0
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    size = np.diff(first, append=owner.size)
    offset = runs.start[..., owner[first]] - before[..., first]
    return Runs(
        runs.feature[owner],
        np.concatenate([place, runs.place[whole]])[order],
        before + np.repeat(offset, size, axis=-1),
        sums,
        np.concatenate([value, runs.value[whole]])[order],
        np.where(last, runs.joined[owner], True),
    )
