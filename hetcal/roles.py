"""What the columns of a table are for."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from hetcal.columns import column_kind, counted, near_names
from hetcal.errors import TableError


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for.

    Parameters
    ----------
    label : str
        The column with the classes.
    positive : str, optional
        Its positive value as text; guessed when None and there are two.
    features : tuple of str, optional
        Columns that describe a row; None means all numbers and categories that
        have no other role.
    ignore : tuple of str
        Columns that are not features.
    group : str, optional
        Rows with the same value here stay on one side of a split, and of every fold.
    weight : str, optional
        Importance of each row.
    split : str, optional
        Column that names each row's role in the split.
    score : str, optional
        Column with a model's scores.
    drop_unlabelled : bool
        Leave out rows whose label is missing instead of refusing the table.
    class_scores : tuple of str
        Columns with a model's scores, one per class, where there are more than two.
    """

    label: str
    positive: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    split: str | None = None
    score: str | None = None
    drop_unlabelled: bool = False
    class_scores: tuple[str, ...] = ()

    @property
    def special(self) -> tuple[tuple[str, str], ...]:
        """What the columns that are no features by default are for, and their names."""
        named = (
            ("label", self.label),
            ("group", self.group),
            ("weight", self.weight),
            ("split", self.split),
            *(("score", column) for column in (self.score, *self.class_scores)),
        )
        return tuple((role, column) for role, column in named if column is not None)


def check_names(frame: pd.DataFrame) -> None:
    """Refuse a table with a name that several columns share.

    Raises
    ------
    TableError
        Naming the first of them.
    """
    if not frame.columns.is_unique:
        raise TableError(
            f"The table has more than one column named "
            f"'{frame.columns[frame.columns.duplicated()][0]}'.",
            "Every column needs a name of its own.",
            "Rename or remove one of them.",
        )


def check_roles(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse roles whose column does not exist, has a twin, or is the label as well.

    Raises
    ------
    TableError
        Naming the column, and names that are close to it.
    """
    check_names(frame)
    for role, column in roles.special:
        _check_exists(frame, column, f"{role} column")
    _check_clashes(roles)


def _check_exists(frame: pd.DataFrame, column: str, what: str) -> None:
    if column in frame.columns:
        return
    names = [str(name) for name in frame.columns]
    near = near_names(column, names)
    listed = ", ".join(f"'{name}'" for name in near or names[:5])
    raise TableError(
        f"There is no column '{column}' to use as {what}.",
        f"It must be one of the table's {counted(len(names), 'column')}.",
        f"Choose {'a similar name' if near else 'one of them'}, such as {listed}.",
    )


def _check_clashes(roles: Roles) -> None:
    for role, column in roles.special:
        if role != "label" and column == roles.label:
            raise _clash(column, role)
    if roles.features is not None and roles.label in roles.features:
        raise _clash(roles.label, "feature")


def _clash(column: str, role: str) -> TableError:
    return TableError(
        f"The column '{column}' is chosen both as label and as {role}.",
        "The label must have no other role, for it would give the answer away.",
        f"Choose another column as {role}.",
    )


def feature_names(frame: pd.DataFrame, roles: Roles) -> tuple[str, ...]:
    """Return the features that were chosen, or all columns that can be one.

    Raises
    ------
    TableError
        When a chosen column does not exist or cannot be a feature, or none is left.
    """
    for column in (*(roles.features or ()), *roles.ignore):
        _check_exists(frame, column, "ignored column" if column in roles.ignore else "feature")
    if roles.features is None:
        left_out = {column for _, column in roles.special} | set(roles.ignore)
        names = [
            column
            for column in frame.columns
            if column not in left_out and column_kind(frame[column]) in ("number", "category")
        ]
    else:
        names = [c for c in dict.fromkeys(roles.features) if c not in roles.ignore]
        _check_feature_kinds(frame, names)
    if not names:
        raise TableError(
            f"No features are left beside the label '{roles.label}'.",
            "At least one column of numbers or categories must describe the rows.",
            "Choose features, or ignore fewer columns.",
        )
    return tuple(names)


def _check_feature_kinds(frame: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        kind = column_kind(frame[name])
        if kind in ("date", "other"):
            what = "dates" if kind == "date" else f"values of type {frame[name].dtype}"
            raise TableError(
                f"The feature '{name}' holds {what}.",
                "A feature must be a number or a category.",
                "Leave it out, or turn it into a number, such as days since a fixed day.",
            )
