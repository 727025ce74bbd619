"""A matrix of rows of a table whose columns lie apart in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcal.arrays import Ints, Singles

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class PickedColumns:
    """A matrix in Fortran order that is never made.

    Where rows are picked from a column of the table, they are copied when they are read.

    Parameters
    ----------
    columns : sequence of arrays of float32
        Every column, with all rows of the table or, if it had to be encoded, the picked ones.
    rows : array of int or None
        The rows that are picked, in order; None for all rows.
    whole : sequence of bool
        Whether the column has all rows of the table.
    size : int
        Number of rows.
    """

    columns: Sequence[Singles]
    rows: Ints | None
    whole: Sequence[bool]
    size: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of picked rows and of columns."""
        return self.size, len(self.columns)

    def __len__(self) -> int:
        return self.size

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
            if self.rows is not None and self.whole[j]:
                at = self.rows.take(at)
            values[here] = self.columns[j].take(at)
        return values

    def _column(self, j: int) -> Singles:
        column = self.columns[j]
        return column if self.rows is None or not self.whole[j] else column.take(self.rows)


Matrix = Singles | PickedColumns
