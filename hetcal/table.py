"""A table whose columns have their roles: label, features, group, weight, score."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Ints
from hetcal.columns import column_kind, describe_columns, row_count
from hetcal.digests import frame_digest, text_digest
from hetcal.errors import TableError
from hetcal.labels import encode_label, guess_positive, label_values, positive_rate
from hetcal.roles import Roles, check_roles, feature_names
from hetcal.row_weights import LARGEST
from hetcal.splits import ROLES, Split
from hetcal.stratified import Groups

ALL_ROWS = slice(None)

__all__ = [
    "Roles",
    "Table",
    "class_balance",
    "column_kind",
    "describe_columns",
    "guess_positive",
    "label_values",
    "make_table",
]


@dataclass(frozen=True)
class Table:
    """Rows with labels.

    Parameters
    ----------
    frame : DataFrame
        All original columns, rows in file order and numbered from 0.
    roles : Roles
        With `positive` and `features` filled in.
    y : int8 array
        1 where the label is positive.
    weight : float array or None
        Row weights.
    digest : str
        Equal for equal content and roles.
    labelled : bool array
        Which rows of the source are in the table: those without a label may be left out.
    """

    frame: pd.DataFrame
    roles: Roles
    y: NDArray[np.int8]
    weight: Floats | None
    digest: str
    labelled: Bools

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """The features."""
        return self.frame[list(self.roles.features or ())]

    def row_numbers(self, rows: slice = ALL_ROWS) -> Ints:
        """Return where rows stand in the source, from 0."""
        if self.labelled.size == self.rows:
            return np.arange(*rows.indices(self.rows))
        return np.flatnonzero(self.labelled)[rows]

    def group(self, rows: Ints) -> Groups | None:
        """Return the groups of some rows; None if there is no such column."""
        name = self.roles.group
        return None if name is None else self.frame[name].iloc[rows].to_numpy()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)


def make_table(source_frame: pd.DataFrame, roles: Roles, digest: str | None = None) -> Table:
    """Give the columns of a table their roles.

    Parameters
    ----------
    source_frame : DataFrame
        The rows; not changed.
    roles : Roles
        What the user chose.
    digest : str, optional
        Stands for the rows, where what is worked out is kept; by default that of their values.

    Raises
    ------
    TableError
        When a column cannot play its role.
    """
    check_roles(source_frame, roles)
    digest = frame_digest(source_frame) if digest is None else digest
    y, labelled, positive = encode_label(
        source_frame[roles.label], roles.positive, roles.drop_unlabelled
    )
    frame = source_frame
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.reset_index(drop=True)
    if not labelled.all():
        frame, y = frame[labelled].reset_index(drop=True), y[labelled]
    resolved = replace(roles, positive=positive, features=feature_names(frame, roles))
    if roles.group is not None:
        _check_group(frame[roles.group])
    weight = None if roles.weight is None else _weight(frame[roles.weight])
    fingerprint = text_digest(f"{digest}\n{resolved!r}")
    return Table(frame, resolved, y, weight, fingerprint, labelled)


def _check_group(column: pd.Series) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise TableError(
            f"The group column '{column.name}' is empty in {missing:,} of "
            f"{row_count(len(column))}.",
            "Every row must belong to a group.",
            "Fill the missing groups in, or choose another group column.",
        )


def _weight(column: pd.Series) -> Floats:
    name = f"The weight column '{column.name}'"
    most, least = LARGEST, 1 / LARGEST
    needed = f"Weights must be 0, though not all of them, or numbers from {least:g} to {most:g}."
    remedy = "Correct these values, or choose another weight column."
    if column_kind(column) != "number":
        raise TableError(f"{name} holds text or other values that are not numbers.", needed, remedy)
    weight = column.to_numpy(dtype=np.float64, na_value=np.nan)
    for bad, what in (
        (np.isnan(weight), "missing"),
        (np.isinf(weight), "infinite"),
        (weight < 0, "negative"),
        (weight > most, "too large"),
        ((weight > 0) & (weight < least), "too small"),
    ):
        if bad.any():
            raise TableError(f"{name} is {what} in {row_count(bad.sum())}.", needed, remedy)
    if not weight.any():
        raise TableError(f"{name} is 0 in every row.", needed, remedy)
    return weight


def class_balance(table: Table, split: Split) -> pd.DataFrame:
    """Count rows and positives per role.

    Returns
    -------
    DataFrame
        Columns: role, rows, positives (both count rows), positive_rate (by weight where
        rows have one; NaN without rows or weight) and share_of_rows (of all rows of the
        table).
    """
    rows = np.array([split.of(role).size for role in ROLES])
    positives = np.array([int(table.y[split.of(role)].sum()) for role in ROLES])
    rate = [
        positive_rate(table.y[each], None if table.weight is None else table.weight[each])
        for each in map(split.of, ROLES)
    ]
    return pd.DataFrame(
        {
            "role": list(ROLES),
            "rows": rows,
            "positives": positives,
            "positive_rate": rate,
            "share_of_rows": rows / max(table.rows, 1),
        }
    )
