from math import cbrt, ceil, floor, lgamma

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import beta

from hetcal.bbq import fit_bbq, log_score
from hetcal.cells import Cells
from hetcal.metrics import equal_mass_bins
from hetcal.score_blocks import ScoreBlocks
from tests.test_isotonic import sample


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
    (found,) = fit_bbq(Cells.of_rows(scores, y, leaf), [1])
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


def test_weights_that_count_rows_twice_are_worth_as_many_rows_as_there_are():
    scores, y, leaf, _ = sample(500)
    (one,) = fit_bbq(Cells.of_rows(scores, y, leaf), [1])
    (other,) = fit_bbq(Cells.of_rows(scores, y, leaf, np.full(500, 2.0)), [1])
    assert other.logit(scores) == pytest.approx(one.logit(scores))


def test_no_probability_is_certain_even_in_a_leaf_of_one_class():
    scores = np.linspace(-800, 800, 50)
    (found, nothing) = fit_bbq(Cells.of_rows(scores, np.ones(50, int), np.ones(50, int)), [1, 2])
    assert np.isfinite(found.logits).all()
    assert min(found.logits) > 0
    assert nothing is None
