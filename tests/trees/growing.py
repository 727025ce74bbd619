"""Tables for trees, and a comparison of trees that knows when two cuts are equally good."""

import numpy as np

KINDS = (
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: rng.integers(0, rng.integers(2, 400), n),
    lambda rng, n: rng.integers(0, 2, n),
    lambda rng, n: np.exp(2 * rng.normal(size=n)),
    lambda rng, n: np.full(n, 3.0),
    lambda rng, n: np.where(rng.random(n) < 0.6, 0, rng.normal(size=n)),
    lambda rng, n: np.where(rng.random(n) < 0.2, 0, 1000 + rng.random(n)),
    lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-8, 8),
)


def random_table(seed, rows, columns=8, classes=2):
    """A matrix with columns of many kinds, some with gaps, and labels that depend on four."""
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns), dtype=np.float32, order=rng.choice(["C", "F"]))
    for j in range(columns):
        X[:, j] = KINDS[rng.integers(len(KINDS))](rng, rows)
        if rng.random() < 0.3:
            X[rng.random(rows) < rng.choice([0.01, 0.3, 0.9]), j] = np.nan
    high = X[:, :4] > np.nanmedian(X[:, :4], axis=0)
    if classes > 2:
        worth = high @ rng.normal(size=(4, classes)) + rng.gumbel(size=(rows, classes))
        return X, worth.argmax(axis=1)
    chance = 1 / (1 + np.exp(-(high @ rng.normal(size=4) + rng.normal())))
    return X, (rng.random(rows) < chance).astype(np.int64)


def count_ties(ours, theirs, X, y, weight=None):
    """Walk down two trees and count nodes where they differ, which must be ties.

    Below a tie the trees are about different rows, so the walk stops there.
    """
    weight = np.ones(len(y)) if weight is None else weight
    ties, waiting = 0, [(0, 0, np.arange(len(y)))]
    while waiting:
        a, b, rows = waiting.pop()
        assert ours.rows[a] == theirs.rows[b] == rows.size
        assert abs(ours.rate[a] - theirs.rate[b]) < 1e-12
        assert (ours.feature[a] < 0) == (theirs.feature[b] < 0)
        if ours.feature[a] < 0:
            continue
        left, other = (_left(tree, at, X[rows]) for tree, at in ((ours, a), (theirs, b)))
        if _cut(ours, a) != _cut(theirs, b):
            gap = _purity(left, y[rows], weight[rows]) - _purity(other, y[rows], weight[rows])
            assert abs(gap) < 1e-13 * weight[rows].sum()
            ties += 1
        else:
            waiting.append((ours.left[a], theirs.left[b], rows[left]))
            waiting.append((ours.right[a], theirs.right[b], rows[~left]))
    return ties


def _cut(tree, at):
    return tree.feature[at], tree.threshold[at], tree.missing_left[at]


def _left(tree, at, X):
    values = X[:, tree.feature[at]].astype(float)
    return np.where(np.isnan(values), tree.missing_left[at], values <= tree.threshold[at])


def _purity(left, y, weight):
    """Sum of (mass of class)² / mass over the classes of both sides: Gini without constants."""
    return sum(
        sum(weight[side & (y == label)].sum() ** 2 for label in np.unique(y)) / weight[side].sum()
        for side in (left, ~left)
    )
