"""Training rows of a large table as a tree sees them, picked column by column."""

from collections.abc import Collection, Sequence
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
    rows: Ints,
    positive: Labels,
    weight: Floats | None,
    progress: Progress = silent,
) -> tuple[PickedColumns, list[EncodedColumn]]:
    """Encode training rows; what is in single precision stays where it is.

    Parameters
    ----------
    frame : DataFrame
        The whole table.
    rows : array of int
        The training rows.
    positive, weight : array
        Label and weight of these.
    progress : callable, optional
        Is told how far the work has come.

    Returns
    -------
    picked : PickedColumns
        What the tree sees.
    columns : list of EncodedColumn
        Without their values, see `with_values`.
    """
    weight = np.broadcast_to(1.0, rows.size) if weight is None else weight
    stored, whole, columns = [], [], []
    for i, (_, column) in enumerate(frame.items()):
        progress(i / frame.shape[1], f"Growing the tree: column {i + 1} of {frame.shape[1]}")
        chosen = column.iloc[rows]
        encoded = encode_column(chosen, positive, weight, complete=False)
        whole.append(column.dtype == np.float32)
        stored.append(column.to_numpy() if whole[-1] else encoded.values)
        columns.append(replace(encoded, values=NOTHING))
    return PickedColumns(stored, rows, whole), columns


def with_values(
    columns: Sequence[EncodedColumn], picked: PickedColumns, used: Collection[int]
) -> list[EncodedColumn]:
    """Give some columns their values back."""
    return [
        replace(each, values=picked[:, i]) if i in used else each for i, each in enumerate(columns)
    ]
