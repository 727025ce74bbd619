"""Tests of the maps against scipy's and scikit-learn's numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2, norm, rankdata
from sklearn.metrics import roc_auc_score

from hetcal.cells.cells import Cells
from hetcal.watch.held import auc_fall, leaf_p_values, leaf_rates


def sample(rows, rng, shift=0.0, slope=1.0, leaves=2, weight=None):
    """Rows whose probabilities are right but for a shift and a slope."""
    leaf, logit = rng.integers(1, leaves + 1, rows), rng.normal(size=rows)
    y = (rng.uniform(size=rows) < expit(slope * logit + shift)).astype(np.int8)
    return Cells.of_rows(logit, y, leaf, weight)


def likelihood(cells, columns):
    """The highest log-likelihood of a logistic regression, by a general optimiser."""
    design = np.column_stack(columns)

    def loss(b):
        logit = design @ b
        return np.sum(np.logaddexp(0, logit) - cells.y * logit)

    return -minimize(loss, np.zeros(design.shape[1]), method="BFGS", tol=1e-10).fun


@pytest.mark.parametrize(("seed", "shift"), [(0, 0.0), (1, 0.15), (2, 0.3)])
def test_the_p_value_of_a_leaf_is_that_of_the_likelihood_ratio(seed, shift):
    rng = np.random.default_rng(seed)
    reference, new = sample(3_000, rng), sample(2_000, rng, shift)
    found = leaf_p_values(reference, new, [1, 2])
    for leaf in (1, 2):
        both = Cells.joined([reference.inside(leaf), new.inside(leaf)])
        is_new = np.arange(both.y.size) >= reference.inside(leaf).y.size
        common = [np.ones(both.y.size), both.score]
        gain = likelihood(both, [*common, is_new]) - likelihood(both, common)
        assert found[leaf] == pytest.approx(chi2.sf(2 * gain, 1), rel=0.03, abs=1e-4)


def test_all_rows_together_show_a_slope_that_changed_and_no_row_that_changed_its_leaf():
    rng = np.random.default_rng(33)
    reference = sample(4_000, rng)
    assert leaf_p_values(reference, sample(4_000, rng, slope=1.4), [1, 2])[0] < 1e-4
    # Both leaves are miscalibrated as they were, and now most rows are in the second.
    leaf = np.repeat([1, 2], 4_000)
    logit = rng.normal(size=8_000)
    y = (rng.uniform(size=8_000) < expit(logit + np.where(leaf == 1, 0.8, -0.8))).astype(np.int8)
    old = Cells.of_rows(logit, y, leaf)
    few = np.append(np.arange(400), np.arange(4_000, 8_000))
    y = (rng.uniform(size=8_000) < expit(logit + np.where(leaf == 1, 0.8, -0.8))).astype(np.int8)
    new = Cells.of_rows(logit[few], y[few], leaf[few])
    assert leaf_p_values(old, new, [1, 2]).min() > 0.01
    everywhere = leaf_p_values(
        *(replace(each, leaf=np.ones_like(each.leaf)) for each in (old, new)), [1]
    )
    assert everywhere.max() < 1e-9
    assert abs(new.y.mean() - old.y.mean()) > 0.1


def test_rates_and_expectations_are_means_of_labels_and_probabilities():
    rng = np.random.default_rng(4)
    weight = rng.uniform(0.5, 2, 900)
    reference, new = sample(1_000, rng), sample(900, rng, weight=weight)
    found = leaf_rates(reference, new, [1, 2]).set_index("leaf")
    inside = new.leaf == 2
    p = expit(new.score)
    assert found.at[2, "rows"] == inside.sum()
    assert found.at[2, "rate"] == pytest.approx(np.average(new.y[inside], weights=weight[inside]))
    assert found.at[2, "expected"] == pytest.approx(np.average(p[inside], weights=weight[inside]))
    assert found.at[0, "rate_reference"] == pytest.approx(reference.y.mean())


def test_equal_weights_change_nothing_and_rows_twice_over_count_once_as_one_group():
    rng = np.random.default_rng(5)
    reference, new = sample(3_000, rng), sample(1_000, rng, 0.2)
    plain = leaf_p_values(reference, new, [1, 2])
    heavy = Cells.of_rows(new.score, new.y, new.leaf, np.full(1_000, 3.0))
    three = Cells.of_rows(
        reference.score, reference.y, reference.leaf, np.full(reference.y.size, 3.0)
    )
    np.testing.assert_allclose(leaf_p_values(three, heavy, [1, 2]), plain, rtol=1e-9)
    twice = Cells.joined([new, new])
    alone = leaf_p_values(reference, twice, [1, 2])
    grouped = leaf_p_values(reference, twice, [1, 2], np.tile(np.arange(1_000), 2))
    assert (alone < grouped).all()


def test_leaves_with_few_rows_of_a_class_are_not_tested():
    rng = np.random.default_rng(6)
    reference, new = sample(2_000, rng), sample(1_000, rng)
    few = new.chosen((new.leaf == 1) | (np.cumsum(new.leaf == 2) <= 15))
    assert np.isnan(leaf_p_values(reference, few, [1, 2, 3])).tolist() == [False, False, True, True]
    assert math.isnan(leaf_rates(reference, few, [1, 2, 3])["rate"].iloc[3])


def test_newer_rows_of_one_class_are_a_change_and_no_crash():
    rng = np.random.default_rng(7)
    reference, new = sample(2_000, rng), sample(400, rng)
    none = Cells.of_rows(new.score, np.zeros_like(new.y), new.leaf)
    assert (leaf_p_values(reference, none, [1, 2]) < 1e-6).all()


def test_the_fall_of_the_auc_is_tested_with_delongs_errors():
    rng = np.random.default_rng(8)
    reference, new = sample(1_500, rng), sample(1_000, rng, slope=0.3)

    def area(cells):
        one, zero = (cells.score[cells.y == label] for label in (1, 0))
        ranks = rankdata(np.append(one, zero))
        above = (ranks[: one.size] - rankdata(one)) / zero.size
        below = 1 - (ranks[one.size :] - rankdata(zero)) / one.size
        return above.mean(), above.var(ddof=1) / one.size + below.var(ddof=1) / zero.size

    (old, old_var), (now, now_var) = area(reference), area(new)
    was, found, p = auc_fall(reference, new)
    assert was.after == pytest.approx(roc_auc_score(reference.y, reference.score))
    assert found.after == pytest.approx(roc_auc_score(new.y, new.score))
    assert p == pytest.approx(norm.cdf((now - old) / math.sqrt(old_var + now_var)), rel=1e-6)
