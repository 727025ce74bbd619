"""A table whose columns have their roles: label, features, group, weight, score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hetcal.arrays import Bools, Floats, Ints
from hetcal.columns import column_kind, describe_columns, distinct_count, row_count
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
    "has_many_classes",
    "label_values",
    "make_table",
]


@dataclass(frozen=True)
class Table:
    """Rows with labels of two classes or more.

    Parameters
    ----------
    frame : DataFrame
        All original columns, rows in file order and numbered from 0.
    roles : Roles
        With `features` filled in, and with `positive` unless there are `classes`.
    y : int array
        1 where the label is positive, or the number of each row's class.
    weight : float array or None
        Row weights.
    digest : str
        Equal for equal content and roles.
    labelled : bool array
        Which rows of the source are in the table: those without a label may be left out.
    classes : tuple of str
        The values of the label in the order of the model's outputs, where there are more than
        two; empty where one value stands against the rest.
    """

    frame: pd.DataFrame
    roles: Roles
    y: Ints
    weight: Floats | None
    digest: str
    labelled: Bools
    classes: tuple[str, ...] = ()

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

    def weight_of(self, rows: Ints) -> Floats | None:
        """Return the weights of some rows; None if they have none."""
        return None if self.weight is None else self.weight[rows]

    def view(self, number: int) -> "Table":
        """Return the rows with one of several classes against all others."""
        return replace(
            self,
            roles=replace(self.roles, positive=self.classes[number]),
            y=(self.y == number).astype(np.int8),
            digest=text_digest(f"{self.digest} {number}"),
            classes=(),
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)


def make_table(
    source_frame: pd.DataFrame,
    roles: Roles,
    digest: str | None = None,
    classes: Sequence[str] | None = None,
) -> Table:
    """Give the columns of a table their roles.

    A label of more than two values, none of which is named as positive, has as many classes.

    Parameters
    ----------
    source_frame : DataFrame
        The rows; not changed.
    roles : Roles
        What the user chose.
    digest : str, optional
        Stands for the rows, where what is worked out is kept; by default that of their values.
    classes : sequence of str, optional
        The values of the label in the order of the model's outputs, where there are more than
        two; ascending by default.

    Raises
    ------
    TableError
        When a column cannot play its role, or the classes are not those of the label.
    """
    check_roles(source_frame, roles)
    digest = frame_digest(source_frame) if digest is None else digest
    column, frame = source_frame[roles.label], source_frame
    label = encode_label(column, roles.positive, roles.drop_unlabelled, classes)
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.reset_index(drop=True)
    y = label.y
    if not label.labelled.all():
        frame, y = frame[label.labelled].reset_index(drop=True), y[label.labelled]
    resolved = replace(roles, positive=label.positive, features=feature_names(frame, roles))
    if roles.group is not None:
        _check_group(frame[roles.group])
    weight = None if roles.weight is None else _weight(frame[roles.weight])
    named = f"\n{label.classes}" if label.classes else ""
    fingerprint = text_digest(f"{digest}\n{resolved!r}{named}")
    return Table(frame, resolved, y, weight, fingerprint, label.labelled, label.classes)


def has_many_classes(frame: pd.DataFrame, roles: Roles) -> bool:
    """Tell whether the label has more than two values and none is named as positive."""
    return (
        roles.positive is None and roles.label in frame and distinct_count(frame[roles.label]) > 2
    )


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
    """Count rows and classes per role.

    Returns
    -------
    DataFrame
        Columns: role, rows, share_of_rows (of all rows of the table); for two classes also
        positives (rows) and positive_rate, for more a column `class <value>` for each: its
        share of the rows of the role. Shares of classes are by weight where rows have one, and
        NaN without rows or weight.
    """
    parts = [split.of(role) for role in ROLES]
    rows = np.array([each.size for each in parts])
    balance = pd.DataFrame({"role": list(ROLES), "rows": rows})
    balance["share_of_rows"] = rows / max(table.rows, 1)
    if table.classes:
        shares = pd.DataFrame([class_shares(table, each) for each in parts])
        return balance.join(shares.rename(columns="class {}".format))
    balance.insert(2, "positives", [int(table.y[each].sum()) for each in parts])
    rate = [positive_rate(table.y[each], table.weight_of(each)) for each in parts]
    balance.insert(3, "positive_rate", rate)
    return balance


def class_shares(table: Table, rows: Ints) -> dict[str, float]:
    """Return the share of every class among some rows, by weight where rows have one."""
    mass = np.bincount(table.y[rows], table.weight_of(rows), minlength=len(table.classes))
    total = mass.sum()
    share = mass / total if total else np.full(mass.size, np.nan)
    return dict(zip(table.classes, share.tolist(), strict=True))
