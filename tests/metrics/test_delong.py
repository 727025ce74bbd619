import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import kstest, norm, t, ttest_ind

from hetcal.metrics.delong import Spread, lift_of, paired_delong, placements
from hetcal.metrics.metrics import auc


def paired_sample(rows=120, decimals=1, seed=0, positive_rate=0.4):
    rng = np.random.default_rng(seed)
    y = rng.binomial(1, positive_rate, rows)
    before = np.round(rng.normal(size=rows) + y, decimals)
    after = np.round(before + rng.normal(size=rows) + 0.5 * y, decimals)
    return y, before, after, rng.exponential(size=rows)


def brute_force(y, before, after):
    """DeLong's textbook definition: every pair compared, covariance matrices of components."""

    def components(scores):
        gap = scores[y == 1][:, None] - scores[y == 0][None, :]
        kernel = (gap > 0) + 0.5 * (gap == 0)
        return kernel.mean(axis=1), kernel.mean(axis=0)

    (one_b, zero_b), (one_a, zero_a) = components(before), components(after)
    covariance = np.cov(one_b, one_a) / one_b.size + np.cov(zero_b, zero_a) / zero_b.size
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return one_b.mean(), one_a.mean(), np.sqrt(variance)


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_lift_equals_the_definition_over_all_pairs(decimals):
    y, before, after, _ = paired_sample(decimals=decimals)
    area_before, area_after, se = brute_force(y, before, after)
    lift = paired_delong(y, before, after)
    assert [lift.before, lift.after, lift.se] == pytest.approx(
        [area_before, area_after, se], abs=1e-12
    )
    gain = area_after - area_before
    assert lift.auc == pytest.approx(gain, abs=1e-12)
    assert lift.percent == pytest.approx(100 * (area_after / area_before - 1), abs=1e-9)
    assert lift.z == pytest.approx(gain / se, abs=1e-9)


def kernel(ones, zeros):
    gap = ones[:, None] - zeros[None, :]
    return (gap > 0) + 0.5 * (gap == 0)


def cumulants_with_one_more(own, others):
    """Variance and third cumulant of the mean of a class with a row of the others' kind."""
    values = np.append(own - own.mean(), others - others.mean())
    weight = np.append(np.ones(own.size), np.full(others.size, 1 / others.size))
    variance = weight @ values**2 / own.size / own.size
    return variance, weight @ values**3 / (own.size + 1) / own.size**2


@pytest.mark.parametrize("decimals", [0, 8])
@pytest.mark.parametrize("rows", [60, 120])
def test_at_the_ends_of_the_interval_the_lift_is_a_quantile_away(rows, decimals):
    # The variance there grows with the distance as that of a tilted distribution does.
    y, before, after, _ = paired_sample(rows, decimals)
    one, zero = y == 1, y == 0

    def changes(ones, zeros):
        return kernel(after[ones], after[zeros]) - kernel(before[ones], before[zeros])

    gain = changes(one, zero).mean()
    ups, downs = changes(one, zero).mean(axis=1), changes(one, zero).mean(axis=0)
    as_ones, as_zeros = changes(zero, zero).mean(axis=1), changes(one, one).mean(axis=0)
    parts = [cumulants_with_one_more(ups, as_ones), cumulants_with_one_more(downs, as_zeros)]
    variance, third = np.sum(parts, axis=0)
    freedom = variance**2 / sum(
        part[0] ** 2 / (size - 1) for part, size in zip(parts, (ups.size, downs.size), strict=True)
    )

    def distance(truth):
        there = max(variance + 0.4 * third / variance * (truth - gain), variance / 4)
        return abs(gain - truth) / math.sqrt(there)

    quantile = t.ppf(0.975, freedom)
    low, high = (
        brentq(lambda truth: distance(truth) - quantile, gain, gain + side) for side in (-1, 1)
    )
    lift = paired_delong(y, before, after)
    assert [lift.low, lift.high] == pytest.approx([low, high], abs=1e-9)
    assert lift.p == pytest.approx(2 * t.sf(distance(0.0), freedom), abs=1e-9)


