"""Values of codes as whole numbers of ticks: their sums are exact, and several share a word.

A tick is less than 1/100,000 of the largest value.
"""

from dataclasses import dataclass

import numpy as np

from hetcal import score_kernels
from hetcal.arrays import Floats, Ints
from hetcal.binning import BINS, Bytes
from hetcal.kernels import compiled
from hetcal.score_codes import Codes, Rows

MOST_TICKS = (1 << 17) - 1  # of a value
FULL = 1 << 14  # rows that words hold: less than 2³¹ ticks of a value, and less than 2¹⁶ rows
COUNTS = (0, 4)  # the values that count rows, by label
NUMBERS, WORDS = 7, 3  # two counts and at most five other values; the words that hold them


@dataclass(frozen=True, eq=False)
class Ticks:
    """A table of eight values per code, as multiples of seven whole numbers.

    Parameters
    ----------
    number : array of int, codes x 7
        One for rows of label 0, five numbers of ticks, and one for rows of label 1.
    place : array of int, one per value
        The number that the value is a multiple of.
    unit : array of float, one per value
        The value of one.
    """

    number: Ints
    place: Ints
    unit: Floats

    @classmethod
    def of_table(cls, table: Floats, like: tuple[int, ...]) -> "Ticks":
        """Round values.

        Parameters
        ----------
        table : array, codes x 8
            The values; 0 and 4 are counts.
        like : tuple of int, one per value
            The first value that it is a multiple of; counts are multiples of themselves.
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
