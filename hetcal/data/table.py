"""A table whose columns have their roles: label, features, group, weight, score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Bools, Floats, Groups, Ints
from hetcal.data.columns import (
    LARGEST,
    RAW,
    check_names,
    column_kind,
    counted,
    distinct_count,
    row_count,
    value_codes,
    value_text,
)
from hetcal.data.groups import FoundGroup, find_group
from hetcal.data.splits import ROLES, Split
from hetcal.digests import frame_digest, text_digest
from hetcal.errors import TableError, did_you_mean

_POSITIVE = {"yes", "y", "true", "t", "positive", "pos", "+", "event", "case", "bad"}
_NEGATIVE = {"no", "n", "false", "f", "negative", "neg", "-", "none", "control", "good"}
_SHOWN_VALUES = 5
MOST_CLASSES = 100


@dataclass(frozen=True)
class Label:
    """A label column as numbers: 1 where it is positive, or the number of each row's class."""

    y: Ints
    labelled: Bools  # rows whose label is not missing
    positive: str | None  # the positive value; None where each value is a class
    classes: tuple[str, ...] = ()  # in the order of their numbers; empty where one is positive


def label_values(column: pd.Series) -> list[str]:
    """Return the distinct values of a column as text, without missing values, smallest first."""
    return value_codes(column)[1]


def alike_values(values: Sequence[str]) -> list[list[str]]:
    """Return the groups of values that differ only in case or in spaces.

    >>> alike_values(["No", "Yes", "yes "])
    [['Yes', 'yes ']]
    """
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def guess_positive(values: Sequence[str]) -> str | None:
    """Guess which of two label values is the positive one; None unless there are two.

    Words such as yes and no decide first, then a leading > or "not", then the order.

    >>> guess_positive(["<=50K", ">50K"]), guess_positive(["1", "2"]), guess_positive(["a"])
    ('>50K', '2', None)
    """
    return max(values, key=_positivity) if len(values) == 2 else None


def _positivity(value: str) -> tuple[int, float, str]:
    word = value.strip().lower()
    if word in _POSITIVE:
        sign = 1
    elif word in _NEGATIVE or word.startswith(("<", "not ", "no ", "non")):
        sign = -1
    else:
        sign = int(word.startswith(">"))
    try:
        return sign, float(word), value
    except ValueError:
        return sign, 0.0, value


def positive_rate(y: NDArray[np.integer], weight: Floats | None = None) -> float:
    """Return the share of positive rows, by weight if they have one; NaN without any.

    >>> positive_rate(np.array([1, 0, 0])), positive_rate(np.array([1, 0]), np.array([3.0, 1.0]))
    (0.3333333333333333, 0.75)
    """
    total = y.size if weight is None else weight.sum()
    positive = y.sum() if weight is None else weight @ y
    return float(positive / total) if total else float("nan")


def encode_label(
    column: pd.Series,
    positive: str | None,
    drop_unlabelled: bool,
    classes: Sequence[str] | None = None,
) -> Label:
    """Turn a label column into numbers; parameters as in `Roles` and `make_table`.

    All values other than a named positive value are negative. If none is named and there are
    more than two values, each of them is a class.
    """
    codes, values = label_codes(column, drop_unlabelled)
    labelled = codes >= 0
    if positive is None and len(values) > 2:
        _check_not_too_many(str(column.name), values, codes[labelled])
        order = _class_order(str(column.name), classes or values, values)
        number = np.array([order.index(value) for value in values])
        return Label(number[codes], labelled, None, order)
    _check_several(str(column.name), values, codes)
    chosen = _chosen_positive(str(column.name), values, positive)
    return Label((codes == values.index(chosen)).astype(np.int8), labelled, chosen)


def label_codes(column: pd.Series, drop_unlabelled: bool) -> tuple[Ints, list[str]]:
    """Return the number of each row's label, -1 where it is missing, and all labels as text."""
    codes, values = value_codes(column)
    _check_fractions(column)
    missing = int((codes < 0).sum())
    if missing and values and not drop_unlabelled:
        raise TableError(
            f"The label column '{column.name}' is empty in {missing:,} of {row_count(codes.size)}.",
            "Every row needs a label.",
            "Tick 'leave rows without a label out' (--drop-unlabelled on the command line, "
            "drop_unlabelled=True in Python), or fill these labels in.",
        )
    return codes, values


def _check_fractions(column: pd.Series) -> None:
    if column_kind(column) != "number" or not pd.api.types.is_float_dtype(column):
        return
    numbers = column.to_numpy(dtype=np.float64)
    fractions = numbers[np.isfinite(numbers) & (numbers != np.round(numbers))]
    if fractions.size:
        examples = ", ".join(f"{value:.6g}" for value in np.unique(fractions)[:3])
        raise TableError(
            f"The label column '{column.name}' holds fractions ({examples}).",
            "A label names classes, such as 0 and 1; fractions look like scores.",
            "Choose another label column, or recode this one to 0 and 1.",
        )


