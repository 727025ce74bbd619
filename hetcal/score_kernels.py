"""The passes of score-based trees as loops for a compiler, see `tree_kernels`.

What a loop does is told by its namesake in `score_sums`.
"""

import numpy as np

from hetcal.arrays import Floats, Ints
from hetcal.binning import Keys
from hetcal.score_codes import Codes, Rows

BLOCK = 256  # rows at a time, so that what they add stays in the cache
FULL = 1 << 14  # rows after which half a word of 64 bits may be full of ticks


def add_ticks(bins: Keys, rows: Rows, code: Codes, words: Ints, sums: Ints) -> None:
    """Add pairs of whole numbers that share a word, and part them before it is full."""
    near = np.empty((BLOCK, 4), dtype=np.int64)
    packed = np.zeros((sums.shape[0], sums.shape[1], 4), dtype=np.int64)
    for start in range(0, len(rows), FULL):
        end = min(len(rows), start + FULL)
        for begin in range(start, end, BLOCK):
            part = rows[begin : min(end, begin + BLOCK)]
            for i in range(len(part)):
                for k in range(4):
                    near[i, k] = words[code[part[i]], k]
            for j in range(bins.shape[1]):
                column, into = bins[:, j], packed[j]
                for i in range(len(part)):
                    cell = into[column[part[i]]]
                    cell[0] += near[i, 0]
                    cell[1] += near[i, 1]
                    cell[2] += near[i, 2]
                    cell[3] += near[i, 3]
        low = (packed << 32) >> 32
        sums[:, :, :4] += low
        sums[:, :, 4:] += (packed - low) >> 32
        packed[:] = 0


def add_up(
    bins: Keys, rows: Rows, code: Codes, table: Floats, weight: Floats, sums: Floats
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
