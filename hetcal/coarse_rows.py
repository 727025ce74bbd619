"""A matrix with the bin of each value, for sums of many values per row.

The tree on labels counts rows in thousands of parts of bins. Sums of eight numbers per part
would not stay in the cache, so trees on scores add up by bin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hetcal.arrays import Singles
from hetcal.binning import BINS, Bytes, ColumnBins
from hetcal.row_passes import Passes


@dataclass(frozen=True, eq=False)
class CoarseRows:
    """A matrix with the bin of each value.

    Parameters
    ----------
    X : array of float32, rows x columns
        The values, in Fortran order.
    bins : array of uint8, rows x columns
        Their bins, which keep the order of the values; missing values are in the last one.
    only : array of float32, columns x bins
        The only value of a bin; NaN if it may hold several.
    """

    X: Singles
    bins: Bytes
    only: Singles

    def select(self, column: int) -> "CoarseRows":
        """Keep one column."""
        at = slice(column, column + 1)
        return CoarseRows(self.X[:, at], self.bins[:, at], self.only[at])


def coarse_rows(X: Singles, columns: Sequence[ColumnBins], passes: Passes) -> CoarseRows:
    """Put each value of a matrix in Fortran order into its bin."""
    bins = np.empty(X.shape, dtype=np.uint8, order="F")
    keys = np.empty(len(X), dtype=np.uint16)
    no_label = np.zeros(len(X), dtype=np.uint8)
    coarse = [_by_bin(column) for column in columns]
    only = np.stack([column.only for column in coarse])
    for j, column in enumerate(coarse):
        passes.bin_column(X[:, j], no_label, column, only[j], keys, 0)
        bins[:, j] = keys
    return CoarseRows(X, bins, only)


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
