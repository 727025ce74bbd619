"""Split the rows into train, validation, calibration and test."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from hetcal.arrays import Floats, Groups, Ints, Labels
from hetcal.choices import PAPER_FRACTIONS
from hetcal.data.columns import counted, row_count, value_codes
from hetcal.errors import SplitError

TRIES = 5  # assignments before the number of folds is reduced


def count_groups(group: Groups | None) -> int | None:
    """Return the number of groups; None where there are none."""
    return None if group is None else int(pd.unique(group).size)


def draw(size: Floats, stratum: Labels, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each unit at random, so that each stratum is split by the shares.

    Units of a stratum are put in random order along a line, each as long as its size; the role is
    the part of the line in which the unit's middle lies.
    """
    # Bytes are sorted many times faster than whole numbers of eight bytes.
    stratum = np.asarray(stratum)
    stratum = stratum.astype(np.min_scalar_type(int(stratum.max(initial=0))))
    order = rng.permutation(size.size)
    order = order[np.argsort(stratum[order], kind="stable")]
    stratum, length = stratum[order], size[order]
    ends = np.cumsum(length)
    first = np.flatnonzero(np.append(True, stratum[1:] != stratum[:-1])[: order.size])
    start = ends[first] - length[first]
    total = np.diff(np.append(start, ends[-1:]))
    units = np.diff(np.append(first, order.size))
    # In place, since a large table has little room for arrays of its length.
    middle = np.subtract(ends, np.divide(length, 2, out=length), out=length)
    middle -= np.repeat(start, units)
    middle /= np.repeat(total, units)
    role = np.empty(size.size, dtype=np.int8)
    role[order] = np.searchsorted(np.cumsum(shares)[:-1], middle, side="right")
    return role


def draw_folds(y: Labels, folds: int, seed: int | None, group: Groups | None = None) -> Ints | None:
    """Draw a fold for each row, with equal shares of each class, or equal within a group.

    None where groups cannot be divided, see `draw_group_folds`.
    """
    if group is not None:
        return draw_group_folds(y, group, folds, seed)
    return draw(np.ones(len(y)), y, np.full(folds, 1 / folds), np.random.default_rng(seed))


def halves(y: Labels, group: Groups | None = None) -> tuple[Ints, Ints]:
    """Return every other row, and the rows between; of each class where labels alternate.

    Rows of one group stay together where both halves can then have rows of both classes.

    >>> [part.tolist() for part in halves(np.array([0, 1, 0, 1, 0, 1, 0, 1]))]
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    half = None if group is None else draw_group_folds(y, group, 2, 0)
    if half is None:
        half = np.arange(len(y)) % 2
        if any(np.unique(y[half == side]).size < np.unique(y).size for side in (0, 1)):
            half[np.argsort(y, kind="stable")] = np.arange(len(y)) % 2
    return np.flatnonzero(half == 0), np.flatnonzero(half == 1)


def draw_groups(labels: Ints, group: pd.Series, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each group; groups of one class and mixed groups are strata."""
    codes, _ = pd.factorize(group, sort=False, use_na_sentinel=False)
    size = np.bincount(codes).astype(np.float64)
    positives = np.bincount(codes, weights=labels)
    stratum = (positives > 0).astype(np.int64) + (positives == size)
    return draw(size, stratum, shares, rng)[codes]


def draw_group_folds(y: Labels, group: Groups, folds: int, seed: int | None) -> Ints | None:
    """Draw a fold for each row, equal within a group.

    Groups of each class and mixed groups are assigned in turn, the largest first; `seed` decides
    among equally large ones. There are fewer folds where some would otherwise have no rows or only
    one class, and the result is None if not even two folds have rows of the same two classes.
    """
    codes = pd.factorize(np.asarray(group), use_na_sentinel=False)[0]
    label = np.unique(y, return_inverse=True)[1]
    classes, rng = int(label.max(initial=0)) + 1, np.random.default_rng(seed)
    size = np.bincount(codes)
    by_class = label[np.lexsort((label, codes))]
    ends = np.cumsum(size)
    lowest, highest = by_class[ends - size], by_class[ends - 1]
    stratum = np.where(lowest == highest, lowest, classes)
    for count in range(min(folds, size.size), 1, -1):
        for attempt in range(TRIES):
            fold = _assigned(stratum, size if attempt == 0 else np.zeros_like(size), count, rng)
            rows = np.bincount(fold[codes] * classes + label, minlength=count * classes)
            if (rows.reshape(count, classes) > 0).all(axis=0).sum() >= 2:
                return fold[codes]
    return None