def test_symmetric_changes_have_the_interval_and_p_value_of_welch():
    up, down = 0.02 + 0.01 * np.linspace(-1, 1, 12) ** 3, 0.02 + 0.03 * np.linspace(-1, 1, 40)
    y = np.repeat([1, 0], [up.size, down.size])
    before = np.full(y.size, 0.5)
    lift = lift_of(y, before, before + np.append(up, down))
    welch = ttest_ind(up, 0.02 - down, equal_var=False)
    assert lift.p == pytest.approx(welch.pvalue, rel=1e-9)
    expected = welch.confidence_interval(0.95)
    assert [lift.low, lift.high] == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_many_rows_have_the_normal_interval():
    y, before, after, _ = paired_sample(200_000, decimals=8)
    lift = paired_delong(y, before, after)
    low, high = norm.interval(0.95, lift.auc, lift.se)
    assert [lift.low, lift.high] == pytest.approx([low, high], abs=0.01 * lift.se)


@pytest.mark.parametrize("freedom", [1.0, 12.0, math.inf])
@pytest.mark.parametrize("skewness", [-2.0, -0.3, 0.0, 0.3, 2.0])
def test_p_is_below_five_percent_where_the_interval_excludes_zero(freedom, skewness):
    spread = Spread(0.01, freedom, skewness)
    ends = spread.interval(0.0)
    for end in ends:
        assert spread.p_value(-0.999 * end) > 0.05 > spread.p_value(-1.001 * end)
        assert spread.p_value(-end) == pytest.approx(0.05)


def test_an_interval_of_twenty_positive_rows_covers_a_leaf_which_few_are_in():
    # 5 % of the negative and 28 % of the positive rows are in the leaf, and move up by two.
    # Few positive rows make up the lift, and the normal interval misses it in one of six samples.
    # There is mostly no interval, as so few are in the leaf that fewer than three decide.
    rng, shares = np.random.default_rng(5), np.array([0.95, 0.05 * math.exp(2)])
    shares /= shares.sum()
    pairs = np.outer(shares, [0.95, 0.05])
    moved = np.array([0.0, 2.0])
    after_areas = norm.cdf((1.5 + moved[:, None] - moved) / math.sqrt(2))
    truth = np.sum(pairs * after_areas) - norm.cdf(1.5 / math.sqrt(2))
    y, given, covered, normal = np.repeat([1, 0], [20, 1000]), 0, 0, 0
    for _ in range(600):
        inside = rng.random(y.size) < np.where(y == 1, shares[1], 0.05)
        before = 1.5 * y + rng.normal(size=y.size)
        lift = paired_delong(y, before, before + 2 * inside)
        given += not math.isnan(lift.low)
        covered += lift.low <= truth <= lift.high
        normal += abs(lift.auc - truth) <= 1.96 * lift.se
    assert 60 < given < 300
    assert 0.93 * given <= covered
    assert normal < 0.87 * 600


@pytest.mark.parametrize(
    ("moved", "known"), [(0, True), (1, False), (2, False), (4, True), (20, True)]
)
def test_a_lift_of_two_rows_has_a_standard_error_but_no_interval(moved, known):
    # Of k among n rows, (n p (1 - p)) / (1 - 3 p (1 - p)) carry the variance, with p = k / n: 1.1
    # for one of 40, 2.2 for two, 4.9 for four.
    up = 0.1 * (np.arange(40) < moved)
    y, before = np.repeat([1, 0], [40, 30]), np.full(70, 0.5)
    lift = lift_of(y, before, before + np.append(up, np.full(30, up.mean())))
    assert (lift.se > 0) == (moved > 0)
    assert (np.isfinite([lift.p, lift.low, lift.high]) == known).all()


@pytest.mark.parametrize(("moved", "known"), [(1, False), (6, True)])
def test_a_lift_of_a_single_group_has_no_interval(moved, known):
    y, before, _, _ = paired_sample()
    group = np.arange(y.size) % 30
    lift = paired_delong(y, before, before + 5 * (group < moved) * y, group=group)
    assert lift.se > 0
    assert (np.isfinite([lift.p, lift.low, lift.high]) == known).all()


def test_eleven_positive_rows_have_a_standard_error_but_no_interval():
    y, before, after, _ = paired_sample()
    kept = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:11])
    lift = paired_delong(y[kept], before[kept], after[kept])
    assert lift.se > 0
    assert np.isnan([lift.p, lift.low, lift.high]).all()


def test_unit_weights_are_no_weights():
    y, before, after, _ = paired_sample()
    assert paired_delong(y, before, after, np.ones(y.size)) == paired_delong(y, before, after)


