"""One-hot columns: `contact_phone` and `contact_mail` are read as one column, contact."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from hetcal.arrays import Floats, Ints

MARK = "_"
FEWEST = 2  # columns of a group
LOOKED_AT = 1_000  # rows that rule most columns out


def one_hot_groups(frame: pd.DataFrame, rows: Ints | None = None) -> dict[str, str]:
    """Find columns that say which value another column had, in all rows or in some.

    Columns of a group have a common beginning, which ends before a '_', and hold 0 and 1; every
    row has 1 in exactly one of them.

    Returns
    -------
    dict
        The name of the group by column.

    Examples
    --------
    >>> rows = pd.DataFrame({"job_cook": [1, 0], "job_smith": [0, 1], "is_cook": [1, 0]})
    >>> one_hot_groups(rows)
    {'job_cook': 'job', 'job_smith': 'job'}
    """
    some = frame.iloc[:LOOKED_AT] if rows is None else frame.iloc[rows[:LOOKED_AT]]
    names = [name for name in frame.columns if isinstance(name, str) and MARK in name]
    flags = {name for name in names if _is_flag(some, name)}
    found: dict[str, str] = {}
    for group in sorted(_beginnings(flags), key=lambda each: (len(each), each)):
        own = [name for name in names if name.startswith(group + MARK)]
        if len(own) < FEWEST or not flags.issuperset(own) or found.keys() & set(own):
            continue
        if _one_each(some[own]) and _one_each(
            frame[own] if rows is None else frame[own].iloc[rows]
        ):
            found |= dict.fromkeys(own, group)
    return found


def _is_flag(some: pd.DataFrame, name: str) -> bool:
    """Whether a column that is there once holds 0 and 1 in some rows."""
    column = some[name]
    if not isinstance(column, pd.Series) or not isinstance(column.dtype, np.dtype):
        return False
    return column.dtype.kind in "iuf" and _zero_or_one(column.to_numpy(dtype=np.float64))


def _zero_or_one(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _beginnings(names: Iterable[str]) -> set[str]:
    return {name[:i] for name in names for i, sign in enumerate(name) if sign == MARK and i}


def _one_each(frame: pd.DataFrame) -> bool:
    """Whether every row has 1 in one column and 0 in all others."""
    values = frame.to_numpy(dtype=np.float64)
    return _zero_or_one(values) and bool((values.sum(axis=1) == 1).all())
