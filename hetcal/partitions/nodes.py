"""The parts of a partition: features, nodes, and what makes them one sound tree."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise
from typing import Any, Literal, cast

import numpy as np

from hetcal.cells.cells import MAX_LEAVES
from hetcal.errors import PartitionError
from hetcal.strict_json import Fields, JsonError

MAX_CATEGORY_CELLS = 10_000_000  # leaves x categories: what the rules of all leaves may take


@dataclass(frozen=True)
class Feature:
    """A column that the partition reads."""

    name: str  # name of the column
    kind: Literal["number", "category"]  # how values are compared
    categories: tuple[str, ...] = ()  # with enough training rows, sorted; empty for a number
    whole: bool = False  # all training values are whole numbers, so that rules can be, too
    digits: int = 6  # significant digits that keep every threshold between the same training values
    missing: bool = False  # values were missing in training, so that rules have to mention them
    rare: bool = False  # some categories had too few training rows; they follow the missing values
    group: str = ""  # the column whose values this one-hot column and others stand for


@dataclass(frozen=True)
class Node:
    """One node of the tree: a leaf if `feature` is None, else a split."""

    rows: int  # training rows that reach the node
    positive_rate: float  # share of positive labels among them, by weight
    feature: str | None = None  # column that the node splits on
    # Numbers up to the threshold go left. None: every number goes left, missing values right.
    threshold: float | None = None
    categories: tuple[str, ...] = ()  # that go left, sorted; other known ones go right
    missing_left: bool = False  # side of missing values and categories rare or unseen
    left: int = 0  # position of the left child; 0 in a leaf
    right: int = 0


def check_tree(features: Sequence[Feature], nodes: Sequence[Node]) -> None:
    """Raise `PartitionError` unless the nodes form one tree over the features."""
    leaves = sum(node.feature is None for node in nodes)
    if not 1 <= leaves <= MAX_LEAVES:
        raise broken(f"it has {leaves:,} leaves, and 1 to {MAX_LEAVES:,} are possible")
    if leaves * sum(len(feature.categories) for feature in features) > MAX_CATEGORY_CELLS:
        raise broken("its columns have too many categories for so many leaves")
    by_name = {feature.name: feature for feature in features}
    if len(by_name) < len(features):
        raise broken("it names a column twice")
    lists = [each.categories for each in features] + [each.categories for each in nodes]
    if any(first >= second for names in lists for first, second in pairwise(names)):
        raise broken("the categories of a column are not sorted, or one is named twice")
    for position, node in enumerate(nodes):
        if node.feature is not None:
            _check_split(position, node, by_name)
    _check_children(nodes)


def _check_children(nodes: Sequence[Node]) -> None:
    parents = [0] * len(nodes)
    for position, node in enumerate(nodes):
        for child in () if node.feature is None else (node.left, node.right):
            if not position < child < len(nodes):
                raise broken(f"node {position} points to node {child}")
            parents[child] += 1
    if any(count != 1 for count in parents[1:]):
        raise broken("a node has no parent or several")


def _check_split(position: int, node: Node, features: dict[str, Feature]) -> None:
    feature = features.get(node.feature or "")
    if feature is None:
        raise broken(f"node {position} splits on a column that is not listed")
    if feature.kind == "number" and node.categories:
        raise broken(f"node {position} splits a number by categories")
    if feature.kind == "category" and node.threshold is not None:
        raise broken(f"node {position} splits a category at a number")
    if feature.kind == "number" and node.threshold is None and node.missing_left:
        raise broken(f"node {position} sends every row left")
    if not set(node.categories) <= set(feature.categories):
        raise broken(f"node {position} names a category that is not listed")


def broken(problem: str) -> PartitionError:
    """Build the error for a partition that is not sound."""
    return PartitionError(
        f"The partition cannot be used: {problem}.",
        "A partition is a tree of splits as hetcal saves it.",
        "Save it again from hetcal, or train a new tree.",
    )


KIND = "hetcal partition"
FORMAT, EDITED_FORMAT = 1, 2  # of a tree that was grown, and of one that a person has edited
ROUNDING = 1e-9  # how far a rate may be beyond 0 and 1


def tree_fields(
    features: tuple[Feature, ...], nodes: tuple[Node, ...], edited: bool = False
) -> dict[str, Any]:
    """Return the fields of a partition for JSON."""
    return {
        "kind": KIND,
        **({"format": EDITED_FORMAT, "edited": True} if edited else {"format": FORMAT}),
        "features": [feature_fields(feature) for feature in features],
        "nodes": [_node_fields(node, features) for node in nodes],
    }


def read_tree_fields(fields: Fields) -> tuple[tuple[Feature, ...], tuple[Node, ...], bool]:
    """Read what `tree_fields` gave; anything else is a `PartitionError` or a `JsonError`."""
    edited = _check_header(fields)
    features = tuple(read_feature(each) for each in fields.objects("features"))
    kinds = {feature.name: feature.kind for feature in features}
    nodes = tuple(_read_node(each, kinds) for each in fields.objects("nodes"))
    return features, nodes, edited


def _check_header(fields: Fields) -> bool:
    """Refuse what is no partition; return whether it was edited."""
    if "kind" not in fields or fields.text("kind") != KIND:
        raise PartitionError(
            "The file is not a partition saved by hetcal.",
            f"Its JSON has to say that it is a {KIND!r}.",
            "Choose the file that 'Download this partition' gave, or train a tree.",
        )
    form = fields.integer("format", 0, 2**31)
    if form not in (FORMAT, EDITED_FORMAT):
        raise PartitionError(
            "The partition was saved in a format that this version of hetcal does not know.",
            f"Format {FORMAT} or {EDITED_FORMAT} is needed.",
            "Update hetcal, or train a new tree.",
        )
    fields.only("kind", "format", "features", "nodes", *(["edited"] * (form == EDITED_FORMAT)))
    return form == EDITED_FORMAT and fields.flag("edited")


def feature_fields(feature: Feature) -> dict[str, Any]:
    """Return the fields of a column for JSON."""
    common = {"name": feature.name, "kind": feature.kind, "missing": feature.missing}
    if feature.kind == "category":
        return {**common, "rare": feature.rare, "categories": list(feature.categories)}
    group = {"group": feature.group} if feature.group else {}
    return {**common, "whole": feature.whole, "digits": feature.digits, **group}


def read_feature(fields: Fields) -> Feature:
    """Read what `feature_fields` gave."""
    name, kind, missing = fields.text("name"), fields.text("kind"), fields.flag("missing")
    if kind == "number":
        grouped = "group" in fields
        fields.only("name", "kind", "missing", "whole", "digits", *(["group"] * grouped))
        digits = fields.integer("digits", 1, 17)
        group = fields.text("group") if grouped else ""
        if not name.startswith(f"{group}_" * grouped):
            raise JsonError("a one-hot column is not named after its group")
        return Feature(name, "number", (), fields.flag("whole"), digits, missing, group=group)
    if kind != "category":
        raise JsonError("a column is neither a number nor a category")
    fields.only("name", "kind", "missing", "rare", "categories")
    names, rare = fields.texts("categories"), fields.flag("rare")
    return Feature(name, "category", names, missing=missing, rare=rare)


def _node_fields(node: Node, features: tuple[Feature, ...]) -> dict[str, Any]:
    counts = {"rows": node.rows, "positive_rate": node.positive_rate}
    if node.feature is None:
        return counts
    kind = next(feature.kind for feature in features if feature.name == node.feature)
    number = {"threshold": node.threshold}
    cut = number if kind == "number" else {"categories": list(node.categories)}
    children = {"missing_left": node.missing_left, "left": node.left, "right": node.right}
    return {"feature": node.feature, **cut, **children, **counts}


def _read_rate(fields: Fields) -> float:
    """Read a rate; earlier versions wrote some that rounding had brought beyond 0 or 1."""
    rate = fields.number("positive_rate")
    nearest = min(max(rate, 0.0), 1.0)
    return nearest if abs(rate - nearest) < ROUNDING else fields.number("positive_rate", 0.0, 1.0)


def _read_node(fields: Fields, kinds: dict[str, Any]) -> Node:
    rows = fields.integer("rows", 0, 2**53)
    rate = _read_rate(fields)
    if "feature" not in fields:
        fields.only("rows", "positive_rate")
        return Node(rows, rate)
    name = fields.text("feature")
    if name not in kinds:
        raise JsonError("a node splits on a column that is not listed")
    threshold, categories = None, cast(tuple[str, ...], ())
    cut = "categories" if kinds[name] == "category" else "threshold"
    if cut == "categories":
        categories = fields.texts("categories")
    elif not fields.is_null("threshold"):
        threshold = fields.number("threshold")
    fields.only("feature", cut, "missing_left", "left", "right", "rows", "positive_rate")
    children = fields.integer("left", 1, 2**31), fields.integer("right", 1, 2**31)
    return Node(rows, rate, name, threshold, categories, fields.flag("missing_left"), *children)


ALL_ROWS = "all rows"
SHORT_LIST = 4  # categories that a rule names before it shortens the list
SHORT_NAME = 40  # characters


@dataclass(frozen=True)
class Condition:
    """What a path requires of one column."""

    feature: Feature  # the column
    low: float | None = None  # numbers lie above `low` and are at most `high`; None is no limit
    high: float | None = None
    categories: tuple[str, ...] = ()  # known categories that pass, sorted; empty for a number
    present: bool = True  # some value that is not missing can pass
    missing: bool = True  # missing values pass, and with them categories rare or unseen in training


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
    """Join the conditions of a path: '30 < age ≤ 45 and job is student or missing'.

    One-hot columns of one group are one condition: 'job is student', or 'job is not student or
    admin'.
    """
    parts: dict[str, str] = {}
    for each in conditions:
        if not restricts(each):
            continue
        if _hot(each) is None:
            parts[each.feature.name] = condition_words(each, full=full)
            continue
        alike = [here for here in conditions if here.feature.group == each.feature.group]
        parts[f"{each.feature.group}_"] = _group_words(alike)  # no one-hot column is called so
    return " and ".join(parts.values()) or ALL_ROWS


def _hot(condition: Condition) -> bool | None:
    """Return whether a one-hot column has to be 1, or 0; None for other conditions."""
    low, high = condition.low, condition.high
    if not condition.feature.group or not condition.present or condition.feature.missing:
        return None
    if low is not None and 0 <= low < 1 and high is None:
        return True
    return False if high is not None and 0 <= high < 1 and low is None else None


def _group_words(conditions: Sequence[Condition]) -> str:
    """Put the conditions of one-hot columns of one group into words."""
    group = conditions[0].feature.group
    values: dict[bool, list[str]] = {True: [], False: []}
    for each in conditions:
        hot = _hot(each)
        if hot is not None:
            values[hot].append(shown(each.feature.name[len(group) + 1 :]))
    if values[True]:
        return f"{shown(group)} is {' and '.join(values[True])}"
    return f"{shown(group)} is not {_either(values[False])}"


MOST_IN_NAME = 3  # conditions of a path that its short name has
LEFT_OUT = "…"  # in a name, where conditions of the path are left out


def short_names(found: Sequence[Sequence[Condition]]) -> list[str]:
    """Name paths by all of their conditions, or of long ones by a few that no other path has.

    An ellipsis stands where conditions are left out, so that no name reads as another rule. A
    category stands alone where no other column has it.

    Examples
    --------
    >>> contract = Feature("contract", "category", ("monthly", "two years"))
    >>> monthly, long = (Condition(contract, categories=(each,)) for each in contract.categories)
    >>> age, fee = Feature("age", "number", whole=True), Feature("fee", "number")
    >>> young, old = Condition(age, high=30.5), Condition(age, low=30.5)
    >>> short_names([(monthly, young), (monthly, old), (long,)])
    ['monthly · age ≤ 30', 'monthly · age > 30', 'two years']
    >>> calls = Condition(Feature("calls", "number", whole=True), high=3.5)
    >>> ends = [(monthly, old, Condition(fee, high=20.0)), (monthly, old, Condition(fee, low=20.0))]
    >>> short_names([(*each, calls) for each in ends])
    ['monthly · … · fee ≤ 20 · …', 'monthly · … · fee > 20 · …']
    """
    features = {each.feature.name: each.feature for path in found for each in path}
    columns = Counter(name for each in features.values() for name in each.categories)
    words = [[_short_words(each, columns) for each in path if restricts(each)] for path in found]
    times = Counter(names for path in words for names in _some_of(path))
    return [" · ".join(_name_of(path, times)) or ALL_ROWS for path in words]


def _name_of(words: Sequence[str], times: Mapping[tuple[str, ...], int]) -> Sequence[str]:
    if len(words) <= MOST_IN_NAME:
        return words
    kept = next((each for each in _some_of(words) if times[each] == 1), words)
    marked = (each if each in kept else LEFT_OUT for each in words)
    return [each for each, _ in groupby(marked)]


def _some_of(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(min(2, len(words)), min(MOST_IN_NAME, len(words)) + 1):
        yield from combinations(words, size)


def _short_words(condition: Condition, columns: Mapping[str, int]) -> str:
    names = condition.categories
    if len(names) == 1 and columns[names[0]] == 1 and len(names[0]) > 3:
        return shown(names[0])
    return condition_words(condition).removesuffix(" (or missing)")


def restricts(condition: Condition) -> bool:
    """Return whether any training value fails the condition."""
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
    if _hot(condition) is not None:
        return _group_words([condition])
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
    """Make a name fit for a sentence: quoted if it would be misread, without its middle if long.

    Names of columns often begin alike, or end alike.
    """
    if len(name) > SHORT_NAME:
        name = f"{name[: SHORT_NAME // 2]}…{name[1 - SHORT_NAME // 2 :]}"
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
