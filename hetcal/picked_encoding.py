"""Training rows of a large table as a tree sees them, picked column by column."""

from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.picked_columns import PickedColumns
from hetcal.progress import Progress, silent
from hetcal.ranking import Labels
from hetcal.tree_encoding import EncodedColumn, encode_column

NOTHING = np.empty(0, dtype=np.float32)


def pick_columns(
    frame: pd.DataFrame,
    rows: Ints | None,
    ordering: Labels | Floats,
    weight: Floats | None,
    progress: Progress = silent,
) -> tuple[PickedColumns, list[EncodedColumn]]:
    """Encode training rows; what is in single precision stays where it is.

    Parameters
    ----------
    frame : DataFrame
        The whole table.
    rows : array of int or None
        The training rows; None for all of them.
    ordering, weight : array
        The number that categories are ordered by, and the weight, of these.
    progress : callable, optional
        Is told how far the work has come.

    Returns
    -------
    picked : PickedColumns
        What the tree sees.
    columns : list of EncodedColumn
        Without their values, see `complete_columns`.
    """
    weight = np.broadcast_to(1.0, len(ordering)) if weight is None else weight
    stored, whole, columns = [], [], []
    for i, (_, column) in enumerate(frame.items()):
        progress(i / frame.shape[1], f"Growing the tree: column {i + 1} of {frame.shape[1]}")
        chosen = column if rows is None else column.iloc[rows]
        encoded = encode_column(chosen, ordering, weight, complete=False)
        whole.append(column.dtype == np.float32)
        stored.append(np.ascontiguousarray(column) if whole[-1] else encoded.values)
        columns.append(replace(encoded, values=NOTHING))
    return PickedColumns(stored, rows, whole, len(ordering)), columns