def _check_several(name: str, values: Sequence[str], codes: Ints) -> None:
    if len(values) > 1:
        return
    rows = row_count(int((codes >= 0).sum()))
    raise TableError(
        f"The label column '{name}' has a single value ('{values[0]}' in {rows})."
        if values
        else f"The label column '{name}' has no values at all.",
        "Two classes are needed.",
        "Choose another label column, or recode this one to 0 and 1.",
    )


def _check_not_too_many(name: str, values: Sequence[str], codes: Ints) -> None:
    if len(values) <= MOST_CLASSES:
        return
    rows = np.bincount(codes, minlength=len(values))
    often = np.argsort(-rows, kind="stable")[:_SHOWN_VALUES]
    shown = ", ".join(f"'{values[i]}' in {row_count(rows[i])}" for i in often)
    raise TableError(
        f"The label column '{name}' has {len(values):,} distinct values ({shown}, …).",
        f"Up to {MOST_CLASSES} classes can be calibrated.",
        "Choose another label column, or name a positive value: all others are then negative.",
    )


def _class_order(name: str, named: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    unknown = sorted(set(named) ^ set(values))
    if unknown or len(set(named)) < len(named):
        raise TableError(
            f"The classes {', '.join(named)} are not the values of the label column '{name}'"
            + (
                f" ({unknown[0]} is in only one of the two lists)."
                if unknown
                else ": one is named twice."
            ),
            f"The column has {counted(len(values), 'value')}: {', '.join(values)}.",
            "Name each of these once, in the order of the model's outputs.",
        )
    return tuple(named)


def _chosen_positive(name: str, values: Sequence[str], positive: str | None) -> str:
    if positive is None:
        return max(values, key=_positivity)
    for reading in (str, _plain, _truth):
        meant = [value for value in values if reading(value) == reading(positive)]
        if len(meant) == 1:
            return meant[0]
    raise TableError(
        f"The positive value '{positive}' does not occur in the label column '{name}'.",
        f"It must be one of its values, {_either(values)}.",
        did_you_mean(positive, values, "Choose one of these as the positive value."),
    )


def _either(values: Sequence[str]) -> str:
    shown = [f"'{value}'" for value in values[:_SHOWN_VALUES]]
    if len(values) > _SHOWN_VALUES:
        return f"such as {', '.join(shown)}"
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def _plain(text: str) -> str:
    """Ignore case, spaces around a value and needless decimals."""
    try:
        return value_text(float(text))
    except ValueError:
        return text.strip().casefold()


def _truth(text: str) -> str:
    """Read true and false as 1 and 0."""
    return {"true": "1", "false": "0"}.get(_plain(text), _plain(text))


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
    assume_group : bool
        Take a column that repeats like an id as the group, unless one is named or it is named
        among the features.
    weight : str, optional
        Importance of each row.
    split : str, optional
        Column that names each row's role in the split.
    time : str, optional
        Column of dates or numbers that says when each row was; without `split` earlier rows
        train and later ones test.
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
    assume_group: bool = True
    time: str | None = None

    @property
    def special(self) -> tuple[tuple[str, str], ...]:
        """What the columns that are no features by default are for, and their names."""
        named = (
            ("label", self.label),
            ("group", self.group),
            ("weight", self.weight),
            ("split", self.split),
            ("time", self.time),
            *(("score", column) for column in (self.score, *self.class_scores)),
        )
        return tuple((role, column) for role, column in named if column is not None)


def check_roles(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse roles whose column does not exist, has a duplicate, or is the label as well."""
    check_names(list(frame.columns))
    for role, column in roles.special:
        require_column(frame, column, f"{role} column")
    features = [("feature", column) for column in roles.features or ()]
    for role, column in (*roles.special, *features):
        if role != "label" and column == roles.label:
            raise TableError(
                f"The column '{column}' is chosen both as label and as {role}.",
                "The label must have no other role, because it is the answer.",
                f"Choose another column as {role}.",
            )


def require_column(frame: pd.DataFrame, column: str, what: str) -> None:
    """Refuse a name that no column has, and ask for a similar one."""
    if column in frame.columns:
        return
    names = [str(name) for name in frame.columns]
    listed = ", ".join(f"'{name}'" for name in names[:5])
    raise TableError(
        f"There is no column '{column}' to use as {what}.",
        f"It must be one of the table's {counted(len(names), 'column')}.",
        did_you_mean(column, names, f"Choose one of them, such as {listed}."),
    )


def feature_names(frame: pd.DataFrame, roles: Roles) -> tuple[str, ...]:
    """Return the features that were chosen, or all columns that can be one."""
    for column in (*(roles.features or ()), *roles.ignore):
        require_column(frame, column, "ignored column" if column in roles.ignore else "feature")
    if roles.features is None:
        special = {column for _, column in roles.special}
        left_out = {*special, *(f"{column}{RAW}" for column in special), *roles.ignore}
        names = [
            column
            for column in frame.columns
            if column not in left_out and column_kind(frame[column]) in ("number", "category")
        ]
    else:
        ignored = set(roles.ignore)
        names = [c for c in dict.fromkeys(roles.features) if c not in ignored]
        _check_feature_kinds(frame, names)
    return tuple(names)


def require_features(roles: Roles) -> None:
    """Refuse a table without features; rows can be divided by a layer of their model alone."""
    if not roles.features:
        raise TableError(
            f"No features are left beside the label '{roles.label}'.",
            "At least one column of numbers or categories must describe the rows.",
            "Choose features, ignore fewer columns, or divide the rows by a layer of the model "
            "(--layer on the command line) or by embeddings (--embeddings).",
        )


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


ALL_ROWS = slice(None)


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
        two; empty where one value is positive and all others are negative.
    assumed_group : FoundGroup or None
        How the group column of the roles was found, where nobody named it.
    """

    frame: pd.DataFrame
    roles: Roles
    y: Ints
    weight: Floats | None
    digest: str
    labelled: Bools
    classes: tuple[str, ...] = ()
    assumed_group: FoundGroup | None = None

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """The features."""
        return self.frame[list(self.roles.features or ())]

    def row_numbers(self, rows: slice = ALL_ROWS) -> Ints:
        """Return the numbers of rows in the source, from 0."""
        if self.labelled.size == self.rows:
            return np.arange(*rows.indices(self.rows))
        return np.flatnonzero(self.labelled)[rows]

    def group(self, rows: Ints) -> Groups | None:
        """Return the groups of some rows; None if there is no such column."""
        name = self.roles.group
        return None if name is None else self.frame[name].iloc[rows].to_numpy()

    def time(self, rows: Ints) -> Floats | None:
        """Return when some rows were, in microseconds or as given; None if there is no such column.

        NaN where it is unknown.
        """
        name = self.roles.time
        return None if name is None else time_numbers(self.frame[name].iloc[rows])

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
        Identifies the rows in caches; by default computed from their values.
    classes : sequence of str, optional
        The values of the label in the order of the model's outputs, where there are more than
        two; ascending by default.

    Raises
    ------
    TableError
        When a column cannot have its role, or the classes are not those of the label.
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
    features = feature_names(frame, roles)
    if roles.group is not None:
        _check_group(frame[roles.group])
    if roles.time is not None:
        time_numbers(frame[roles.time].iloc[:0])
    found = _unnamed_group(frame, y, roles, features)
    if found is not None:
        roles = replace(roles, group=found.column)
        features = tuple(name for name in features if name not in (found.column, *found.same))
    resolved = replace(roles, positive=label.positive, features=features)
    weight = None if roles.weight is None else _weight(frame[roles.weight])
    named = f"\n{label.classes}" if label.classes else ""
    fingerprint = text_digest(f"{digest}\n{resolved!r}{named}")
    return Table(frame, resolved, y, weight, fingerprint, label.labelled, label.classes, found)


def _unnamed_group(
    frame: pd.DataFrame, y: Ints, roles: Roles, features: tuple[str, ...]
) -> FoundGroup | None:
    """Look for a column of groups if none is named; its rows are then kept together.

    Columns that are named as features are not asked about.
    """
    if roles.group is not None or not roles.assume_group:
        return None
    special, chosen = {column for _, column in roles.special}, set(roles.features or ())
    others = [name for name in frame.columns if name not in special]
    candidates = [name for name in others if name not in chosen]
    found = find_group(frame, y, candidates, others)
    if found is None or set(features) <= {found.column}:
        return None
    same = tuple(name for name in found.same if name in features and name not in chosen)
    # Something must be left to describe the rows.
    return replace(found, same=() if set(features) <= {found.column, *same} else same)


def has_many_classes(frame: pd.DataFrame, roles: Roles) -> bool:
    """Return whether the label has more than two values and none is named as positive."""
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


def time_numbers(column: pd.Series) -> Floats:
    """Return dates as microseconds, or numbers as they are, or refuse the column.

    >>> time_numbers(pd.Series(pd.to_datetime(["1970-01-01 00:00:01", None]))).tolist()
    [1000000.0, nan]
    """
    kind = column_kind(column)
    if kind == "date":
        moments = column.dt.tz_convert(None) if column.dt.tz is not None else column
        numbers = moments.astype("datetime64[us]").to_numpy().astype(np.float64)
        return np.where(column.isna(), np.nan, numbers)
    if kind == "number":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    raise TableError(
        f"The time column '{column.name}' holds neither dates nor numbers.",
        "Rows are put in the order of time by dates such as 2024-05-31, or by numbers.",
        "Write the dates in this form, or choose another column.",
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

    Columns: role, rows, share_of_rows (of all rows of the table); for two classes also positives
    (rows) and positive_rate, for more a column `class <value>` for each: its share of the rows of
    the role. Shares of classes are by weight where rows have one, and NaN without rows or weight.
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
