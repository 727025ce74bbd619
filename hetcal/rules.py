"""Rules in words: what the path to a leaf asks of each column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hetcal.nodes import Feature, Node

ALL_ROWS = "all rows"
SHORT_LIST = 4  # categories that a rule names before it shortens the list
SHORT_NAME = 40  # characters


@dataclass(frozen=True)
class Condition:
    """What a path asks of one column.

    Parameters
    ----------
    feature : Feature
        The column.
    low, high : float or None
        Numbers lie above `low` and are at most `high`; None is no limit.
    categories : tuple of str
        Known categories that pass, sorted; empty for a number.
    present : bool
        Some value that is not missing can pass.
    missing : bool
        Missing values pass, and with them categories rare or unseen in training.
    """

    feature: Feature
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()
    present: bool = True
    missing: bool = True

    @property
    def words(self) -> str:
        """The condition in words, long lists of categories shortened."""
        return condition_words(self)

    @property
    def full_words(self) -> str:
        """The condition in words with every category."""
        return condition_words(self, full=True)


def anything(feature: Feature) -> Condition:
    """Return the condition that every value meets."""
    return Condition(feature, categories=feature.categories)


def narrow(condition: Condition, node: Node, *, left: bool) -> Condition:
    """Return what is left of a condition on one side of a split of its column."""
    missing = condition.missing and node.missing_left == left
    if condition.feature.kind == "category":
        chosen = set(node.categories)
        names = tuple(name for name in condition.categories if (name in chosen) == left)
        return replace(condition, categories=names, present=bool(names), missing=missing)
    if node.threshold is None:
        return replace(condition, present=condition.present and left, missing=missing)
    if left:
        high = node.threshold if condition.high is None else min(condition.high, node.threshold)
        return replace(condition, high=high, missing=missing)
    low = node.threshold if condition.low is None else max(condition.low, node.threshold)
    return replace(condition, low=low, missing=missing)


def rule_words(conditions: Sequence[Condition], *, full: bool = False) -> str:
    """Join the conditions of a path: '30 < age ≤ 45 and job is student or missing'."""
    parts = [condition_words(each, full=full) for each in conditions if restricts(each)]
    return " and ".join(parts) or ALL_ROWS


def restricts(condition: Condition) -> bool:
    """Tell whether any training value fails the condition."""
    if _absent(condition.feature) and not condition.missing:
        return True
    if condition.feature.kind == "category":
        return condition.categories != condition.feature.categories
    return not condition.present or condition.low is not None or condition.high is not None


def condition_words(condition: Condition, *, full: bool = False) -> str:
    """Put one condition into words.

    Missing values, and categories that are rare, are mentioned only if there were any
    in training.

    Examples
    --------
    >>> age = Feature("age", "number", whole=True, missing=True)
    >>> condition_words(Condition(age, low=30.5, high=45.5))
    '30 < age ≤ 45 (or missing)'
    >>> job = Feature("job", "category", ("admin.", "retired", "student"))
    >>> condition_words(Condition(job, categories=("admin.", "student")))
    'job is admin. or student'
    """
    name = shown(condition.feature.name)
    absent = _either(_absent(condition.feature) or ["missing"])
    if not condition.present:
        return f"{name} is {absent if condition.missing else 'nothing'}"
    if not restricts(replace(condition, missing=True)):
        return f"{name} is anything" if condition.missing else f"{name} is not {absent}"
    if condition.feature.kind == "category":
        return f"{name} is {_category_words(condition, full=full)}"
    low = "" if condition.low is None else number_words(condition.low, condition.feature)
    high = "" if condition.high is None else number_words(condition.high, condition.feature)
    also = " (or missing)" if condition.missing and condition.feature.missing else ""
    if not high:
        return f"{name} > {low}{also}"
    return f"{low} < {name} ≤ {high}{also}" if low else f"{name} ≤ {high}{also}"


def _category_words(condition: Condition, *, full: bool) -> str:
    feature, names = condition.feature, condition.categories
    absent = _absent(feature)
    if full or len(names) <= SHORT_LIST:
        return _either([*map(shown, names), *(absent if condition.missing else [])])
    passing = set(names)
    excluded = [shown(name) for name in feature.categories if name not in passing]
    if len(excluded) < SHORT_LIST:
        return "not " + _either(excluded + ([] if condition.missing else absent))
    few = ", ".join(map(shown, names[:2]))
    return _either([f"one of {len(names):,} ({few}, …)", *(absent if condition.missing else [])])


def _absent(feature: Feature) -> list[str]:
    """Name what followed no category in training: missing values, and rare categories."""
    words = {"missing": feature.missing, "rare": feature.rare}
    return [word for word, occurred in words.items() if occurred]


def _either(words: Sequence[str]) -> str:
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def number_words(threshold: float, feature: Feature) -> str:
    """Write a threshold so that no training value changes sides.

    Examples
    --------
    >>> number_words(36.5, Feature("age", "number", whole=True))
    '36'
    >>> number_words(1234.5678, Feature("income", "number", digits=6))
    '1234.57'
    """
    if feature.whole and abs(threshold) < 2**53:
        return str(int(np.floor(threshold)))
    return short_number(threshold, feature.digits)


def short_number(value: float, digits: int) -> str:
    """Write a number with at most this many significant digits."""
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(value, digits, fractional=False, trim="-")
    return f"{value:.{digits}g}"


def needed_digits(threshold: float, below: float, above: float) -> int:
    """Return how many digits, at least 4, keep a threshold in [below, above)."""
    for digits in range(4, 17):
        if below <= float(short_number(threshold, digits)) < above:
            return digits
    return 17


def shown(name: str) -> str:
    """Make a name fit for a sentence: quoted if it would be misread, shortened if long."""
    if len(name) > SHORT_NAME:
        name = name[: SHORT_NAME - 1] + "…"
    if name in ("missing", "rare") or name != name.strip() or not name.isprintable() or not name:
        return repr(name)
    return name


def paths(features: Iterable[Feature], nodes: Sequence[Node]) -> list[tuple[Condition, ...]]:
    """Return the merged conditions of each node, columns in the order of the path."""
    by_name = {feature.name: feature for feature in features}
    found: list[dict[str, Condition]] = [{} for _ in nodes]
    for position, node in enumerate(nodes):
        if node.feature is None:
            continue
        path = found[position]
        here = path.get(node.feature) or anything(by_name[node.feature])
        for child, left in ((node.left, True), (node.right, False)):
            found[child] = {**path, node.feature: narrow(here, node, left=left)}
    return [tuple(path.values()) for path in found]
