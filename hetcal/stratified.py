"""Draw roles and folds at random, alike in every class, with groups kept together.

scikit-learn's splitters do the same more slowly: four roles of 10 million rows take it five times
as long, folds of 10,000 groups hundreds of times, and its folds of few groups may lack a class
where fewer folds would have both.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcal.arrays import Floats, Ints
from hetcal.ranking import Labels

Groups = NDArray[Any]
"""What tells the group of each row: numbers, texts, whatever the column holds."""
TRIES = 5  # deals before a fold less is drawn


def count_groups(group: Groups | None) -> int | None:
    """Return the number of groups; None where there are none."""
    return None if group is None else int(pd.unique(group).size)


def draw(size: Floats, stratum: Labels, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each unit, so that each stratum is divided by the shares.

    Units of a stratum are put in random order along a line, each as long as its
    size; the role is the part of the line in which the unit's middle lies.
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

    Examples
    --------
    >>> [part.tolist() for part in halves(np.array([0, 1, 0, 1, 0, 1, 0, 1]))]
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    dealt = None if group is None else draw_group_folds(y, group, 2, 0)
    if dealt is not None:
        return np.flatnonzero(dealt == 0), np.flatnonzero(dealt == 1)
    turn = np.arange(len(y)) % 2
    if any(np.unique(y[turn == side]).size < np.unique(y).size for side in (0, 1)):
        turn[np.argsort(y, kind="stable")] = np.arange(len(y)) % 2
    return np.flatnonzero(turn == 0), np.flatnonzero(turn == 1)


def draw_groups(labels: Ints, group: pd.Series, shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw a role for each group; groups of one class and mixed groups are strata."""
    codes, _ = pd.factorize(group, sort=False, use_na_sentinel=False)
    size = np.bincount(codes).astype(np.float64)
    positives = np.bincount(codes, weights=labels)
    stratum = (positives > 0).astype(np.int64) + (positives == size)
    return draw(size, stratum, shares, rng)[codes]


def draw_group_folds(y: Labels, group: Groups, folds: int, seed: int | None) -> Ints | None:
    """Draw a fold for each row, equal within a group.

    Groups of each class and mixed groups are dealt out in turn, first the largest ones. There
    are fewer folds where some would otherwise have no rows or only one class.

    Parameters
    ----------
    y : array of int
        Labels.
    group : array
        Group of each row.
    folds : int
        Most folds.
    seed : int or None
        Decides who gets which of the groups that are equally large.

    Returns
    -------
    array of int or None
        Numbers from 0; None if not even two folds have rows of the same two classes.
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
            fold = _dealt(stratum, size if attempt == 0 else np.zeros_like(size), count, rng)
            rows = np.bincount(fold[codes] * classes + label, minlength=count * classes)
            if (rows.reshape(count, classes) > 0).all(axis=0).sum() >= 2:
                return fold[codes]
    return None


def _dealt(stratum: Ints, size: Ints, hands: int, rng: np.random.Generator) -> Ints:
    """Deal units out to and fro, one stratum after the other, the largest of each first."""
    order = rng.permutation(size.size)
    order = order[np.lexsort((-size[order], stratum[order]))]
    turn, place = np.divmod(np.arange(size.size), hands)
    hand = np.empty(size.size, dtype=np.int64)
    hand[order] = np.where(turn % 2, hands - 1 - place, place)
    return hand