def test_weighted_lift_equals_its_definition_over_all_pairs():
    y, before, after, weight = paired_sample()
    one, zero = y == 1, y == 0
    u, v = weight[one], weight[zero]

    def kernel(scores):
        gap = scores[one][:, None] - scores[zero][None, :]
        return (gap > 0) + 0.5 * (gap == 0)

    difference = kernel(after) - kernel(before)
    gain = u @ difference @ v / u.sum() / v.sum()
    variance = 0.0
    for w, d in ((u, difference @ v / v.sum()), (v, u @ difference / u.sum())):
        variance += w.size / (w.size - 1) * np.sum(w**2 * (d - gain) ** 2) / w.sum() ** 2
    lift = paired_delong(y, before, after, weight)
    assert [lift.auc, lift.se] == pytest.approx([gain, math.sqrt(variance)], abs=1e-12)
    assert lift.before == pytest.approx(auc(y, before, weight), abs=1e-12)


def test_rows_without_weight_change_nothing():
    y, before, after, weight = paired_sample()
    weight[::3] = 0
    used = weight > 0
    alone = paired_delong(y[used], before[used], after[used], weight[used])
    padded = paired_delong(y, before, after, weight)
    assert [padded.auc, padded.se, padded.p] == pytest.approx([alone.auc, alone.se, alone.p])


def test_the_mean_placement_of_each_class_is_the_auc():
    y, scores, _, weight = paired_sample()
    placed = placements(y, scores, weight)
    means = [np.average(placed[y == k], weights=weight[y == k]) for k in (0, 1)]
    assert means == pytest.approx([auc(y, scores, weight)] * 2, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_increasing_map_has_no_lift_and_no_doubt(weighted):
    y, before, _, weight = paired_sample(2_000)
    lift = paired_delong(y, before, 0.5 * before - 3, weight if weighted else None)
    assert (lift.auc, lift.percent, lift.se, lift.z, lift.p) == (0, 0, 0, 0, 1)
    assert (lift.low, lift.high) == (0, 0)


def test_a_perfect_reversal_of_few_rows_is_not_certain():
    y, before = np.repeat([1, 0], [12, 15]), np.arange(27.0)
    lift = paired_delong(y, before, -before)
    assert (lift.before, lift.after, lift.se, lift.z) == (0, 1, 0, math.inf)
    assert math.isnan(lift.percent)
    # Each class might have rows that are not reversed, but none was seen.
    assert np.isnan([lift.p, lift.low, lift.high]).all()


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0], []])
def test_one_class_has_no_lift(y):
    scores = np.arange(float(len(y)))
    lift = paired_delong(np.array(y, dtype=int), scores, -scores)
    assert all(math.isnan(each) for each in vars(lift).values())


def test_a_class_without_weight_has_no_lift():
    y, scores = np.array([0, 1, 1]), np.arange(3.0)
    assert math.isnan(paired_delong(y, scores, -scores, np.array([0.0, 1.0, 1.0])).auc)


def test_a_single_positive_row_leaves_the_standard_error_open():
    y, before, after = np.array([0, 0, 1]), np.array([0.0, 1, 2]), np.array([0.0, 2, 1])
    lift = paired_delong(y, before, after)
    assert lift.auc == -0.5
    assert all(math.isnan(each) for each in (lift.se, lift.z, lift.p, lift.low, lift.high))


def test_the_interval_covers_the_true_lift_as_often_as_it_says():
    # Normal scores: AUC = Phi(d / sqrt 2), so the truth is known. 1,000 trials of coverage
    # 0.95 stay within 0.925 to 0.975 with probability above 0.999.
    rng = np.random.default_rng(7)
    truth = norm.cdf(1.5 / math.sqrt(2)) - norm.cdf(1 / math.sqrt(2))
    y = np.repeat([0, 1], [150, 100])
    covered = 0
    for _ in range(1_000):
        common, own, other = rng.normal(size=(3, y.size))
        before = y + (common + own) / math.sqrt(2)
        after = 1.5 * y + (common + other) / math.sqrt(2)
        lift = paired_delong(y, before, after)
        covered += lift.low <= truth <= lift.high
    assert 925 <= covered <= 975


def test_p_values_of_scores_that_rank_equally_well_are_uniform():
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], [150, 100])
    p = []
    for _ in range(1_000):
        common, own, other = rng.normal(size=(3, y.size))
        p.append(paired_delong(y, y + common + own, y + common + other).p)
    assert kstest(p, "uniform").pvalue > 0.001


