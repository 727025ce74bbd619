"""Check a table and its scores for what would make results misleading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from hetcal.arrays import Bools, Floats, Ints
from hetcal.compiled import sigmoid
from hetcal.data.columns import (
    column_kind,
    counted,
    distinct_count,
    fewest_category_rows,
    row_count,
    value_codes,
)
from hetcal.data.scores import Scores
from hetcal.data.splits import ROLES, Split, count_groups, halves
from hetcal.data.table import Roles, Table, alike_values, positive_rate
from hetcal.metrics.classes import macro_lift, top_label
from hetcal.metrics.delong import Lift, error_of, paired_delong
from hetcal.metrics.metrics import auc, loss_of_rows
from hetcal.progress import Progress, silent


@dataclass(frozen=True)
class Finding:
    """Something the user should know about the table; a warning puts the results in doubt."""

    column: str | None  # the column it is about
    message: str  # full sentences that name the column and say what to do
    level: Literal["warning", "note"]
    code: str  # what was found, in words that a script can rely on


def quoted(text: str) -> str:
    """Put a value with spaces in quotes, as every command line reads it.

    >>> quoted("column 1"), quoted("customer")
    ('"column 1"', 'customer')
    """
    return f'"{text}"' if " " in text else text


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
ID_WORDS = {"id", "ids", "uuid", "guid", "identifier"}
FEWEST_IDS = 30  # values of a column that is called an id by its name,
MOST_ROWS_PER_ID = 50  # and its rows per value: more would show something of each
MOST_CHECKED = 10  # classes, the most common ones
HASHED = 2**19  # rows at a time
FEWEST_DISTINCT = 0.05  # of the rows differ where repeated ones mean something
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
    ignored = f" --ignore {quoted(','.join(found.same))}" if found.same else ""
    yield Finding(
        found.column,
        f"Column '{found.column}' repeats like an id: {found.groups:,} values in {table.rows:,} "
        f"rows, and {why}. Rows of one value are not independent, so it is taken as the group: "
        "they stay together in splits by fractions and in folds, intervals count groups, and "
        f"{left_out} {'are no features' if found.same else 'is no feature'}. If this is right, "
        f"name it as the group (--group {quoted(found.column)}{ignored}); if not, name it among "
        "the features, or say that there are no groups (--group none).",
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

    With few features, different people may have equal ones, so whole rows are compared; where
    nearly all rows are alike, as beside images, the columns do not tell one row from another.
    """
    hashes = _hashed_rows(table, progress)
    if np.unique(hashes).size < FEWEST_DISTINCT * table.rows:
        return
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
        if _named_like_id(column):
            yield _id_finding(column)
            continue
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
                f"Leave this column out (--ignore {quoted(name)}).",
                "warning",
                "identifier",
            )
        elif column_kind(column) == "category":
            yield from _small_categories(column.iloc[split.train])


