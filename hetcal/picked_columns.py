"""A matrix of some rows of a table, of which one column at a time is in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Ints, Singles

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class PickedColumns:
    """A matrix in Fortran order that is never made: a column is copied when it is read.

    Parameters
    ----------
    columns : sequence of arrays of float32
        Every column, with all rows of the table or, if it had to be encoded, the picked ones.
    rows : array of int
        The rows that are picked, in order.
    whole : sequence of bool
        Whether the column has all rows of the table.
    """

    columns: Sequence[Singles]
    rows: Ints
    whole: Sequence[bool]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of picked rows and of columns."""
        return self.rows.size, len(self.columns)

    def __len__(self) -> int:
        return self.rows.size

    @property
    def T(self) -> Iterator[Singles]:  # noqa: N802
        """One column after the other."""
        return (self._column(j) for j in range(len(self.columns)))

    def __getitem__(self, key: tuple[slice | Numbers, int | Numbers]) -> Singles:
        """Return a column, `[:, j]`, or the values of pairs of rows and columns."""
        rows, columns = key
        if isinstance(rows, slice):
            return self._column(int(columns))
        values, columns = np.empty(len(rows), dtype=np.float32), np.asarray(columns)
        for j in np.unique(columns):
            here = np.flatnonzero(columns == j)
            at = rows[here]
            values[here] = self.columns[j].take(self.rows.take(at) if self.whole[j] else at)
        return values

    def _column(self, j: int) -> Singles:
        return self.columns[j].take(self.rows) if self.whole[j] else self.columns[j]


Matrix = Singles | PickedColumns
