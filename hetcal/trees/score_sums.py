"""Sums of values by score and label over the bins of a node, and over its single rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints, Labels, Singles
from hetcal.compiled import compiled, use_compiled
from hetcal.trees import score_kernels
from hetcal.trees.bins import BINS, OFTEN, Bytes, ColumnBins, choose_bins, order_codes
from hetcal.trees.cuts import Runs, divided
from hetcal.trees.passes import REFERENCE, Passes, compiled_passes

CELLS = 1024
FEW = 100_000  # rows whose values are sorted
Codes = NDArray[np.uint16]
Rows = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class ScoreCodes:
    """Scores and labels of all rows."""

    code: Codes  # one per row: `2 * cell + label`
    # one per code: mean score of the cell, on a scale of mean 0 and deviation 1 over all rows
    score: Floats
    weight: Floats | None = None  # row weights

    @classmethod
    def of_rows(cls, scores: Floats, y: Labels, weight: Floats | None = None) -> "ScoreCodes":
        """Put rows into at most 1,024 cells: one per value if there are few, else of equal mass.

        Cells differ in single precision; scores beyond it share the outermost cells.
        """
        largest = max(scores.max(), -scores.min()) or 1.0  # keeps sums of huge scores finite
        single = np.empty(len(scores), dtype=np.float32)
        np.divide(scores, largest, out=single, casting="same_kind")
        keys = _keys(single, np.asarray(y).astype(np.uint8))
        sums = _sums(keys, scores, largest)
        cell = _cells(sums[0].astype(np.int64))
        rows, total = (np.bincount(cell, each, CELLS) for each in sums)
        mean = total / np.maximum(rows, 1)
        code = (2 * cell + np.arange(cell.size) % 2).astype(np.uint16)
        return cls(code.take(keys), np.repeat(_standardised(mean, rows), 2), weight)

    @cached_property
    def label(self) -> Floats:
        """The label of each code."""
        return (np.arange(self.score.size) % 2).astype(np.float64)

    def masses(self, rows: Rows, power: int = 1) -> Floats:
        """Return the number of rows per code, or the sum of a power of their weights."""
        if self.weight is None and use_compiled():
            return compiled(score_kernels.count)(self.code, rows, np.zeros(self.score.size))
        mass = None if self.weight is None else self.weight[rows] ** power
        found = np.bincount(self.code.take(rows), mass, self.score.size)
        return found.astype(np.float64)


def _keys(values: Singles, label: Bytes) -> NDArray[np.integer]:
    """Return twice the place of each value, or of its bin, plus the label."""
    if len(values) <= FEW:
        return 2 * np.unique(values, return_inverse=True)[1] + label
    bins = choose_bins(values)
    passes = compiled_passes() if use_compiled() else REFERENCE
    keys = np.empty(len(values), dtype=np.uint16)
    passes.bin_column(values, label, bins, np.full_like(bins.only, np.nan), keys, 1)
    return keys


def _sums(keys: NDArray[np.integer], scores: Floats, unit: float) -> Floats:
    """Return the number of rows of each key, and the sum of their scores."""
    if not use_compiled():
        return np.array([np.bincount(keys), np.bincount(keys, scores / unit)])
    sums = np.zeros((2, int(keys.max()) + 1))
    compiled(score_kernels.add_scores)(keys, scores, unit, sums)
    return sums


def _cells(rows: Ints) -> Ints:
    """Return the cell of each key, given their rows: one per value or bin, or of neighbours."""
    both = np.pad(rows, (0, rows.size % 2)).reshape(-1, 2).sum(axis=1)
    some = both > 0
    cell = np.cumsum(some) - 1
    if cell[-1] >= CELLS:
        cell = (np.cumsum(both) - 1) * CELLS // both.sum()
    return np.where(some, cell, 0).repeat(2)[: rows.size]


def _standardised(mean: Floats, rows: Ints) -> Floats:
    """Return cell means on the scale of mean 0 and deviation 1; 0 if all are equal."""
    distance = mean - np.average(mean, weights=rows)
    spread = np.average(distance**2, weights=rows)
    return distance / np.sqrt(spread or 1.0)


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """The columns of all rows, in bins that keep the order of the values."""

    X: Singles  # rows x columns: the values, in Fortran order
    bins: Bytes  # rows x columns: missing values are in the last bin
    only: Singles  # columns x bins: the only value of a bin; NaN if it may hold several
    source: Ints  # the feature of each column; a category may have several columns, by order
    levels: Ints  # number of categories of each column; 0 for numbers
    passes: Passes

    @classmethod
    def of_matrix(
        cls, X: Singles, source: Ints, levels: Ints, *, compiled: bool
    ) -> "BinnedColumns":
        """Choose the bins, one for each category unless there are too many."""
        passes = compiled_passes() if compiled else REFERENCE
        X = np.asfortranarray(X)
        bins = np.empty(X.shape, dtype=np.uint8, order="F")
        only = np.empty((X.shape[1], BINS), dtype=np.float32)
        keys, no_label = np.empty(len(X), dtype=np.uint16), np.zeros(len(X), dtype=np.uint8)
        for j, many in enumerate(levels):
            ranks = np.arange(many, dtype=np.float32).repeat(OFTEN)
            column = _by_bin(choose_bins(ranks if many else X[:, j]))
            only[j] = column.only
            passes.bin_column(X[:, j], no_label, column, only[j], keys, 0)
            bins[:, j] = keys
        return cls(X, bins, only, source, levels, passes)

    @property
    def compiled(self) -> bool:
        """Whether passes are compiled."""
        return self.passes is not REFERENCE

    def select(self, column: int) -> "BinnedColumns":
        """Keep one column."""
        at = slice(column, column + 1)
        arrays = self.X[:, at], self.bins[:, at], self.only[at], self.source[at], self.levels[at]
        return BinnedColumns(*arrays, self.passes)


def _by_bin(column: ColumnBins) -> ColumnBins:
    """Give every bin one part."""
    number = column.bin
    if not column.table.size:
        ends = np.flatnonzero(np.diff(number[:-1]))
        number = np.append(np.searchsorted(ends, np.arange(number.size - 1)), BINS - 1)
        column = replace(column, cuts=column.cuts[ends])
    first = np.flatnonzero(np.diff(number, prepend=-1))
    alone = np.diff(first, append=number.size) == 1
    only = np.full(BINS, np.nan, dtype=np.float32)
    only[number[first[alone]]] = column.only[first[alone]]
    return replace(column, table=number.astype(np.uint16).take(column.table), only=only)


MOST_TICKS = (1 << 17) - 1  # of a value
FULL = 1 << 14  # rows that words hold: less than 2³¹ ticks of a value, and less than 2¹⁶ rows
COUNTS = (0, 4)  # the values that count rows, by label
NUMBERS, WORDS = 7, 3  # two counts and at most five other values; the words that hold them


@dataclass(frozen=True, eq=False)
class Ticks:
    """A table of eight values per code, as multiples of seven whole numbers."""

    # codes x 7: one for rows of label 0, five numbers of ticks, and one for rows of label 1
    number: Ints
    place: Ints  # one per value: the number that the value is a multiple of
    unit: Floats  # one per value: the value of one

    @classmethod
    def of_table(cls, table: Floats, like: tuple[int, ...]) -> "Ticks":
        """Round values, codes x 8, of which 0 and 4 are counts.

        `like` gives for each value the first one that it is a multiple of; counts are multiples
        of themselves.
        """
        zeros, ones = COUNTS
        kept = [zeros, *sorted(set(like) - set(COUNTS))]
        kept += [ones] * (NUMBERS - len(kept))
        most = np.where(np.isin(np.arange(len(like)), COUNTS), 1, MOST_TICKS)
        largest = np.abs(table).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)
        number = np.rint(table[:, kept] / (largest / most)[kept]).astype(np.int64)
        place = np.array([kept.index(each) for each in like])
        return cls(number, place, largest / most[list(like)])

    def values(self, numbers: Ints) -> Floats:
        """Turn seven numbers, or sums of them, into eight values, along the last axis."""
        found: Floats = numbers[..., self.place] * self.unit
        return found

    def per_bin(self, bins: Bytes, rows: Rows, code: Codes, use_compiled: bool) -> Ints:
        """Add up numbers by column and bin."""
        if not use_compiled:
            return _per_bin(bins, rows, self.number[code[rows]])
        columns = bins.shape[1]
        even = columns - columns % 2
        sums = np.zeros((columns, BINS, NUMBERS), dtype=np.int64)
        words, added = self.words, np.zeros((columns, BINS, WORDS), dtype=np.int64)
        for start in range(0, len(rows), FULL):
            part = rows[start : start + FULL]
            if even:
                add = compiled(score_kernels.add_words_in_pairs)
                add(bins[:, :even], part, code, words, added[:even])
            if even < columns:
                compiled(score_kernels.add_words)(bins[:, -1], part, code, words, added[-1])
            compiled(score_kernels.part_words)(added, sums)
        return sums

    @property
    def words(self) -> Ints:
        """The numbers of each code in three words: one in each half, but both counts in one."""
        words = self.number[:, :WORDS] + (self.number[:, WORDS : 2 * WORDS] << 32)
        words[:, 0] += self.number[:, 6] << 16
        return words


def _per_bin(bins: Bytes, rows: Rows, number: Ints) -> Ints:
    sums = np.zeros((bins.shape[1], BINS, NUMBERS), dtype=np.int64)
    values = number.T.astype(np.float64)
    for j in range(bins.shape[1]):
        here = bins[:, j].take(rows)
        for k, each in enumerate(values):
            sums[j, :, k] = np.bincount(here, each, BINS)
    return sums


CHANNELS = 4
WIDTH = 2 * CHANNELS  # values of a code


@dataclass(frozen=True, eq=False)
class ValueTables:
    """What rows add up, in the form (channels, 2) of the criteria of cuts.

    Without weights, values are rounded to whole numbers of ticks, see `Ticks`.
    """

    codes: ScoreCodes  # all rows
    # Codes x 8: twice four channels. Channel 0 of the first table counts rows by label. The others
    # are multiplied by the weight; those of the second table by its square.
    tables: tuple[Floats, ...]
    # For each of the eight values, the first that it is a multiple of if there are no weights.
    # Besides the counts there are at most five of these.
    like: tuple[int, ...]

    def per_bin(self, columns: BinnedColumns, rows: Rows) -> Floats:
        """Return sums of shape (channels, 2, columns, bins)."""
        if self.codes.weight is None:
            ticks = self._ticks.per_bin(columns.bins, rows, self.codes.code, columns.compiled)
            return _in_channels(self._ticks.values(ticks))
        add_up = compiled(score_kernels.add_up) if columns.compiled else _add_up
        found = []
        for power, values in enumerate(self.tables, start=1):
            sums = np.zeros((len(columns.only), BINS, WIDTH))
            weight = self.codes.weight**power
            add_up(columns.bins, rows, self.codes.code, values, weight, sums)
            found.append(_in_channels(sums))
        return np.concatenate(found)

    def per_row(self, rows: Rows) -> Floats:
        """Return the values of rows, of shape (channels, 2, rows)."""
        code = self.codes.code
        if self.codes.weight is None:
            return _in_channels(self._ticks.values(self._ticks.number[code[rows]]))
        tables = enumerate(self.tables, start=1)
        found = [_row_values(rows, code, each, self.codes.weight**power) for power, each in tables]
        return np.concatenate(list(map(_in_channels, found)))

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


def single_rows(columns: BinnedColumns, values: ValueTables, rows: Rows, parts: Runs) -> Runs:
    """Divide bins of several values into the single rows of a node."""
    owners = np.flatnonzero(np.isnan(parts.value))
    found, numbers = [rows[:0]], [owners[:0]]
    for feature in np.unique(parts.feature[owners]):
        mine = owners[parts.feature[owners] == feature]
        owner_of = np.full(BINS, -1)
        owner_of[parts.place[mine] - feature * BINS] = mine
        column, wanted = columns.bins[:, feature], owner_of >= 0
        if columns.compiled:
            here = np.empty(int(parts.rows[mine].sum()), dtype=rows.dtype)
            compiled(score_kernels.collect)(column, rows, wanted, here)
        else:
            here = rows[np.flatnonzero(wanted.take(column.take(rows)))]
        found.append(here)
        numbers.append(owner_of[column[here]])
    rows, owner = np.concatenate(found), np.concatenate(numbers)
    value = columns.X[rows, parts.feature[owner]]
    order = np.argsort((owner << 32) + order_codes(value).astype(np.int64))
    rows, owner, value = rows[order], owner[order], value[order]
    return divided(parts, owner, values.per_row(rows), value, np.arange(rows.size))