def _named_like_id(column: pd.Series) -> bool:
    """Decide by its name that a column holds ids, if it has many values with few rows each."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", str(column.name))
    kind = column_kind(column)
    if ID_WORDS.isdisjoint(map(str.lower, words)) or kind not in ("number", "category"):
        return False
    if kind == "number" and types.is_float_dtype(column):  # whole numbers, some missing
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        values = values[np.isfinite(values)]
        if not np.array_equal(values, np.round(values)):
            return False
    return max(FEWEST_IDS, len(column) / MOST_ROWS_PER_ID) <= distinct_count(column)


def _id_finding(column: pd.Series) -> Finding:
    name, distinct = str(column.name), distinct_count(column)
    different = "a different value in every row"
    if distinct < len(column):
        different = f"{distinct:,} different values in {row_count(len(column))}"
    return Finding(
        name,
        f"Column '{name}' is named like an id and has {different}. It says nothing about "
        "new rows: trees and curves can only learn noise from it. Leave it out "
        f"(--ignore {quoted(name)}). If rows of one value belong together, name it as the group "
        f"instead (--group {quoted(name)}).",
        "warning",
        "identifier",
    )


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


LARGEST_PERCENTAGE = 100
NEARLY_ALL = 0.99  # of the rows share a score that is constant in effect
NEGLIGIBLE = 1e-3  # difference of two logits
RANKING = 0.55  # least AUC of a score that ranks, however few its values
SATURATED = 10.0  # logit of a probability of 0.99995
SATURATED_SHARE = 0.9
ENDLESS, ENDLESS_SHARE = 100.0, 0.05  # logits that no training on these columns reaches
BETTER = 2.24  # standard errors: one of two comparisons is beyond it by chance in 2.5 %
WITHOUT_VALIDATION = "--no-validation"  # pages say what they offer in its place
CLEAR_AUC = 0.6  # an interval that reaches it does not show that the score is noise


def check_scores(table: Table, scores: Scores, split: Split) -> tuple[Finding, ...]:
    """Look for scores that are constant, saturated, noise or reversed, and for percentages.

    They are judged by validation, calibration and test rows: a model knows its training rows.
    """
    rows = _sample(scores, np.concatenate([split.validation, split.calibration, split.test]))
    if not rows.size:
        return ()
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    ranking = _ranking(table, scores, rows)
    known = table.roles.split is not None
    where = f"on {row_count(rows.size)} "
    where += "that the model was not trained on" if known else "of validation, calibration and test"
    found = *_constant(table, logits, ranking, where), *_saturated(table, logits, y, where)
    if not any(each.code == "constant-score" for each in found):
        found = *found, *_no_ranking(table, ranking, where)
    doubts = (Finding(None, each, "warning", "array-range") for each in scores.doubts)
    return *doubts, *found, *_percentages(table, scores)


def _sample(scores: Scores, rows: Ints) -> Ints:
    """Draw rows with a score."""
    rows = rows[scores.usable[rows]]
    if rows.size <= MAX_ROWS:
        return rows
    return np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False)


def _ranking(table: Table, scores: Scores, rows: Ints) -> Lift:
    """Compare the AUC of the scores with that of a constant, 0.5."""
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    compare = macro_lift if table.classes else paired_delong
    weight, group = table.weight_of(rows), table.group(rows)
    return compare(y, np.zeros_like(logits), logits, weight=weight, group=group)


def _constant(table: Table, logits: Floats, ranking: Lift, where: str) -> Iterator[Finding]:
    """Look for a score that hardly differs between rows, unless the few that differ rank."""
    columns = np.sort(logits.reshape(len(logits), -1), axis=0)
    apart = min(int(np.ceil(NEARLY_ALL * len(columns))), len(columns) - 1)
    close = columns[apart:] - columns[: len(columns) - apart] < NEGLIGIBLE
    all_close = bool((columns[-1] - columns[0] < NEGLIGIBLE).all())
    if all_close or (close.any(axis=0).all() and not 0.5 + ranking.low > RANKING):
        likely = "" if table.classes else f" ({np.median(logits):.4g})"
        yield Finding(
            table.roles.score,
            f"The score is constant in effect: {where}, {'all' if all_close else '99 %'} have the "
            f"same logit{likely}, give or take {NEGLIGIBLE:g}. It ranks nothing. Check that the "
            "right score column or model output was chosen, and that the model's inputs are the "
            "columns it was trained on.",
            "warning",
            "constant-score",
        )


def _saturated(table: Table, logits: Floats, y: Ints, where: str) -> Iterator[Finding]:
    """Look for probabilities so close to 0 or 1 that they are wrong far more often than they say.

    Rare classes, or classes that a model separates, may have such probabilities rightly.
    """
    if table.classes:
        right, sure = top_label(y, logits)
        wrong: Bools = right == 0
    else:
        sure, wrong = np.abs(logits), (logits > 0) != (y == 1)
    beyond = sure > SATURATED
    share, expected = float(beyond.mean()), float(sigmoid(-sure[beyond]).sum())
    mistakes = int((wrong & beyond).sum())
    endless = float((sure > ENDLESS).mean()) >= ENDLESS_SHARE
    if (share >= SATURATED_SHARE or endless) and mistakes > 3 * expected + 3:
        from_model = table.roles.score is None and not table.roles.class_scores
        first = "The inputs do not look like those the model was trained on"
        yield Finding(
            table.roles.score,
            f"{first if from_model else 'The score is saturated'}: {where}, {share:.1%} have a "
            "probability within 0.00005 of 0 or 1, and "
            f"{mistakes:,} of these are wrong; logits go from {logits.min():,.0f} to "
            f"{logits.max():,.0f}. The columns were probably scaled in training, and the model is "
            "given unscaled ones. "
            + (
                "Say on the Scores page what was done to them in training (--scale on the command "
                "line, --array-scale for an array), and score the rows again."
                if from_model
                else "Scale them as in training and score the rows again."
            ),
            "warning",
            "saturated-score",
        )


def _no_ranking(table: Table, ranking: Lift, where: str) -> Iterator[Finding]:
    """Look for a score that ranks no better than chance, or worse."""
    low, high = 0.5 + ranking.low, 0.5 + ranking.high
    what = "macro AUC" if table.classes else "AUC"
    measured = f"{where}, its {what} is {ranking.after:.4f} ({low:.3f} to {high:.3f})"
    if high < 0.5:
        yield Finding(
            table.roles.score,
            f"The score is reversed: {measured}, so it ranks negative rows above positive ones. "
            + (
                "Check the order of the classes."
                if table.classes
                else "Check which value of the label is positive, and which output of the model "
                "stands for it."
            ),
            "warning",
            "reversed-score",
        )
    elif low <= 0.5:
        unclear = high > CLEAR_AUC
        yield Finding(
            table.roles.score,
            f"The score {'cannot be told from' if unclear else 'is'} noise: {measured}. "
            + (
                "More rows would show whether it ranks at all."
                if unclear
                else "Any gain comes from the columns, not from the model. Check that the right "
                "score column or model was chosen, and that the scores belong to these rows."
            ),
            "warning",
            "noise-score",
        )


def _percentages(table: Table, scores: Scores) -> Iterator[Finding]:
    """Look for percentages that were mistaken for the logits of two classes."""
    if table.classes:
        return
    rows = scores.usable
    logits, rate = scores.logit[rows], positive_rate(table.y[rows])
    if not logits.size or logits.min() < 0 or logits.max() > LARGEST_PERCENTAGE:
        return
    if float(np.mean(sigmoid(logits))) > rate:
        yield Finding(
            table.roles.score,
            f"No logit is below 0: the model would call all {logits.size:,} rows more likely "
            f"positive than not, of which {rate:.1%} are. The scores go from {logits.min():.3g} "
            f"to {logits.max():.3g}; if they are percentages, divide them by 100 and say that "
            "they are probabilities.",
            "warning",
            "percent-score",
        )


def check_validation(table: Table, scores: Scores, split: Split) -> tuple[Finding, ...]:
    """Say that schemes read validation rows; warn if the model looks better on them.

    They may have chosen the epoch of the network. Its AUC and its log-loss there are compared
    with those on calibration rows.
    """
    roles = [_sample(scores, rows) for rows in (split.validation, split.calibration)]
    if min(each.size for each in roles) < 2:
        return ()
    what = "macro AUC" if table.classes else "AUC"
    areas = [_ranking(table, scores, rows) for rows in roles]
    losses = [_loss(table, scores, rows) for rows in roles]
    more = (areas[0].after - areas[1].after) / np.hypot(areas[0].se, areas[1].se)
    less = (losses[1][0] - losses[0][0]) / np.hypot(losses[0][1], losses[1][1])
    better = bool(more > BETTER or less > BETTER)
    measured = (
        f"its {what} is {areas[0].after:.4f} on them and {areas[1].after:.4f} on calibration rows, "
        f"its log-loss {losses[0][0]:.4f} and {losses[1][0]:.4f}"
    )
    return (
        Finding(
            None,
            (
                f"The model looks better on validation rows than on others: {measured}. They "
                "probably chose its epoch, and schemes that are fitted on them may trust it too "
                f"much. Compare with a run without them ({WITHOUT_VALIDATION})."
            )
            if better
            else (
                f"Schemes are fitted and compared on the {split.validation.size:,} validation "
                "rows, too. If these chose the network's epoch, it looks better on them than on "
                f"new rows, but not significantly so here: {measured}. They can be "
                f"left out ({WITHOUT_VALIDATION})."
            ),
            "warning" if better else "note",
            "validation-reused",
        ),
    )


def _loss(table: Table, scores: Scores, rows: Ints) -> tuple[float, float]:
    """Return the log-loss of some rows and its standard error."""
    logits, y = scores.logit[rows], np.asarray(table.y[rows], dtype=np.int64)
    losses = -logits[np.arange(y.size), y] if table.classes else loss_of_rows(y, logits)
    weight, group = table.weight_of(rows), table.group(rows)
    w = np.ones(y.size) if weight is None else weight
    mean = float(np.average(losses, weights=w))
    return mean, error_of(w * (losses - mean) / w.sum(), group)


def check_training(roles: Roles) -> tuple[Finding, ...]:
    """Warn where no split column says which rows the model was trained on."""
    if roles.split is not None:
        return ()
    how = "at random" if roles.time is None else "by time"
    return (
        Finding(
            None,
            f"The rows were split {how}, and it is unknown which of them the model was trained on. "
            "If it was trained on test or calibration rows, it looks better there than it is, "
            "and the lift is not that of new rows. Name a split column that says which rows it was "
            "trained on.",
            "warning",
            "unknown-training-rows",
        ),
    )