def test_lift_from_placements_is_the_lift_from_scores():
    y, before, after, weight = paired_sample()
    given = lift_of(y, placements(y, before, weight), placements(y, after, weight), weight)
    found = paired_delong(y, before, after, weight)
    assert (given.before, given.after, given.se) == (found.before, found.after, found.se)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_equal_scores_have_the_lift_of_their_rows(weighted):
    y, before, after, weight = paired_sample(3_000, decimals=0)
    weight = weight if weighted else np.ones(y.size)
    keys, cell = np.unique(np.column_stack([y, before, after]), axis=0, return_inverse=True)
    sums = [np.bincount(cell, each) for each in (weight, weight**2)]
    found = paired_delong(*keys.T, *sums, np.bincount(cell))
    assert keys.shape[0] < 200
    assert vars(found) == pytest.approx(vars(paired_delong(y, before, after, weight)), rel=1e-10)


def grouped_brute_force(y, before, after, group):
    """Obuchowski's variance for clustered rows, every pair compared."""
    one, zero = np.flatnonzero(y == 1), np.flatnonzero(y == 0)

    def kernel(scores):
        gap = scores[one][:, None] - scores[zero][None, :]
        return (gap > 0) + 0.5 * (gap == 0)

    gain = kernel(after) - kernel(before)
    m, n = gain.shape
    sums = []
    for each in np.unique(group):
        ones, zeros = group[one] == each, group[zero] == each
        of_ones = np.sum(gain.mean(axis=1)[ones] - gain.mean()) / m * np.sqrt(m / (m - 1))
        of_zeros = np.sum(gain.mean(axis=0)[zeros] - gain.mean()) / n * np.sqrt(n / (n - 1))
        sums.append(of_ones + of_zeros)
    groups = len(sums)
    return np.sqrt(groups / (groups - 1) * np.sum(np.square(sums)))


@pytest.mark.parametrize("decimals", [0, 8])
def test_the_error_of_groups_is_obuchowskis(decimals):
    y, before, after, _ = paired_sample(decimals=decimals)
    group = np.random.default_rng(1).integers(0, 30, y.size)
    lift = paired_delong(y, before, after, group=group)
    assert lift.se == pytest.approx(grouped_brute_force(y, before, after, group), abs=1e-12)
    plain = paired_delong(y, before, after)
    assert (lift.before, lift.after) == (plain.before, plain.after)


def test_rows_that_repeat_in_their_groups_make_no_lift_surer():
    y, before, after, weight = paired_sample()
    rows = np.repeat(np.arange(y.size), 5)
    for w in (None, weight):
        once = paired_delong(y, before, after, w)
        again = None if w is None else w[rows]
        repeated = paired_delong(y[rows], before[rows], after[rows], again, group=rows)
        assert repeated.auc == pytest.approx(once.auc)
        assert repeated.se == pytest.approx(once.se, rel=0.02)


def test_rows_without_weight_bring_no_groups():
    y, before, after, weight = paired_sample()
    group, used = np.arange(y.size) // 4, np.arange(y.size) < 80
    w = np.where(used, weight, 0.0)
    lift = paired_delong(y, before, after, w, group=group)
    left = paired_delong(y[used], before[used], after[used], weight[used], group=group[used])
    assert lift.se == pytest.approx(left.se)


def test_a_single_group_has_no_standard_error():
    y, before, after, _ = paired_sample()
    lift = paired_delong(y, before, after, group=np.zeros(y.size))
    assert np.isnan([lift.se, lift.low, lift.high]).all()
    assert lift.auc == paired_delong(y, before, after).auc


def test_positive_rows_of_a_single_group_leave_no_interval():
    y, before, after, _ = paired_sample()
    group = np.where(y == 1, 0, np.arange(y.size))
    assert np.isnan([paired_delong(y, before, after, group=group).low]).all()


def test_the_freedom_of_groups_is_counted_class_by_class():
    # Each class has one row a group: groups are then the rows of Welch's formula.
    y, before, after, _ = paired_sample()
    group = np.arange(y.size)
    lift = paired_delong(y, before, after, group=group)
    moved = placements(y, after) - placements(y, before)
    parts = [moved[y == 1], moved[y == 0]]
    variances = [np.var(each, ddof=1) / each.size for each in parts]
    freedom = sum(variances) ** 2 / sum(
        v**2 / (each.size - 1) for v, each in zip(variances, parts, strict=True)
    )
    expected = t.interval(0.95, freedom, lift.auc, lift.se)
    assert [lift.low, lift.high] == pytest.approx(expected, abs=1e-9)
    assert lift.p == pytest.approx(2 * t.sf(abs(lift.z), freedom))
