"""Raw columns beside those that were prepared for a model: partitions read them in their place."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.data.budget import refuse_above_budget
from hetcal.data.columns import RAW, Kinds, as_text, column_kind, counted, row_count
from hetcal.data.reading import Reading, Source
from hetcal.data.table import Roles, feature_names, require_column
from hetcal.digests import text_digest
from hetcal.errors import TableError

SHOWN = 5


def kinds_of_raw(kinds: Kinds, first: pd.DataFrame) -> Kinds:
    """Return the kinds of columns by the names that they have in the second table.

    A column of the first table may have the name of another one there.
    """
    return {
        name.removesuffix(RAW): kind
        for name, kind in kinds.items()
        if name.endswith(RAW) or name not in first
    }


def with_raw_table(source: Source, raw: Reading, by: str | None = None) -> Source:
    """Add the columns of a second table, which partitions read in place of the prepared ones.

    Columns that are equal in both tables are there once; of others that share a name, the raw one
    ends in `RAW`.

    Parameters
    ----------
    source : Source
        The table, with the columns of a model.
    raw : Reading
        The second table.
    by : str, optional
        Column that names the rows in both. None takes one of the same name that has another value
        in every row, or the order of the rows.
    """
    frame, name = source.frame, f"'{raw.name}'"
    by = _id_column(frame, raw.frame) if by is None else by
    if by is None:
        _require_order(frame, raw.frame, name)
        other = raw.frame
    else:
        places = _places(frame, raw.frame, by, name)
        other = raw.frame.drop(columns=[by]).iloc[places].reset_index(drop=True)
    taken = frame.memory_usage(index=False).sum() + other.memory_usage(index=False).sum()
    refuse_above_budget(float(taken), raw.name, "with the table beside it")
    same = [each for each in other if each in frame and other[each].equals(frame[each])]
    prepared = [each for each in frame if each not in (*same, by)]
    how = "row by row" if by is None else f"by '{by}'"
    words = f"{counted(other.shape[1] - len(same), 'raw column')} of {name} joined {how}"
    joined = with_raw_columns(source, other.drop(columns=same), prepared, words)
    return replace(joined, digest=text_digest(f"{source.digest} {raw.digest} {by}"))


def columns_for_model(source: Source, roles: Roles, ignore: Sequence[str]) -> tuple[str, ...]:
    """Return the features that a model reads: all of them, or those before raw ones came.

    `ignore` are the columns that a user leaves out, whichever reads them.
    """
    if source.prepared:
        roles = replace(roles, features=None, ignore=(*ignore, *source.raw))
    return feature_names(source.frame, roles)


def roles_with_raw(source: Source, roles: Roles, before: Source | None = None) -> Roles:
    """Leave the prepared columns out of the features, unless they have another role.

    `before` is the same table without these raw columns, whose prepared ones are features again.
    """
    special = {column for _, column in roles.special}
    again = set() if before is None else set(before.prepared)
    ignore = (each for each in roles.ignore if each not in again and each in source.frame)
    prepared = (each for each in source.prepared if each not in special)
    return replace(roles, ignore=tuple(dict.fromkeys((*ignore, *prepared))))


def with_raw_columns(
    source: Source, raw: pd.DataFrame, prepared: Sequence[str], words: str
) -> Source:
    """Add raw columns, which partitions read in place of prepared ones; `words` say whence."""
    frame = source.frame
    alike = [str(each) for each in raw if each in frame]
    raw = raw.rename(columns={each: f"{each}{RAW}" for each in alike})
    taken = [each for each in raw if each in frame]
    if taken:
        raise TableError(
            f"The table already has a column '{taken[0]}'.",
            "A raw column is called so where a prepared one has its name.",
            "Rename the table's column.",
        )
    listed = ", ".join(f"'{each}{RAW}'" for each in alike[:SHOWN])
    called = f"; called {listed}{', …' if len(alike) > SHOWN else ''}" if alike else ""
    return replace(
        source,
        frame=pd.concat([frame, raw], axis=1),
        notes=(*source.notes, f"{words}{called}. The partition reads them, the model does not."),
        raw=(*source.raw, *map(str, raw)),
        prepared=tuple(dict.fromkeys((*source.prepared, *prepared))),
    )


def _id_column(frame: pd.DataFrame, raw: pd.DataFrame) -> str | None:
    """Find a column that has another value in every row of both tables, with those of the first."""
    for name in frame:
        if name not in raw or any(pd.api.types.is_float_dtype(each[name]) for each in (frame, raw)):
            continue
        one, other = frame[name], raw[name]
        unique = one.is_unique and other.is_unique and not (one.hasnans or other.hasnans)
        if unique and (_found(one, other) >= 0).all():
            return str(name)
    return None


def _found(wanted: pd.Series, known: pd.Series) -> Ints:
    """Return the place of each value among others, -1 where it is not."""
    if column_kind(wanted) != column_kind(known):
        wanted, known = as_text(wanted), as_text(known)
    return np.asarray(pd.Index(known).get_indexer(pd.Index(wanted)), dtype=np.int64)


def _places(frame: pd.DataFrame, raw: pd.DataFrame, by: str, name: str) -> Ints:
    """Return the row of the second table for each row of the first."""
    require_column(frame, by, "id column")
    if by not in raw:
        raise TableError(
            f"{name} has no column '{by}'.",
            "Rows are joined by a column that both tables have.",
            f"Add it, or name another column: {', '.join(map(repr, map(str, raw.columns[:SHOWN])))}"
            f"{', …' if raw.shape[1] > SHOWN else ''}.",
        )
    twice = raw[by][raw[by].duplicated()]
    if len(twice):
        raise TableError(
            f"The column '{by}' of {name} has the value '{twice.iloc[0]}' in several rows.",
            "Rows are joined by a column that has another value in every row of the second table.",
            "Name such a column, or leave the repeated rows out.",
        )
    places = _found(frame[by], raw[by])
    absent = frame[by][places < 0]
    if len(absent):
        raise TableError(
            f"{row_count(len(absent))} of the table have no row in {name}; the first has "
            f"'{absent.iloc[0]}' in '{by}'.",
            "Every row of the table needs its raw columns.",
            "Add these rows to the second table, or leave them out of the first.",
        )
    return places


def _require_order(frame: pd.DataFrame, raw: pd.DataFrame, name: str) -> None:
    """Refuse rows that cannot be joined by their order."""
    if len(raw) != len(frame):
        raise TableError(
            f"{name} has {row_count(len(raw))}, and the table has {row_count(len(frame))}.",
            "Rows are joined by a column of the same name with another value in every row, or, if "
            "there is none, by their order; then both tables have as many rows.",
            "Add such a column to both tables, or give the rows of the table in its order.",
        )
    for column in frame:
        if column not in raw or frame[column].equals(raw[column]):
            continue
        if _same_values(frame[column], raw[column]):
            raise TableError(
                f"The column '{column}' has the same values in both tables, in another order.",
                "Rows without a column that names them are joined by their order.",
                "Bring both tables into one order, or give both a column that names the rows.",
            )


def _same_values(one: pd.Series, other: pd.Series) -> bool:
    """Whether two columns hold the same values equally often."""
    if one.dtype != other.dtype:
        return False
    counts = (each.value_counts(dropna=False).sort_index() for each in (one, other))
    return next(counts).equals(next(counts))
