"""The passes of score-based trees as loops for a compiler, see `tree_kernels`.

What a loop is for is told where it is called, in `score_ticks` and `score_sums`.
"""

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.binning import Bytes
from hetcal.score_codes import Codes, Rows

BLOCK = 1024  # rows at a time, so that what they add stays in the cache


def add_words(bins: Bytes, rows: Rows, code: Codes, words: Ints, sums: Ints) -> None:
    """Add three words by column and bin; `sums` has one column more, for any use."""
    near = np.empty((BLOCK, 3), dtype=np.int64)
    last = bins.shape[1] - 1
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        for i in range(len(part)):
            for k in range(3):
                near[i, k] = words[code[part[i]], k]
        for j in range(0, last + 1, 2):  # two columns: an addition need not wait for another
            first, second = bins[:, j], bins[:, min(j + 1, last)]
            one, two = sums[j], sums[j + 1]
            for i in range(len(part)):
                a, b, c = near[i, 0], near[i, 1], near[i, 2]
                cell = one[first[part[i]]]
                cell[0] += a
                cell[1] += b
                cell[2] += c
                cell = two[second[part[i]]]
                cell[0] += a
                cell[1] += b
                cell[2] += c


def part_words(words: Ints, numbers: Ints) -> None:
    """Add the seven numbers in words to others, and leave zeros."""
    for j in range(numbers.shape[0]):
        for place in range(numbers.shape[1]):
            word, number = words[j, place], numbers[j, place]
            for k in range(3):
                low = (word[k] << 32) >> 32
                number[k] += low
                number[k + 3] += (word[k] - low) >> 32
            ones = (word[0] << 32) >> 48
            number[0] -= ones << 16
            number[6] += ones
    words[:] = 0


def add_up(
    bins: Bytes, rows: Rows, code: Codes, table: Floats, weight: Floats, sums: Floats
) -> None:
    """Add the eight values of each row, times its weight but for counts."""
    near = np.empty((BLOCK, 8))
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        for i in range(len(part)):
            for k in range(8):
                worth = weight[part[i]] if k % 4 else 1.0
                near[i, k] = table[code[part[i]], k] * worth
        for j in range(bins.shape[1]):
            column, into = bins[:, j], sums[j]
            for i in range(len(part)):
                cell = into[column[part[i]]]
                for k in range(8):
                    cell[k] += near[i, k]
