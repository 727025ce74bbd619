"""Find groups of rows that nobody named: a column that repeats like the id of a customer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hetcal.arrays import Ints
from hetcal.data.columns import column_kind, distinct_count

FIRST_LOOK = 20_000  # rows that show whether a column repeats at all
MAX_ROWS = 200_000  # of some values are looked at more closely
COMPARED = 2_000  # pairs that show whether another column is constant within groups
PAIRED = 20  # rows of one value at most, so that no common value decides
MOST_COLUMNS = 200  # are compared with each other: of a wider table some, spread over it

FEWEST_GROUPS = 30
FEWEST_PAIRS = 50
MOST_ROWS_EACH = 200  # rows of a group, on average
REPEATED = 0.25  # least share of rows in groups of several

CONSTANT = 0.985  # least agreement within groups of a column that is constant there,
VARIED = 0.8  # and its largest agreement between groups, so that this says something
DERIVED = 0.95  # correlation of ranks with a column that one is computed from
ONE_EACH = 0.8  # least number of values per group of a column that marks groups as well

# Without constant columns the label alone must show the groups, and nearly all rows be in one.
LABEL_ROWS_EACH = 50
LABEL_REPEATED = 0.9
LABEL_ALIKE = 0.1
LABEL_Z = 5.0
SUPPORTING_Z = 4.0  # beside one constant column


@dataclass(frozen=True)
class FoundGroup:
    """A column whose equal values mark rows that belong together.

    `alike` is the correlation of their labels beyond that with neighbouring values; `z` is this
    over its standard error.
    """

    column: str
    groups: int
    alike: float
    z: float
    constant: tuple[str, ...]  # columns that hardly differ within groups, but between them
    same: tuple[str, ...]  # those of about one value per group


def find_group(
    frame: pd.DataFrame, y: Ints, names: Sequence[str], others: Sequence[str]
) -> FoundGroup | None:
    """Return the column among `names` that marks groups of rows; None if there is none.

    Rows of equal value are compared with rows of the next larger value. A number that describes
    rows agrees with its neighbours as well as with itself; rows of one customer agree with each
    other, in the label or in `others`, more than with those of the next customer. Large
    tables are sampled.
    """
    rng = np.random.default_rng(0)
    first = np.arange(len(frame))
    if first.size > FIRST_LOOK:
        first = np.unique(rng.integers(0, len(frame), FIRST_LOOK))
    repeating = [
        name for name in names if _repeats(frame[name].iloc[first]) and not frame[name].hasnans
    ]
    # Fractions are measured rather than given to somebody.
    repeating.sort(key=lambda name: frame[name].dtype.kind == "f")
    some = others[:: max(1, -(-len(others) // MOST_COLUMNS))]
    looked = [_look(frame, y, name, some, rng) for name in repeating[:MOST_COLUMNS]]
    found = [each for each in looked if each is not None]
    if not found:
        return None
    # Large groups may contain small ones.
    best = min(found, key=lambda each: (frame[each.column].dtype.kind == "f", each.groups))
    return best if len(some) == len(others) else _look(frame, y, best.column, others, rng) or best


def _repeats(column: pd.Series) -> bool:
    """Decide by some rows whether a column has many values and repeats some of them."""
    if column_kind(column) not in ("number", "category"):
        return False
    return FEWEST_GROUPS <= column.nunique() < len(column) - 2


def _look(
    frame: pd.DataFrame, y: Ints, name: str, others: Sequence[str], rng: np.random.Generator
) -> FoundGroup | None:
    """Compare the rows of equal value of one column."""
    rows = rng.permutation(_rows_of_some_values(frame[name]))
    code = pd.factorize(frame[name].iloc[rows], sort=True)[0]
    size = np.bincount(code)
    rows_each, repeated = rows.size / size.size, float(np.mean(size[code] > 1))
    if size.size < FEWEST_GROUPS or rows_each > MOST_ROWS_EACH or repeated < REPEATED:
        return None
    row, equal, neighbour = _pairs(code, size)
    if row.size < FEWEST_PAIRS:
        return None
    alike, z = _excess(y[rows], code, size)
    some = rng.permutation(row.size)[:COMPARED]
    triples = np.concatenate([each[some] for each in (row, equal, neighbour)])
    constant, same = [], []
    for other in others:
        values = (
            0
            if other == name
            else _values_where_constant(frame[other].iloc[rows[triples]], code[triples])
        )
        if values:
            constant.append(other)
            if values >= ONE_EACH * np.unique(code[triples]).size:
                same.append(other)
    by_label = repeated >= LABEL_REPEATED and rows_each <= LABEL_ROWS_EACH
    if not (
        len(constant) > 1
        or (constant and abs(z) >= SUPPORTING_Z)
        or (by_label and z >= LABEL_Z and alike >= LABEL_ALIKE)
    ):
        return None
    return FoundGroup(name, distinct_count(frame[name]), alike, z, tuple(constant), tuple(same))


def _rows_of_some_values(column: pd.Series) -> Ints:
    """Return all rows of a random part of the values, so that groups stay whole."""
    if len(column) <= MAX_ROWS:
        return np.arange(len(column))
    hashes = pd.util.hash_pandas_object(column, index=False).to_numpy()
    return np.flatnonzero(hashes % np.uint64(-(-len(column) // MAX_ROWS)) == 0)


def _pairs(code: Ints, size: Ints) -> tuple[Ints, Ints, Ints]:
    """Return rows, another row of equal value for each, and one of the next larger value."""
    order = np.argsort(code, kind="stable")
    begin = np.cumsum(size) - size
    value = code[order]
    place = np.arange(order.size) - begin[value]
    # Every other row, so that no row is in two pairs; the largest value has no neighbour.
    use = (place % 2 == 0) & (place < PAIRED) & (place + 1 < size[value]) & (value + 1 < size.size)
    at = np.flatnonzero(use)
    following = value[at] + 1
    beside = begin[following] + np.minimum(place[at], size[following] - 1)
    return order[at], order[at + 1], order[beside]


def _excess(y: Ints, code: Ints, size: Ints) -> tuple[float, float]:
    """Return how much more the labels of equal values agree than those of neighbours, and its z.

    The product of the labels, as their distance from the share of each class, is averaged over all
    pairs of rows of a value, and over all pairs with the next larger one. Only values that repeat
    are compared, since rows that come alone may have other labels. They count by their rows, up to
    `PAIRED`.
    """
    repeats = size > 1
    use = repeats[code]
    y, code, size = y[use], (np.cumsum(repeats) - 1)[code[use]], size[repeats]
    weight = np.minimum(size, PAIRED) - 1.0
    share = np.bincount(y, (weight / size)[code]) / weight.sum()
    inside, between = np.zeros(size.size), np.zeros(size.size)
    for number, rate in enumerate(share):
        away = (y == number) - rate
        total = np.bincount(code, away)
        inside += total**2 - np.bincount(code, away**2)
        between += total * np.roll(total, -1)  # the largest value is followed by the smallest
    more = inside / (size * (size - 1)) - between / (size * np.roll(size, -1))
    mean = float(np.average(more, weights=weight))
    error = float(np.sqrt(np.sum((weight * (more - mean)) ** 2))) / float(weight.sum())
    by_chance = 1 - float(share @ share)
    return (mean / by_chance, mean / error) if by_chance and error else (0.0, 0.0)


def _values_where_constant(column: pd.Series, code: Ints) -> int:
    """Count the values of a column that is constant within groups only; 0 if it is not.

    The rows are three parts of equal length: rows, others of equal value, and neighbours.
    """
    if column_kind(column) not in ("number", "category"):
        return 0
    values, found = pd.factorize(column, sort=column_kind(column) == "number")
    row, equal, neighbour = values.reshape(3, -1)
    if np.mean(row == equal) < CONSTANT or np.mean(row == neighbour) > VARIED:
        return 0
    if column_kind(column) == "number" and abs(np.corrcoef(values, code)[0, 1]) > DERIVED:
        return 0
    return len(found)
