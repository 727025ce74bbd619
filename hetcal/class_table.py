"""A table whose label has more than two values."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints
from hetcal.columns import distinct_count, row_count
from hetcal.digests import text_digest
from hetcal.errors import TableError
from hetcal.labels import label_codes
from hetcal.roles import Roles, check_names
from hetcal.splits import ROLES, Split
from hetcal.table import Table, make_table

MOST_CLASSES = 100


@dataclass(frozen=True)
class ClassTable:
    """Rows with labels of several classes.

    Parameters
    ----------
    table : Table
        The rows; its positive class is the first of `classes`.
    classes : tuple of str
        The values of the label, in the order of the model's outputs.
    y : array of int
        The number of each row's class.
    """

    table: Table
    classes: tuple[str, ...]
    y: Ints

    @property
    def digest(self) -> str:
        """Equal for equal content, roles and classes."""
        return text_digest(f"{self.table.digest} {self.classes}")

    def weight(self, rows: Ints) -> Floats | None:
        """Return the weights of some rows; None if they have none."""
        return None if self.table.weight is None else self.table.weight[rows]

    def view(self, number: int) -> Table:
        """Return the rows with one class against all others."""
        roles = replace(self.table.roles, positive=self.classes[number])
        return replace(
            self.table,
            roles=roles,
            y=(self.y == number).astype(np.int8),
            digest=text_digest(f"{self.digest} {number}"),
        )


def make_class_table(
    source_frame: pd.DataFrame,
    roles: Roles,
    digest: str | None = None,
    classes: tuple[str, ...] | None = None,
) -> ClassTable:
    """Give the columns of a table their roles.

    Parameters
    ----------
    source_frame : DataFrame
        The rows; not changed.
    roles : Roles
        What the user chose; a positive value in it is of no account.
    digest : str, optional
        As in `hetcal.table.make_table`.
    classes : tuple of str, optional
        The values of the label in the order of the model's outputs; ascending by default.

    Raises
    ------
    TableError
        When a column cannot play its role, or the classes are not those of the label.
    """
    check_names(source_frame)
    # A label that exists is needed to name its values; the rest is checked with the table.
    found: tuple[str, ...] = ()
    if roles.label in source_frame:
        found = tuple(label_codes(source_frame[roles.label], roles.drop_unlabelled)[1])
    classes = classes or found
    _check_classes(roles.label, classes, found)
    positive = classes[0] if classes else None
    table = make_table(source_frame, replace(roles, positive=positive), digest)
    codes, values = label_codes(table.frame[roles.label], True)
    number = np.array([classes.index(value) for value in values])
    return ClassTable(table, classes, number[codes])


def classes_by_role(table: ClassTable, split: Split) -> pd.DataFrame:
    """Count the rows of each role.

    Returns
    -------
    DataFrame
        `role`, `rows`, `share_of_rows` (of all rows of the table), and for each class a
        column `class <value>`: its share of the rows of the role, by weight where rows have
        one; NaN without rows.
    """
    weight = np.ones(table.y.size) if table.table.weight is None else table.table.weight
    mass = np.stack(
        [
            np.bincount(table.y[rows], weight[rows], len(table.classes))
            for rows in map(split.of, ROLES)
        ]
    )
    total = mass.sum(axis=1, keepdims=True)
    share = np.divide(mass, total, out=np.full(mass.shape, np.nan), where=total > 0)
    rows = np.array([split.of(role).size for role in ROLES])
    counts = pd.DataFrame({"role": ROLES, "rows": rows, "share_of_rows": rows / table.y.size})
    return counts.join(pd.DataFrame(share, columns=[f"class {each}" for each in table.classes]))


def has_many_classes(frame: pd.DataFrame, roles: Roles) -> bool:
    """Tell whether the label has more than two values and none is named as positive."""
    return (
        roles.positive is None and roles.label in frame and distinct_count(frame[roles.label]) > 2
    )


def _check_classes(label: str, classes: tuple[str, ...], found: tuple[str, ...]) -> None:
    if len(found) > MOST_CLASSES:
        raise TableError(
            f"The label column '{label}' has {len(found):,} distinct values.",
            f"Up to {MOST_CLASSES} classes can be calibrated.",
            "Choose another label column, or name a positive value to set it against all others.",
        )
    unknown = sorted(set(classes) ^ set(found))
    if unknown or len(set(classes)) < len(classes):
        raise TableError(
            f"The classes {', '.join(classes)} are not the values of the label column '{label}'"
            + (f" ({unknown[0]} is on one side only)." if unknown else ": one is named twice."),
            f"The column has {row_count(len(found)).replace('row', 'value')}: {', '.join(found)}.",
            "Name each of these once, in the order of the model's outputs.",
        )
