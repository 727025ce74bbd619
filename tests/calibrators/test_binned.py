from math import cbrt, ceil, floor, lgamma

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression

from hetcal.calibrators.binned import ScoreBlocks, bin_platt, log_score
from hetcal.calibrators.methods import fit_leaves
from hetcal.calibrators.shapes import Affine
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.metrics.metrics import equal_mass_bins

LEAVES = [1, 2, 3]


def fitted(method, cells, leaves, bins=None):
    return fit_leaves(method, cells, leaves, bins=bins).shapes


def sample(rows=4_000, decimals=8):
    rng = np.random.default_rng(0)
    leaf = rng.choice([1, 2], rows)
    scores = np.round(rng.normal(scale=2, size=rows), decimals)
    y = rng.binomial(1, expit(np.where(leaf == 1, 0.5, 1.5) * scores - 1))
    return scores, y, leaf, rng.exponential(size=rows)


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_maps_of_rows_are_those_of_scikit_learn_within_half_a_row(decimals, weighted):
    scores, y, leaf, weight = sample(decimals=decimals)
    weight = weight if weighted else np.ones(y.size)
    maps = fitted("isotonic", Cells.of_rows(scores, y, leaf, weight), LEAVES)
    for number, each in zip(LEAVES[:2], maps[:2], strict=True):
        inside = leaf == number
        half = 0.5 * np.sum(weight[inside] ** 2) / np.sum(weight[inside]) ** 2
        rival = IsotonicRegression(out_of_bounds="clip", y_min=half, y_max=1 - half)
        rival.fit(scores[inside], y[inside], weight[inside])
        for at in (scores[inside], np.linspace(-9, 9, 500)):
            assert expit(each.logit(at)) == pytest.approx(rival.predict(at), abs=1e-9)
    assert maps[2] is None


def test_points_in_the_middle_of_a_level_stretch_are_left_out():
    scores, y, leaf, _ = sample()
    (found,) = fitted("isotonic", Cells.of_rows(scores, y, leaf), [1])
    assert len(found.scores) <= 2 * len(set(found.probabilities)) < 200


def test_the_map_of_one_class_is_half_a_row_from_certain():
    (found,) = fitted(
        "isotonic", Cells.of_rows(np.arange(10.0), np.ones(10, int), np.ones(10, int)), [1]
    )
    assert expit(found.logit(np.array([-5.0, 3.0]))) == pytest.approx([0.95, 0.95])


def test_the_maps_of_a_sketch_are_close_to_those_of_rows():
    scores, y, leaf, _ = sample(40_000)
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid()).cells()
    rows = fitted("isotonic", Cells.of_rows(scores, y, leaf), [1, 2])
    for number, one, other in zip([1, 2], fitted("isotonic", cells, [1, 2]), rows, strict=True):
        inside = scores[leaf == number]
        assert np.abs(expit(one.logit(inside)) - expit(other.logit(inside))).mean() < 2e-3


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_bin_has_the_rate_of_its_rows_and_bins_hold_equal_weight(decimals, weighted):
    scores, y, leaf, weight = sample(decimals=decimals)
    weight = weight if weighted else np.ones(y.size)
    maps = fitted("histogram", Cells.of_rows(scores, y, leaf, weight), LEAVES, bins=10)
    for number, each in zip(LEAVES[:2], maps[:2], strict=True):
        inside = leaf == number
        s, labels, w = scores[inside], y[inside], weight[inside]
        bin_of = equal_mass_bins(s, 10, w)
        rate = np.array([np.average(labels[bin_of == b], weights=w[bin_of == b]) for b in bin_of])
        rows = np.array([w[bin_of == b].sum() for b in bin_of]) * w.sum() / np.sum(w**2)
        assert expit(each.logit(s)) == pytest.approx(rate.clip(0.5 / rows, 1 - 0.5 / rows))
    assert maps[2] is None


def test_a_bin_of_one_class_counts_half_a_row_of_the_other():
    scores, y = np.arange(20.0), np.repeat([0, 1], 10)
    (found,) = fitted("histogram", Cells.of_rows(scores, y, np.ones(20, int)), [1], bins=2)
    assert found.edges == (10.0,)
    assert expit(found.logits) == pytest.approx([0.05, 0.95])


def test_a_map_of_a_sketch_gives_every_row_the_rate_of_its_bin():
    scores, y, leaf, _ = sample()
    (found,) = fitted(
        "histogram", sketch_rows(scores, y, leaf, LEAVES, Grid()).cells(), [2], bins=5
    )
    p, labels = found.logit(scores[leaf == 2]), y[leaf == 2]
    assert len(found.logits) == 5
    for each in found.logits:
        assert labels[p == each].mean() == pytest.approx(expit(each))


