"""How often intervals cover the lift: ``python -m tests.metrics.interval_coverage [samples]``.

Rows are drawn from large populations whose lift is known. Printed is, for so many positive and
negative rows, the share of 95 % intervals that cover it, beside that of normal intervals, and the
share of samples that have no interval.

The populations that have a name were looked at when the constants of the interval were chosen;
those that have a number were not.
"""

import sys
from functools import partial

import numpy as np
from scipy.special import expit, log_softmax
from scipy.special import logit as logit_of
from scipy.stats import binom, norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.metrics.classes import macro_lift
from hetcal.metrics.delong import paired_delong

POPULATION = 100_000  # rows of each class
HELD_OUT = 48  # populations that have a number
FEW = [(20, 200), (20, 1000), (20, 5000)]
SIZES = [(12, 1000), *FEW, (30, 1000), (50, 1000), (200, 1000)]


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
    return own, none


def draw(rng, scores, sides, size):
    rows = np.concatenate([rng.choice(*each) for each in zip(sides, size, strict=True)])
    return np.repeat([1, 0], size), *scores[rows].T


def random_leaves(number):
    """Leaves of any size, odds and maps, and any of five distributions of the score."""
    rng = np.random.default_rng([11, number])
    y, count = np.repeat([1, 0], POPULATION), int(rng.choice([2, 4, 6, 12, 24]))
    shares = rng.permutation(rng.choice([0.5, 0.7, 0.9]) ** np.arange(count))
    shares /= shares.sum()
    odds = rng.choice([0, 0.3, 0.8, 1.5]) * rng.uniform(-1.7, 1.7, count)
    of_positive = shares * np.exp(odds)
    leaf = np.concatenate(
        [rng.choice(count, POPULATION, p=each / each.sum()) for each in (of_positive, shares)]
    )
    noise = (
        rng.uniform(-1.7, 1.7, y.size),
        rng.laplace(0, 0.7, y.size),
        0.5 * rng.lognormal(0, 0.8, y.size),
        0.6 * rng.standard_normal(y.size) + rng.choice([-1, 1], y.size),
        -rng.gamma(2, 0.7, y.size),
    )[rng.integers(5)]
    score = rng.uniform(0.3, 2) * y + noise
    useless = rng.uniform(0.1, 1) * rng.uniform(-1.7, 1.7, count)
    only_first = np.where(np.arange(count) == 0, useless, 0)
    offsets = (odds, 0.5 * odds, useless, only_first)[rng.integers(4)]
    slopes = np.exp(rng.choice([0, 0.1, 0.4]) * rng.uniform(-1.7, 1.7, count))
    if offsets is only_first:
        slopes = np.ones(count)
    before = np.round(score, 1) if rng.random() < 0.3 else score
    return y, before, slopes[leaf] * score + offsets[leaf]


def random_terms(number):
    """Terms of columns, smooth and with steps, added to the score with any weights."""
    rng = np.random.default_rng([12, number])
    y = np.repeat([1, 0], POPULATION)
    x = rng.laplace(0, 0.7, (4, y.size)) + np.outer(rng.uniform(0, 0.7, 4), y)
    noise = (
        rng.logistic(0, 0.6, y.size),
        rng.laplace(0, 0.7, y.size),
        rng.gamma(2, 0.7, y.size),
        rng.triangular(-2, 1, 2, y.size),
    )[rng.integers(4)]
    score = rng.uniform(0.3, 2.5) * y + noise
    terms = [np.sin(2 * x[0]), np.abs(x[1]), x[2] > 0.5, x[2] * (x[3] > 0), np.floor(2 * x[3])]
    weights = rng.choice([0, 0.05, 0.2, 0.6], 5) * rng.choice([-1, 1, 1], 5)
    return y, score, rng.uniform(0.3, 1.2) * score + weights @ terms + 0.02 * x[1]


