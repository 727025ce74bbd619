"""How often intervals cover the lift: ``python -m tests.metrics.interval_coverage [samples]``.

Rows are drawn from large populations whose lift is known. Printed is, for so many positive and
negative rows, the share of 95 % intervals that cover it, beside that of normal intervals.
"""

import sys
from functools import partial

import numpy as np
from scipy.special import expit, log_softmax
from scipy.special import logit as logit_of
from scipy.stats import norm

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.metrics.classes import macro_lift
from hetcal.metrics.delong import paired_delong

POPULATION = 100_000  # rows of each class
SIZES = [(12, 1000), (20, 200), (20, 1000), (20, 5000), (30, 1000), (50, 1000), (200, 1000)]


def two_normal(rng, y, start, end, alike):
    """Scores whose means differ by `start` and `end` between the classes; `alike` correlates."""
    common, own = rng.standard_normal((2, y.size))
    return start * y + common, end * y + alike * common + np.sqrt(1 - alike**2) * own


def heavy_tails(rng, y):
    noise, change = rng.standard_t(3, (2, y.size))
    before = 1.2 * y + noise
    return before, before + 0.4 * y * rng.random(y.size) + 0.2 * change


def leaf_offsets(rng, y, shares, odds, offsets, slopes=1.0, start=1.5):
    """Leaves with shares of the negative rows, log-odds of positive ones, and a map each."""
    of_positive = np.array(shares) * np.exp(odds)
    ends = [np.cumsum(each / np.sum(each))[:-1] for each in (shares, of_positive)]
    drawn = rng.random(y.size)
    leaf = np.where(y == 1, np.searchsorted(ends[1], drawn), np.searchsorted(ends[0], drawn))
    score = start * y + rng.standard_normal(y.size)
    return score, np.broadcast_to(slopes, len(shares))[leaf] * score + np.array(offsets)[leaf]