def _assigned(stratum: Ints, size: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """Assign units to folds back and forth, stratum by stratum, the largest of each first."""
    order = rng.permutation(size.size)
    order = order[np.lexsort((-size[order], stratum[order]))]
    turn, place = np.divmod(np.arange(size.size), folds)
    fold = np.empty(size.size, dtype=np.int64)
    fold[order] = np.where(turn % 2, folds - 1 - place, place)
    return fold


ROLES = ("train", "validation", "calibration", "test")
NEEDED_ROLES = ("train", "calibration", "test")
_SHORT_NAMES = {"val": "validation", "valid": "validation", "cal": "calibration"}
_SHOWN_VALUES = 5


@dataclass(frozen=True)
class Split:
    """The row numbers of each role, sorted; a row in none of them is unused."""

    train: Ints
    validation: Ints
    calibration: Ints
    test: Ints

    def of(self, role: str) -> Ints:
        """Return the row numbers of a role."""
        if role not in ROLES:
            raise KeyError(role)
        rows: Ints = getattr(self, role)
        return rows

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows per role, in the order of `ROLES`."""
        return {role: int(self.of(role).size) for role in ROLES}

    def names(self, n: int) -> "pd.Categorical[str]":
        """Return the role of each of `n` rows, "" where it has none."""
        number = np.zeros(n, dtype=np.int8)
        for i, role in enumerate(ROLES, start=1):
            number[self.of(role)] = i
        return pd.Categorical.from_codes(number, pd.Index(["", *ROLES]))


def role_names() -> dict[str, str]:
    """Return every name that a split column may use, with its role."""
    return {**{role: role for role in ROLES}, **_SHORT_NAMES}


def role_named(text: str) -> str | None:
    """Return the role that a text names, None if it names none.

    >>> role_named(" Val "), role_named("cal"), role_named("holdout")
    ('validation', 'calibration', None)
    """
    return role_names().get(text.strip().lower())


def _from_codes(role: Ints) -> Split:
    """Build a split from each row's position in `ROLES`, negative where unused."""
    return Split(*(np.flatnonzero(role == i) for i in range(len(ROLES))))


def split_by_column(column: pd.Series) -> Split:
    """Split the rows by a column that names their roles.

    Case and spaces do not matter; `val` and `valid` mean validation, `cal` means calibration. Rows
    without a value are unused; other values are refused.
    """
    codes, values = value_codes(column)
    roles = [role_named(value) for value in values]
    unknown = [
        i
        for i, (role, value) in enumerate(zip(roles, values, strict=True))
        if role is None and value.strip()
    ]
    if unknown:
        rows = np.bincount(codes[codes >= 0], minlength=len(values))
        raise _unknown_values(str(column.name), [(values[i], int(rows[i])) for i in unknown])
    position = [-1 if role is None else ROLES.index(role) for role in roles]
    split = _from_codes(np.array([*position, -1], dtype=np.int64)[codes])
    remedy = "Mark some rows as {}, or let hetcal split the rows by fractions."
    _require_rows(split, f"The split column '{column.name}'", remedy)
    return split


def _unknown_values(name: str, unknown: Sequence[tuple[str, int]]) -> SplitError:
    shown = ", ".join(f"'{value}' in {row_count(rows)}" for value, rows in unknown[:_SHOWN_VALUES])
    return SplitError(
        f"The split column '{name}' has values that name no role ({shown}"
        f"{', …' if len(unknown) > _SHOWN_VALUES else ''}).",
        "Its values must be train, validation (or val), calibration (or cal) and test.",
        "Choose another split column, or recode these values.",
    )


def split_by_fraction(
    y: ArrayLike,
    fractions: Sequence[float],
    seed: int,
    group: pd.Series | None = None,
) -> Split:
    """Split the rows at random, with the same share of each class in each role.

    The four `fractions` are those of train, validation, calibration and test. All rows of one
    group get the same role; fractions are then met as closely as whole groups allow.
    """
    labels = np.asarray(y, dtype=np.int64)
    shares = _checked_fractions(fractions)
    rng = np.random.default_rng(seed)
    if group is None:
        role = draw(np.ones(labels.size), labels, shares, rng)
    else:
        role = draw_groups(labels, group, shares, rng)
    split = _from_codes(role)
    more = "" if group is None else ", or choose a group column with more groups"
    _require_rows(split, "The split by fractions", f"Give {{}} a larger fraction{more}.")
    require_both_classes(split, labels)
    return split


def split_by_time(time: Floats, fractions: Sequence[float]) -> Split:
    """Split the rows by time: the earliest train, then validation, calibration, the latest test.

    Rows of one time get the same role, that in which the middle of them lies; the fractions are
    met as closely as that allows. Rows without a time (NaN) get none.
    """
    shares = _checked_fractions(fractions)
    known = np.flatnonzero(~np.isnan(time))
    _, moment, rows = np.unique(time[known], return_inverse=True, return_counts=True)
    middle = (np.cumsum(rows) - rows / 2) / max(known.size, 1)
    role = np.full(time.size, -1, dtype=np.int8)
    role[known] = np.searchsorted(np.cumsum(shares)[:-1], middle, side="right")[moment]
    split = _from_codes(role)
    _require_rows(
        split,
        "The split by time",
        "Give {} a larger fraction, or choose a column in which fewer rows share a time.",
    )
    return split


def _checked_fractions(fractions: Sequence[float]) -> Floats:
    shares = np.asarray(fractions, dtype=np.float64)
    written = ", ".join(f"{value:g}" for value in np.atleast_1d(shares))
    needed = "Four fractions are needed, for train, validation, calibration and test."
    if shares.shape != (len(ROLES),):
        raise SplitError(
            f"The split has {shares.size} fractions ({written}).",
            needed,
            f"Give four numbers that add up to 1, such as {_paper()}.",
        )
    if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise SplitError(
            f"The fractions {written} add up to {shares.sum():g}"
            f"{' and one of them is negative' if (shares < 0).any() else ''}.",
            "They must not be negative and must add up to 1.",
            f"Change them, for instance to {_paper()}.",
        )
    return shares


def _paper() -> str:
    return ", ".join(f"{value:g}" for value in PAPER_FRACTIONS)


def _require_rows(split: Split, what: str, remedy: str) -> None:
    present = [counted(n, f"{role} row") for role, n in split.counts.items() if n]
    for role in NEEDED_ROLES:
        if not split.of(role).size:
            raise SplitError(
                f"{what} gives no {role} rows (it gives {', '.join(present) or 'none at all'}).",
                "Train, calibration and test rows are all needed.",
                remedy.format(role),
            )


def require_both_classes(split: Split, y: ArrayLike) -> None:
    """Refuse a split whose calibration or test rows are all of one class."""
    labels = np.asarray(y)
    for role in ("calibration", "test"):
        found = np.unique(labels[split.of(role)])
        if found.size == 1:
            many = bool(labels.max() > 1)
            kind = "of one class" if many else "positive" if found[0] else "negative"
            raise SplitError(
                f"All {split.of(role).size:,} {role} rows are {kind}.",
                f"The {role} rows must contain {'several' if many else 'both'} classes.",
                "Choose another split, another seed or larger fractions.",
            )