def fitted(number, change):
    """A network of 3,000 rows and 6 of 8 columns, and a change fitted on 6,000 other rows."""
    rng, rows = np.random.default_rng([13, number]), 250_000
    x = rng.standard_normal((rows, 8))
    x[:, 4], x[:, 5], x[:, 6] = rng.integers(0, 5, rows), np.exp(x[:, 5]), x[:, 6] > 1
    of_category = 0.6 * rng.standard_normal(5)
    logit = 0.8 * x[:, 0] + 0.5 * x[:, 1] * x[:, 6] + of_category[x[:, 4].astype(int)]
    logit += 0.4 * np.minimum(x[:, 5], 3) + 0.5 * x[:, 3] * x[:, 0] - 0.3 * np.abs(x[:, 2])
    y = (rng.random(rows) < expit(logit - rng.choice([2.0, 3.0]))).astype(int)
    train, some, rest = np.split(np.arange(rows), [3_000, 9_000])
    network = MLPClassifier((40,), alpha=1e-5, learning_rate_init=0.01, random_state=number)
    seen = (x[:, :6] - x[:, :6].mean(axis=0)) / x[:, :6].std(axis=0)
    for _ in range(rng.choice([10, 60])):
        network.partial_fit(seen[train], y[train], classes=[0, 1])
    score = logit_of(np.clip(network.predict_proba(seen)[:, 1], 1e-12, 1 - 1e-12))
    if change in ("tree", "one leaf"):
        tree = DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=60, random_state=0)
        leaf = np.unique(tree.fit(x[train], y[train]).apply(x), return_inverse=True)[1]
        maps = LeafCalibrator().fit(score[some], y[some], leaf[some])
        after = logit_of(maps.predict(score, leaf))
        if change == "one leaf":
            inside = some[leaf[some] == 0]
            after = score + (logit_of(y[inside].mean()) - score[inside].mean()) * (leaf == 0)
    else:
        additive = {"max_leaf_nodes": 3, "interaction_cst": "no_interactions"}
        kind = additive if change == "additive" else {"max_leaf_nodes": 8}
        both = np.column_stack([score, x])
        boosted = HistGradientBoostingClassifier(max_iter=70, random_state=0, **kind)
        after = boosted.fit(both[some], y[some]).decision_function(both)
    return y[rest], score[rest], after[rest]


FITTED = ("tree", "one leaf", "additive", "stacked")


def held_out():
    """Give leaves, terms and fitted changes in turn."""
    for number in range(0, HELD_OUT, 3):
        change = FITTED[number // 3 % 4]
        yield f"{number} leaves", *random_leaves(number)
        yield f"{number + 1} terms", *random_terms(number + 1)
        yield f"{number + 2} fitted, {change}", *fitted(number + 2, change)


def named_populations():
    y = np.repeat([1, 0], POPULATION)
    for name, make in POPULATIONS.items():
        yield name, y, *make(np.random.default_rng(1), y)


def tell_two_classes(samples, sizes, populations):
    """Print the share of each population, and those of all that mostly have an interval."""
    found = {each: [] for each in sizes}
    for place, (name, y, *scores) in enumerate(populations):
        truth, pairs = paired_delong(y, *scores).auc, np.column_stack(scores)
        sides = [np.flatnonzero(y == each) for each in (1, 0)]
        for size in sizes:
            rng = np.random.default_rng([2, place, *size])
            drawn = (draw(rng, pairs, sides, size) for _ in range(samples))
            found[size].append((name, [paired_delong(*each) for each in drawn], truth))
    for (positives, negatives), each in found.items():
        sys.stdout.write(f"{positives} positive and {negatives} negative rows\n")
        shares = np.array([tell(*population) for population in each])
        mostly, none = shares[shares[:, 1] <= 0.5].T
        given = np.round(samples * (1 - none))
        low, high = (binom.ppf(p, given, q) / given for p, q in ((0.05, 0.93), (0.95, 0.97)))
        missed = (1 - shares[:, 0]) * (1 - shares[:, 1])
        sys.stdout.write(
            f"  {mostly.size} of {len(shares)} mostly have an interval, which covers "
            f"{mostly.min():.3f} to {mostly.max():.3f}, mean {mostly.mean():.3f}; "
            f"{np.mean(mostly < 0.93):.0%} below 0.93, {np.mean(mostly > 0.97):.0%} above 0.97; "
            f"{np.mean(mostly < low):.0%} and {np.mean(mostly > high):.0%} by more than chance "
            "explains in 95 % of such simulations. "
            f"At most {np.nanmax(missed):.3f} of all samples have one that misses.\n"
        )


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
    tell_two_classes(given, SIZES, named_populations())
    sys.stdout.write("Populations that were held out\n")
    tell_two_classes(given, FEW, held_out())
    sys.stdout.write("20 groups of 10 rows; classes of 300, 100 and 20 rows\n")
    tell_groups(given)
    tell_three_classes(given)
