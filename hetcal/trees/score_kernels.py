"""The passes of score-based trees as loops for a compiler, see `kernels` and `score_sums`."""

import numpy as np

from hetcal.arrays import Bools, Floats, Ints
from hetcal.trees.bins import Bytes, Keys
from hetcal.trees.kernels import Rows

BLOCK = 1024  # rows at a time, so that what they add stays in the cache


def add_scores(keys: Rows, scores: Floats, unit: float, sums: Floats) -> None:
    """Count the rows of each key, and add up their scores."""
    rows, total = sums[0], sums[1]
    for i in range(len(keys)):
        rows[keys[i]] += 1.0
        total[keys[i]] += scores[i] / unit


def count(code: Keys, rows: Rows, counts: Floats) -> Floats:
    """Count the rows of each code."""
    for row in rows:
        counts[code[row]] += 1.0
    return counts


def add_words(bins: Bytes, rows: Rows, code: Keys, words: Ints, sums: Ints) -> None:
    """Add three words by the bin of one column."""
    for row in rows:
        word, cell = words[code[row]], sums[bins[row]]
        cell[0] += word[0]
        cell[1] += word[1]
        cell[2] += word[2]


def add_words_in_pairs(bins: Bytes, rows: Rows, code: Keys, words: Ints, sums: Ints) -> None:
    """Add three words by bin, of two columns at a time: no addition waits for the one before."""
    near = np.empty((BLOCK, 3), dtype=np.int64)
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        for i in range(len(part)):
            word, copy = words[code[part[i]]], near[i]
            copy[0], copy[1], copy[2] = word[0], word[1], word[2]
        for j in range(0, bins.shape[1], 2):
            first, second, one, two = bins[:, j], bins[:, j + 1], sums[j], sums[j + 1]
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


def collect(bins: Bytes, rows: Rows, wanted: Bools, found: Rows) -> None:
    """Write down the rows in wanted bins of one column."""
    at = 0
    for row in rows:
        if wanted[bins[row]]:
            found[at] = row
            at += 1


def add_up(
    bins: Bytes, rows: Rows, code: Keys, table: Floats, weight: Floats, sums: Floats
) -> None:
    """Add the eight values of each row, times its weight but for counts."""
    near = np.empty((BLOCK, 8))
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        for i in range(len(part)):
            for k in range(8):
                factor = weight[part[i]] if k % 4 else 1.0
                near[i, k] = table[code[part[i]], k] * factor
        for j in range(bins.shape[1]):
            column, into = bins[:, j], sums[j]
            for i in range(len(part)):
                cell = into[column[part[i]]]
                for k in range(8):
                    cell[k] += near[i, k]
