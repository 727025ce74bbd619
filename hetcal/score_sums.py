"""Sums of values by score and label over the bins of a node, and over its single rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hetcal import score_kernels
from hetcal.arrays import Bools, Floats, Ints
from hetcal.binning import BINS, Bytes, order_codes
from hetcal.coarse_rows import CoarseRows
from hetcal.kernels import compiled
from hetcal.magnifier import divided
from hetcal.runs import Runs
from hetcal.score_codes import Codes, Rows, ScoreCodes
from hetcal.score_ticks import Ticks

CHANNELS = 4
WIDTH = 2 * CHANNELS  # values of a code


@dataclass(frozen=True, eq=False)
class ValueTables:
    """What rows add up, in the form (channels, 2) that `split_criteria` explains.

    Without weights they are rounded to whole numbers of ticks, see `Ticks`.

    Parameters
    ----------
    codes : ScoreCodes
        All rows.
    tables : tuple of arrays, codes x 8
        Twice four channels. Channel 0 of the first table counts rows by label. The
        others are multiplied by the weight; those of the second table by its square.
    like : tuple of int
        For each of the eight values, the first that it is a multiple of if there are no
        weights. Beside the counts there are at most five of these.
    """

    codes: ScoreCodes
    tables: tuple[Floats, ...]
    like: tuple[int, ...]

    def per_bin(self, table: CoarseRows, rows: Rows, use_compiled: bool) -> Floats:
        """Return sums of shape (channels, 2, columns, bins)."""
        if self.codes.weight is None:
            ticks = self._ticks.per_bin(table.bins, rows, self.codes.code, use_compiled)
            return _in_channels(self._ticks.values(ticks))
        add_up = compiled(score_kernels.add_up) if use_compiled else _add_up
        found = []
        for power, values in enumerate(self.tables, start=1):
            sums = np.zeros((len(table.only), BINS, WIDTH))
            weight = self.codes.weight**power
            add_up(table.bins, rows, self.codes.code, values, weight, sums)
            found.append(_in_channels(sums))
        return np.concatenate(found)

    def per_row(self, rows: Rows) -> Floats:
        """Return the values of rows, of shape (channels, 2, rows)."""
        code = self.codes.code
        if self.codes.weight is None:
            return _in_channels(self._ticks.values(self._ticks.number[code[rows]]))
        weights = (self.codes.weight**power for power in range(1, len(self.tables) + 1))
        pairs = zip(self.tables, weights, strict=True)
        return np.concatenate(
            [_in_channels(_row_values(rows, code, table, weight)) for table, weight in pairs]
        )

    @cached_property
    def _ticks(self) -> Ticks:
        return Ticks.of_table(self.tables[0], self.like)


def _in_channels(values: Floats) -> Floats:
    """Turn the eight values of the last axis into the axes (channels, 2) in front."""
    split = values.reshape(*values.shape[:-1], 2, CHANNELS)
    return np.ascontiguousarray(np.moveaxis(split, (-1, -2), (0, 1)))


def _row_values(rows: Rows, code: Codes, table: Floats, weight: Floats) -> Floats:
    values = table[code[rows]]
    values[:, np.arange(WIDTH) % CHANNELS > 0] *= weight[rows, None]
    return values


def _add_up(
    bins: Bytes, rows: Rows, code: Codes, table: Floats, weight: Floats, sums: Floats
) -> None:
    """Add up eight values per row by column and bin, times the weight but for counts."""
    values = np.ascontiguousarray(_row_values(rows, code, table, weight).T)
    for j in range(bins.shape[1]):
        here = bins[:, j].take(rows)
        for k, each in enumerate(values):
            sums[j, :, k] = np.bincount(here, each, BINS)


class ValueMagnifier:
    """Divides bins of a node into single rows.

    Parameters
    ----------
    table : CoarseRows
        All rows.
    values : ValueTables
        What is added up.
    rows : array of int
        The rows of the node.
    use_compiled : bool
        Whether passes are compiled.
    """

    def __init__(
        self, table: CoarseRows, values: ValueTables, rows: Rows, use_compiled: bool
    ) -> None:
        self.table, self.values, self.rows = table, values, rows
        self.use_compiled = use_compiled

    def single(self, parts: Runs) -> Runs:
        """Divide bins of several values into rows."""
        owners = np.flatnonzero(np.isnan(parts.value))
        found, owner = [self.rows[:0]], [owners[:0]]
        for feature in np.unique(parts.feature[owners]):
            mine = owners[parts.feature[owners] == feature]
            owner_of = np.full(BINS, -1)
            owner_of[parts.place[mine] - feature * BINS] = mine
            column = self.table.bins[:, feature]
            rows = self._rows_in(column, owner_of >= 0, int(parts.rows[mine].sum()))
            found.append(rows)
            owner.append(owner_of[column[rows]])
        return self._in_order(parts, np.concatenate(found), np.concatenate(owner))

    def _rows_in(self, column: Bytes, wanted: Bools, many: int) -> Rows:
        if not self.use_compiled:
            return self.rows[np.flatnonzero(wanted.take(column.take(self.rows)))]
        found = np.empty(many, dtype=self.rows.dtype)
        compiled(score_kernels.collect)(column, self.rows, wanted, found)
        return found

    def _in_order(self, runs: Runs, rows: Rows, owner: Ints) -> Runs:
        value = self.table.X[rows, runs.feature[owner]]
        order = np.argsort((owner << 32) + order_codes(value).astype(np.int64))
        rows, owner, value = rows[order], owner[order], value[order]
        sums = self.values.per_row(rows)
        return divided(runs, owner, sums, value, np.arange(rows.size))