def test_a_map_does_not_depend_on_the_order_of_weighted_rows_with_equal_scores():
    scores, y = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0, 1, 1, 0])
    for weight in ([1.0, 4.0, 1.0, 4.0], [1.0, 1.0, 4.0, 4.0]):
        cells = Cells.of_rows(scores, y, np.ones(4, int), np.array(weight))
        (found,) = fitted("histogram", cells, [1], bins=2)
        assert found.edges == (2.0,)


def test_rows_too_light_to_be_counted_next_to_heavy_ones_have_a_rate():
    scores, weight = np.arange(6.0), np.array([1e20, 1e20, 1e20, 1.0, 1.0, 1e20])
    (found,) = fitted(
        "histogram", Cells.of_rows(scores, np.array([0, 1] * 3), np.ones(6, int), weight), [1]
    )
    assert np.isfinite(found.logits).all()
    assert expit(found.logit(np.array([3.0, 4.0]))) == pytest.approx([0.5, 0.5])  # worth no row


def one_model(scores, y, bins):
    """Score and rates of one histogram, as the paper writes them."""
    bin_of = equal_mass_bins(scores, bins)
    used = np.unique(bin_of)
    lows = [scores[bin_of == b].min() for b in used]
    edges = [0.0, *expit(lows[1:]), 1.0]
    score, rates = 0.0, {}
    for i, b in enumerate(used):
        middle = (edges[i] + edges[i + 1]) / 2
        alpha, other = 2 / len(used) * middle, 2 / len(used) * (1 - middle)
        ones, rows = int(y[bin_of == b].sum()), int(np.sum(bin_of == b))
        score += lgamma(2 / len(used)) - lgamma(rows + 2 / len(used))
        score += lgamma(ones + alpha) - lgamma(alpha)
        score += lgamma(rows - ones + other) - lgamma(other)
        rates[b] = (ones + alpha) / (rows + 2 / len(used))
    return score, np.array([rates[b] for b in bin_of])


@pytest.mark.parametrize("decimals", [1, 8])
def test_the_map_is_the_average_of_all_histograms(decimals):
    scores, y, leaf, _ = sample(600, decimals)
    (found,) = fitted("bbq", Cells.of_rows(scores, y, leaf), [1])
    s, labels = scores[leaf == 1], y[leaf == 1]
    fewest, most = max(1, floor(cbrt(s.size) / 10)), min(ceil(s.size / 5), ceil(10 * cbrt(s.size)))
    models = [one_model(s, labels, bins) for bins in range(fewest, most + 1)]
    weights = np.exp([score - max(each for each, _ in models) for score, _ in models])
    expected = np.average([rates for _, rates in models], axis=0, weights=weights)
    assert expit(found.logit(s)) == pytest.approx(expected, abs=1e-5)


def test_the_score_is_the_likelihood_of_the_labels_averaged_over_the_prior():
    scores, y = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    blocks = ScoreBlocks.of(Cells.of_rows(scores, y, np.zeros(4, int)))
    whole = quad(lambda rate: rate**2 * (1 - rate) ** 2 * beta(1, 1).pdf(rate), 0, 1)[0]
    assert log_score(blocks, blocks.bins(1)) == pytest.approx(np.log(whole))


def test_weights_of_two_have_the_effective_number_of_rows():
    scores, y, leaf, _ = sample(500)
    (one,) = fitted("bbq", Cells.of_rows(scores, y, leaf), [1])
    (other,) = fitted("bbq", Cells.of_rows(scores, y, leaf, np.full(500, 2.0)), [1])
    assert other.logit(scores) == pytest.approx(one.logit(scores))


def test_no_probability_is_certain_even_in_a_leaf_of_one_class():
    scores = np.linspace(-800, 800, 50)
    (found, nothing) = fitted(
        "bbq", Cells.of_rows(scores, np.ones(50, int), np.ones(50, int)), [1, 2]
    )
    assert np.isfinite(found.logits).all()
    assert min(found.logits) > 0
    assert nothing is None


@pytest.mark.parametrize("weighted", [False, True])
def test_a_bin_has_the_mean_probability_of_its_rows(weighted):
    scores, y, leaf, weight = sample()
    weight = weight if weighted else np.ones(y.size)
    cells = Cells.of_rows(scores, y, leaf, weight)
    for number, line in ((1, Affine(0.5, -1.0)), (2, Affine(-1.5, 0.3))):
        each = bin_platt(line, cells.inside(number), bins=8)
        s, w = scores[leaf == number], weight[leaf == number]
        p, bin_of = expit(line.slope * s + line.intercept), equal_mass_bins(s, 8, w)
        expected = [np.average(p[bin_of == b], weights=w[bin_of == b]) for b in bin_of]
        assert expit(each.logit(s)) == pytest.approx(expected)


def test_probabilities_that_round_to_0_or_1_have_finite_logits():
    cells = Cells.of_rows(
        np.array([-1e4, -40.0, 50.0, 1e4]), np.array([0, 0, 1, 1]), np.ones(4, int)
    )
    found = bin_platt(Affine(1.0, 0.0), cells, bins=4)
    assert found.logits == pytest.approx([-700, -40, 50, 700])
