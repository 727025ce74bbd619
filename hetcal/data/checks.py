"""Check a table for what would make its results misleading."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from hetcal.arrays import Floats, Ints
from hetcal.data.columns import (
    column_kind,
    counted,
    distinct_count,
    fewest_category_rows,
    row_count,
    value_codes,
)
from hetcal.data.splits import ROLES, Split, count_groups, halves
from hetcal.data.table import Table, alike_values
from hetcal.metrics.metrics import auc
from hetcal.progress import Progress, silent


@dataclass(frozen=True)
class Finding:
    """Something the user should know about the table; a warning puts the results in doubt."""

    column: str | None  # the column it is about
    message: str  # full sentences that name the column and say what to do
    level: Literal["warning", "note"]
    code: str  # what was found, in words that a script can rely on


def label_findings(table: Table) -> Iterator[Finding]:
    """Look for values of the label that differ only in case or spaces."""
    column, positive = table.frame[table.roles.label], table.roles.positive
    if column_kind(column) != "category":
        return
    codes, values = value_codes(column)
    rows = dict(zip(values, np.bincount(codes, minlength=len(values)), strict=True))
    for alike in alike_values(values):
        counts = ", ".join(f"'{value}' in {row_count(rows[value])}" for value in alike)
        used = "All of them count as negative."
        if positive is None:
            used = "Each counts as a class of its own."
        elif positive in alike:
            used = f"Only '{positive}' counts as positive, the rest as negative."
        yield Finding(
            table.roles.label,
            f"The label column '{table.roles.label}' has values that differ only in case or "
            f"spaces: {counts}. {used} If they mean the same, use one spelling in the file.",
            "warning" if positive is None or positive in alike else "note",
            "similar-labels",
        )


MAX_ROWS = 100_000
"""Larger tables are sampled: 0.99 and 0.98 differ on far fewer rows than these."""


def separation(column: pd.Series, y: Ints) -> float:
    """Return the AUC of a feature on its own.

    A number is its own score, with missing values before or after all others, whichever separates
    better. A category scores by its rate of positives on every other row, measured on the rows
    between. One class gives 0.5.
    """
    if column_kind(column) == "category":
        return _category_auc(column, y)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isnan(values).any():
        return _auc(values, y)
    _, rank = np.unique(values, return_inverse=True)  # missing values rank last
    last = rank.astype(np.float64)
    first = np.where(np.isnan(values), -1.0, last)
    return max(_auc(first, y), _auc(last, y), key=lambda area: abs(area - 0.5))


def _auc(score: Floats, y: Ints) -> float:
    area = auc(y, score)
    return 0.5 if np.isnan(area) else area


def _category_auc(column: pd.Series, y: Ints) -> float:
    codes, values = pd.factorize(column, use_na_sentinel=False)
    learn, measure = halves(y)
    rows = np.bincount(codes[learn], minlength=len(values))
    positives = np.bincount(codes[learn], weights=y[learn], minlength=len(values))
    # A category not met while learning gets the overall rate.
    rate = (positives + y.mean()) / (rows + 1)
    return _auc(rate[codes[measure]], y[measure])


LEAK_AUC = 0.99
MIN_ROWS = 50
MIN_CLASS_ROWS = 10
MIN_GROUPS = 20
ID_SHARE = 0.5
MOST_CHECKED = 10  # classes, the most common ones
HASHED = 2**19  # rows at a time
_RUNNING_NUMBER_ROWS = 1000  # in a short table whole numbers may all differ at random


def check_table(table: Table, split: Split, progress: Progress = silent) -> tuple[Finding, ...]:
    """Check labels, role sizes, leaks, repeated rows, groups and features; warnings come first."""
    found = (
        *_unnamed_group(table),
        *label_findings(table),
        *_small_roles(table, split),
        *_leaks(table, split),
        *_repeated_rows(table, split, progress),
        *_divided_groups(table, split),
        *_few_groups(table, split),
        *_odd_features(table, split),
        *_unused(table, split),
    )
    return tuple(sorted(found, key=lambda finding: finding.level != "warning"))


def _unnamed_group(table: Table) -> Iterator[Finding]:
    """Say which column was taken as the group though nobody named it."""
    found = table.assumed_group
    if found is None:
        return
    why = f"labels of equal values agree more than those of neighbouring ones (z {found.z:.1f})"
    if found.constant:
        listed = ", ".join(f"'{name}'" for name in found.constant[:3])
        more = f" and {len(found.constant) - 3} more" if len(found.constant) > 3 else ""
        why = f"rows of equal value agree in {listed}{more}"
    left_out = ", ".join(f"'{name}'" for name in (found.column, *found.same))
    ignored = f" --ignore {','.join(found.same)}" if found.same else ""
    yield Finding(
        found.column,
        f"Column '{found.column}' repeats like an id: {found.groups:,} values in {table.rows:,} "
        f"rows, and {why}. Rows of one value are not independent, so it is taken as the group: "
        "they stay together in splits by fractions and in folds, intervals count groups, and "
        f"{left_out} {'are no features' if found.same else 'is no feature'}. If this is right, "
        f"name it as the group (--group {found.column}{ignored}); if not, name it among the "
        "features, or say that there are no groups (--group none).",
        "warning",
        "unnamed-group",
    )


def _small_roles(table: Table, split: Split) -> Iterator[Finding]:
    names = table.classes or ("negative", "positive")
    for role, rows in split.counts.items():
        if role == "validation" and (table.classes or not rows):
            continue  # needed only by a network trained here
        of_class = np.bincount(table.y[split.of(role)], minlength=len(names))
        fewest = int(of_class.argmin())
        if rows < MIN_ROWS or of_class[fewest] < MIN_CLASS_ROWS:
            yield Finding(
                None,
                f"There {'is' if rows == 1 else 'are'} only {counted(rows, f'{role} row')}, "
                f"{of_class[fewest]:,} of them of the class '{names[fewest]}'. At least {MIN_ROWS} "
                f"rows and {MIN_CLASS_ROWS} of each class are needed for stable results. Give "
                f"{role} more rows{', or join rare classes' if table.classes else ''}.",
                "warning",
                "small-role",
            )


def _leaks(table: Table, split: Split) -> Iterator[Finding]:
    """Look for features that separate the classes, or one of the most common from the rest."""
    rows, found = split.train, set()
    if rows.size > MAX_ROWS:
        rows = np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False)
    for view, what in _binary_views(table, split):
        y = view.y[rows].astype(np.int64)
        for name in table.roles.features or ():
            auc = 0.5 if name in found else separation(table.frame[name].iloc[rows], y)
            if max(auc, 1 - auc) >= LEAK_AUC:
                found.add(name)
                yield Finding(
                    name,
                    f"Column '{name}' alone almost separates {what} (AUC {auc:.3f} on train rows). "
                    "It may contain the answer, or be known only afterwards. If so, ignore this "
                    "column.",
                    "warning",
                    "label-leak",
                )


def _binary_views(table: Table, split: Split) -> Iterator[tuple[Table, str]]:
    if not table.classes:
        yield table, "the classes"
        return
    rows = np.bincount(table.y[split.train], minlength=len(table.classes))
    for number in np.argsort(-rows, kind="stable")[:MOST_CHECKED].tolist():
        yield table.view(number), f"the class '{table.classes[number]}' from the others"


def _repeated_rows(table: Table, split: Split, progress: Progress) -> Iterator[Finding]:
    """Compare the roles by a 64-bit hash of each row, all its columns but the role.

    With few features, different people may have equal ones, so whole rows are compared.
    """
    hashes = _hashed_rows(table, progress)
    of_role = {role: np.sort(hashes[split.of(role)]) for role in ROLES}
    repeats = []
    for first, second in combinations(ROLES, 2):
        count = _repeated(of_role[first], of_role[second])
        if count:
            repeats.append(f"{count:,} of the {of_role[second].size:,} {second} rows in {first}")
    if repeats:
        yield Finding(
            None,
            f"Rows repeat across roles, equal in every column: {', '.join(repeats)}. "
            "Results on rows that were seen before look too good. "
            "Remove the repeats, or name the column they share as the group.",
            "warning",
            "repeated-rows",
        )


def _hashed_rows(table: Table, progress: Progress) -> NDArray[np.uint64]:
    columns = [
        i
        for i, name in enumerate(table.frame.columns)
        if name != table.roles.split and column_kind(table.frame[name]) != "other"
    ]
    hashes = np.empty(table.rows, dtype=np.uint64)
    for start in range(0, table.rows, HASHED):
        progress(start / table.rows, f"Looking for repeated rows among {table.rows:,}")
        rows = slice(start, start + HASHED)
        hashes[rows] = pd.util.hash_pandas_object(table.frame.iloc[rows, columns], index=False)
    return hashes


def _repeated(known: NDArray[np.uint64], new: NDArray[np.uint64]) -> int:
    """Count how many of the new values are among the known ones; both are sorted."""
    if not known.size:
        return 0
    place = np.searchsorted(known, new)
    return int(np.count_nonzero(known.take(place, mode="clip") == new))


def _divided_groups(table: Table, split: Split) -> Iterator[Finding]:
    name = table.roles.group
    if name is None:
        return
    codes, groups = pd.factorize(table.frame[name])
    seen = np.zeros((len(ROLES), len(groups)), dtype=bool)
    for i, role in enumerate(ROLES):
        seen[i, codes[split.of(role)]] = True
    divided = seen.sum(axis=0) > 1
    if divided.any():
        yield Finding(
            name,
            f"{divided.sum():,} of {len(groups):,} groups in column '{name}' "
            f"{'has' if divided.sum() == 1 else 'have'} rows in more than one role, "
            f"for instance '{groups[int(divided.argmax())]}'. "
            "Rows of one group resemble each other, so results look too good. "
            "Split by fractions to keep groups whole.",
            "warning",
            "divided-groups",
        )


def _few_groups(table: Table, split: Split) -> Iterator[Finding]:
    groups = count_groups(table.group(split.test))
    if groups is not None and groups < MIN_GROUPS:
        yield Finding(
            table.roles.group,
            f"The test rows belong to {counted(groups, 'group')} of column "
            f"'{table.roles.group}'. Intervals count groups, not rows, and those of fewer than "
            f"{MIN_GROUPS} groups come out too short. Give test more groups.",
            "warning",
            "few-groups",
        )


def _odd_features(table: Table, split: Split) -> Iterator[Finding]:
    for name in table.roles.features or ():
        column = table.frame[name]
        if types.is_float_dtype(column):
            yield from _infinite(column)
        if _is_plain_number(column):
            continue
        distinct = distinct_count(column) + bool(column.hasnans)
        if distinct <= 1:
            yield Finding(
                name, f"Column '{name}' has the same value in every row.", "note", "constant-column"
            )
        elif _is_identifier(column, distinct):
            yield Finding(
                name,
                f"Column '{name}' has {distinct:,} distinct values in {table.rows:,} rows and "
                "looks like an identifier, which carries no information about new rows. "
                "Ignore this column.",
                "warning",
                "identifier",
            )
        elif column_kind(column) == "category":
            yield from _small_categories(column.iloc[split.train])


def _is_plain_number(column: pd.Series) -> bool:
    """Decide by its first rows that a number is neither constant nor an identifier."""
    first = column.iloc[:_RUNNING_NUMBER_ROWS]
    distinct = first.nunique(dropna=False)
    repeats = types.is_float_dtype(column) or distinct < len(first)
    return column_kind(column) == "number" and distinct > 1 and repeats


def _small_categories(column: pd.Series) -> Iterator[Finding]:
    """Look at the categories of the training rows."""
    distinct, rows = column.nunique(), int(column.notna().sum())
    fewest = fewest_category_rows(len(column))
    if rows < fewest * distinct:
        yield Finding(
            str(column.name),
            f"Column '{column.name}' has {distinct:,} categories in {rows:,} train rows, "
            f"{rows / distinct:.3g} rows each. The tree treats categories with fewer than "
            f"{fewest} rows like missing values, because their rates are mostly noise. "
            "Group similar categories, or ignore this column.",
            "warning",
            "small-categories",
        )


def _is_identifier(column: pd.Series, distinct: int) -> bool:
    if column_kind(column) == "category":
        return distinct > ID_SHARE * len(column)
    whole = types.is_integer_dtype(column)
    return whole and distinct == len(column) >= _RUNNING_NUMBER_ROWS


def _infinite(column: pd.Series) -> Iterator[Finding]:
    count = int(np.isinf(column.to_numpy()).sum())
    if count:
        yield Finding(
            str(column.name),
            f"Column '{column.name}' holds {counted(count, 'infinite value')}. "
            "If infinite values mean missing values, leave those cells empty.",
            "warning",
            "infinite-values",
        )


def _unused(table: Table, split: Split) -> Iterator[Finding]:
    rows = table.rows - sum(split.counts.values())
    if rows:
        unused = "1 row has" if rows == 1 else f"{rows:,} rows have"
        yield Finding(None, f"{unused} no role in the split: not used.", "note", "unused-rows")
    roles = table.roles
    known = {*(roles.features or ()), *roles.ignore, *(column for _, column in roles.special)}
    for name in table.frame.columns:
        kind = column_kind(table.frame[name]) if name not in known else "number"
        if kind in ("date", "other"):
            what = "dates" if kind == "date" else "values that are neither numbers nor text"
            sentence = f"Column '{name}' holds {what} and is not a feature."
            if kind == "date" and roles.split is None and roles.time is None:
                sentence += (
                    " As split column it would let earlier rows train and later rows test "
                    f"(--split-by-time {name})."
                )
            yield Finding(name, sentence, "note", "unused-column")