def table(rng, y, change):
    """A network that is over-confident and misses an interaction, and a change of its logits."""
    pool = 12 * y.size
    x = rng.standard_normal((pool, 4))
    logit = x[:, 0] + 0.6 * x[:, 1] + 0.7 * x[:, 2] * (x[:, 3] > 0) - 3
    label = rng.random(pool) < expit(logit)
    rows = np.concatenate([np.flatnonzero(label == each)[: y.size // 2] for each in (1, 0)])
    x, logit = x[rows], logit[rows]
    noise = rng.standard_normal(y.size)
    score = 2 * (x[:, 0] + 0.4 * x[:, 1] + 0.6 * noise) - 3
    if change == "additive":
        return score, 0.5 * score + 0.3 * x[:, 1] + 0.35 * x[:, 2] + 0.2 * (x[:, 3] > 0)
    if change == "second model":
        return score, logit + 0.1 * score
    if change == "noise":
        return score, score + 0.3 * rng.standard_normal(y.size)
    leaf = (x[:, 2] > 0.5) + 2 * (x[:, 3] > 0) + 4 * (x[:, 1] > 0)
    some = np.r_[:500, y.size - 9_500 : y.size]
    maps = LeafCalibrator().fit(score[some], y[some], leaf[some])
    return score, logit_of(maps.predict(score, leaf))


FOUR = {"shares": [0.4, 0.3, 0.2, 0.1], "slopes": [1, 0.95, 1.05, 0.9]}
POPULATIONS = {
    "table, tree of 8 leaves": partial(table, change="tree"),
    "table, additive": partial(table, change="additive"),
    "table, second model": partial(table, change="second model"),
    "table, noise added": partial(table, change="noise"),
    "normal, no lift": partial(two_normal, start=1, end=1, alike=0.5),
    "normal, no lift, nearly equal": partial(two_normal, start=1, end=1, alike=0.99),
    "normal, lift": partial(two_normal, start=1, end=1.5, alike=0.5),
    "normal, harm": partial(two_normal, start=2, end=1, alike=0.7),
    "normal, noise to good": partial(two_normal, start=0.2, end=2.5, alike=0),
    "normal, AUC 0.98, no lift": partial(two_normal, start=3, end=3, alike=0.9),
    "normal, AUC 0.96 to 0.99": partial(two_normal, start=2.5, end=3.5, alike=0.9),
    "four leaves, strong": partial(
        leaf_offsets, shares=FOUR["shares"], odds=[-0.6, 0, 0.6, 1.2], offsets=[-0.6, 0, 0.6, 1.2]
    ),
    "four leaves, weak": partial(
        leaf_offsets, **FOUR, odds=[-0.1, 0, 0.1, 0.2], offsets=[-0.1, 0, 0.1, 0.2]
    ),
    "four leaves, useless": partial(
        leaf_offsets, **FOUR, odds=[0, 0, 0, 0], offsets=[-0.1, 0, 0.1, 0.2]
    ),
    "eight leaves": partial(
        leaf_offsets,
        shares=[20, 18, 15, 13, 12, 10, 8, 4],
        odds=[-0.8, -0.5, -0.2, 0, 0.2, 0.4, 0.7, 1.1],
        offsets=[-0.5, -0.5, 0, 0.1, 0.1, 0.5, 0.5, 1.3],
    ),
    "heavy tails": heavy_tails,
    "tiny offset": partial(leaf_offsets, shares=[0.5, 0.5], odds=[0, 0.5], offsets=[0, 0.02]),
    "a leaf of 10 % moves": partial(leaf_offsets, shares=[9, 1], odds=[0, 1], offsets=[0, 1]),
    "a leaf of 5 % moves": partial(leaf_offsets, shares=[95, 5], odds=[0, 2], offsets=[0, 2]),
    "a leaf of 5 %, useless": partial(leaf_offsets, shares=[95, 5], odds=[0, 0], offsets=[0, 1]),
    "a leaf of 1 % moves": partial(leaf_offsets, shares=[99, 1], odds=[0, 3], offsets=[0, 3]),
}


def covered(lift, truth):
    half = norm.ppf(0.975) * lift.se
    found = lift.low <= truth <= lift.high if lift.low == lift.low else np.nan
    return found, abs(lift.auc - truth) <= half


def tell(name, lifts, truth):
    shares = np.array([covered(each, truth) for each in lifts], dtype=float)
    none = np.isnan(shares[:, 0]).mean()
    own, normal = (np.nanmean(each) if (each == each).any() else np.nan for each in shares.T)
    sys.stdout.write(f"  {name:31} {own:.3f}, normal {normal:.3f}, none {none:.2f}\n")


def draw(rng, scores, positives, negatives):
    rows = np.concatenate(
        [rng.integers(0, POPULATION, positives), rng.integers(POPULATION, len(scores), negatives)]
    )
    return np.repeat([1, 0], [positives, negatives]), *scores[rows].T


def tell_two_classes(samples, sizes):
    truth, y = {}, np.repeat([1, 0], POPULATION)
    populations = {}
    for name, make in POPULATIONS.items():
        populations[name] = np.column_stack(make(np.random.default_rng(1), y))
        truth[name] = paired_delong(y, *populations[name].T).auc
    for positives, negatives in sizes:
        sys.stdout.write(f"{positives} positive and {negatives} negative rows\n")
        for name, scores in populations.items():
            rng = np.random.default_rng(2)
            drawn = (draw(rng, scores, positives, negatives) for _ in range(samples))
            tell(name, [paired_delong(*each) for each in drawn], truth[name])


def tell_groups(samples, groups=20, size=10):
    """Rows of a group share a part of their scores and of their change."""
    rng, number = np.random.default_rng(3), np.repeat(np.arange(groups), size)

    def sample(count):
        y = (rng.random(count * size) < 0.2).astype(int)
        shared, moved = np.repeat(rng.standard_normal((2, count)), size, axis=1)
        before = y + shared + rng.standard_normal(y.size)
        return y, before, before + 0.4 * moved + 0.3 * y

    truth = paired_delong(*sample(POPULATION)).auc
    tell("groups", [paired_delong(*sample(groups), group=number) for _ in range(samples)], truth)


def tell_three_classes(samples, counts=(300, 100, 20)):
    rng = np.random.default_rng(4)

    def sample(scale):
        y = np.repeat(np.arange(3), scale * np.array(counts))
        before = 1.2 * np.eye(3)[y] + rng.standard_normal((y.size, 3))
        after = before + 0.5 * np.eye(3)[y] * rng.random((y.size, 1))
        return y, *(log_softmax(each, axis=1) for each in (before, after))

    truth = macro_lift(*sample(300)).auc
    tell("three classes", [macro_lift(*sample(1)) for _ in range(samples)], truth)


if __name__ == "__main__":
    given = int((*sys.argv[1:], 1000)[0])
    tell_two_classes(given, SIZES)
    sys.stdout.write("20 groups of 10 rows; classes of 300, 100 and 20 rows\n")
    tell_groups(given)
    tell_three_classes(given)
