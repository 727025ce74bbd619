"""The paper's theorems, on random discrete distributions.

A distribution is a table of weighted rows: every (score, cell of the finest partition, label)
once, its probability as the weight. A partition is a leaf id for every cell, a transformation
a number for every (score, leaf).
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit, logit

from hetcal.metrics.curves import at_false_positive_rate
from hetcal.metrics.metrics import auc, log_loss
from hetcal.metrics.ranking import rank_statistics

SCORES, CELLS = 5, 4
RATES = np.linspace(0, 1, 21)


def balanced_precision_area(*rows):
    return rank_statistics(*rows).balanced_precision_area


@dataclass(frozen=True)
class Distribution:
    y: np.ndarray
    score: np.ndarray
    cell: np.ndarray
    weight: np.ndarray

    def likelihood(self, leaf):
        """The share of label 1 in the likelihoods p1 and p0 of each row's (score, leaf)."""
        one, zero = (
            self._mass(leaf, label) / self.weight[self.y == label].sum() for label in (1, 0)
        )
        return one / (one + zero)

    def probability(self, leaf):
        """P(y = 1) at each row's (score, leaf): perfect calibration of every leaf."""
        return self._mass(leaf, 1) / (self._mass(leaf, 1) + self._mass(leaf, 0))

    def transformed(self, leaf, values):
        """Any transformation: `values` has a number for every score and leaf."""
        return values[self.score, leaf[self.cell]]

    def _mass(self, leaf, label):
        place = self.score * CELLS + leaf[self.cell]
        mass = np.bincount(place, self.weight * (self.y == label), SCORES * CELLS)
        return mass[place]


@pytest.fixture(params=range(40))
def drawn(request):
    """A distribution, a partition and some transformations, with and without ties."""
    rng = np.random.default_rng(request.param)
    y, score, cell = (each.ravel() for each in np.indices((2, SCORES, CELLS)))
    weight = rng.dirichlet(np.full(y.size, 0.5 if request.param % 2 else 3.0)) + 1e-6
    leaf = rng.integers(0, 3, CELLS)
    values = [rng.normal(size=(SCORES, CELLS)) for _ in range(5)]
    values += [np.round(each) for each in values]
    values.append(np.repeat(np.arange(float(SCORES))[:, None], CELLS, axis=1))
    return Distribution(y, score, cell, weight), leaf, values


def test_no_transformation_beats_the_likelihood_ratio_in_auc(drawn):
    on, leaf, transformations = drawn
    best = auc(on.y, on.likelihood(leaf), on.weight)
    for values in transformations:
        assert auc(on.y, on.transformed(leaf, values), on.weight) <= best + 1e-12


def test_no_transformation_beats_the_likelihood_ratio_in_tpr_at_any_fpr(drawn):
    on, leaf, transformations = drawn
    ratio = on.likelihood(leaf)
    best = [at_false_positive_rate(on.y, ratio, x, on.weight).true_positive_rate for x in RATES]
    for values in transformations:
        other = on.transformed(leaf, values)
        rates = [at_false_positive_rate(on.y, other, x, on.weight) for x in RATES]
        assert np.all(np.array([each.true_positive_rate for each in rates]) <= np.add(best, 1e-9))


def test_no_transformation_beats_the_likelihood_ratio_in_pr_auc(drawn):
    on, leaf, transformations = drawn
    best = balanced_precision_area(on.y, on.likelihood(leaf), on.weight)
    for values in transformations:
        other = on.transformed(leaf, values)
        assert balanced_precision_area(on.y, other, on.weight) <= best + 1e-12


def test_no_transformation_beats_perfect_calibration_in_log_loss(drawn):
    on, leaf, transformations = drawn
    best = log_loss(on.y, logit(on.probability(leaf)), on.weight)
    for values in transformations:
        assert log_loss(on.y, on.transformed(leaf, values), on.weight) >= best - 1e-12


def test_some_transformation_loses_in_every_measure(drawn):
    """Otherwise the inequalities above would say nothing."""
    on, leaf, transformations = drawn
    ratio, worst = on.likelihood(leaf), on.transformed(leaf, transformations[0])
    assert auc(on.y, worst, on.weight) < auc(on.y, ratio, on.weight) - 1e-6
    assert balanced_precision_area(on.y, worst, on.weight) < balanced_precision_area(
        on.y, ratio, on.weight
    )


def test_perfectly_calibrated_leaves_give_the_order_of_the_likelihood_ratio(drawn):
    on, leaf, _ = drawn
    ratio, calibrated = on.likelihood(leaf), on.probability(leaf)
    prior = on.weight[on.y == 1].sum() / on.weight.sum()
    # Bayes: the two logits differ by the log of the prior odds, whatever the score and leaf.
    assert logit(calibrated) - logit(ratio) == pytest.approx(
        np.full(ratio.size, logit(prior)), abs=1e-9
    )
    assert auc(on.y, calibrated, on.weight) == pytest.approx(auc(on.y, ratio, on.weight), abs=1e-12)


def test_a_finer_partition_never_lowers_the_optimum(drawn):
    on, leaf, _ = drawn
    coarser = np.minimum(leaf, 1)
    chain = [np.zeros(CELLS, int), coarser, leaf, np.arange(CELLS)]
    for measure in (auc, balanced_precision_area):
        optima = [measure(on.y, on.likelihood(each), on.weight) for each in chain]
        assert np.all(np.diff(optima) >= -1e-12)
    losses = [log_loss(on.y, logit(on.probability(each)), on.weight) for each in chain]
    assert np.all(np.diff(losses) <= 1e-12)


def test_log_loss_of_perfect_calibration_is_the_conditional_entropy(drawn):
    """Another route to the optimum: the entropy of the label given score and leaf."""
    on, leaf, _ = drawn
    p = on.probability(leaf)
    entropy = -np.sum(on.weight * (p * np.log(p) + (1 - p) * np.log1p(-p))) / on.weight.sum()
    assert log_loss(on.y, logit(p), on.weight) == pytest.approx(entropy, abs=1e-12)
    assert expit(logit(p)) == pytest.approx(p)
