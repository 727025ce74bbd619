"""P-values of leaves, against scipy and simulation."""

import numpy as np
from scipy.special import expit
from scipy.stats import binom, kstest, ttest_ind

from hetcal.cells.cells import Cells
from hetcal.metrics.metrics import loss_of_rows
from hetcal.results.leaf_tests import calibrated_p_values, holm, leaf_tests

LEAVES = [1, 2, 3, 4]


def drawn(rng, rows, scale=1.0, leaves=4):
    leaf = rng.integers(1, leaves + 1, rows)
    truth = rng.standard_normal(rows) + 0.3 * leaf - 1
    return scale * truth, (rng.random(rows) < expit(truth)).astype(np.int8), leaf


def test_the_gap_is_tested_as_scipy_does_and_corrected_by_hand():
    rng = np.random.default_rng(0)
    train, test = drawn(rng, 3_000, 1.2), drawn(rng, 900, 1.3)
    cells = [Cells.of_rows(*each) for each in (train, test)]
    found = leaf_tests(*cells, LEAVES)
    losses = [loss_of_rows(y, score) for score, y, _ in (train, test)]
    whole = ttest_ind(*losses, equal_var=False).pvalue
    np.testing.assert_allclose(found.at[0, "p_gap"], whole, rtol=0.01)
    single = [
        ttest_ind(losses[0][train[2] == i], losses[1][test[2] == i], equal_var=False).pvalue
        for i in LEAVES
    ]
    # Each in ascending order, times how many are not below it, and never below the one before.
    corrected, least = np.empty(4), 0.0
    for place, i in enumerate(np.argsort(single)):
        least = max(least, single[i] * (4 - place))
        corrected[i] = min(least, 1)
    np.testing.assert_allclose(found["p_gap"][1:], corrected, rtol=0.02)


def test_a_miscalibrated_leaf_is_found_before_and_not_after():
    rng = np.random.default_rng(1)
    score, y, leaf = drawn(rng, 8_000)
    before = np.where(leaf == 2, 3 * score, score)
    cells = [Cells.of_rows(each, y, leaf) for each in (before, score)]
    found = leaf_tests(cells[0], cells[0], LEAVES).set_index("leaf")
    assert found.at[2, "p_before"] < 1e-6
    assert (found.loc[[1, 3, 4], "p_before"] > 0.05).all()
    assert (calibrated_p_values(cells[1], LEAVES) > 0.05).all()
    assert (found["p_gap"] == 1).all(), "train and test rows are the same"


def test_without_an_effect_one_run_in_twenty_calls_some_leaf_miscalibrated_or_its_gap_real():
    rng, runs = np.random.default_rng(2), 400
    called, of_all_rows = np.zeros(2), []
    for _ in range(runs):
        train, test = (Cells.of_rows(*drawn(rng, 600)) for _ in range(2))
        found = leaf_tests(train, test, LEAVES)[["p_gap", "p_before"]]
        called += (found[1:] < 0.05).any().to_numpy()
        of_all_rows.append(found.iloc[0])
    for each in called:
        assert each <= binom.ppf(0.999, runs, 0.05)
        assert each >= binom.ppf(0.0001, runs, 0.03)
    # Those of all rows are not corrected: they are uniform.
    for each in np.transpose(of_all_rows):
        assert kstest(each, "uniform").pvalue > 0.001


def test_a_leaf_without_rows_has_no_p_value_and_does_not_count():
    rng = np.random.default_rng(3)
    cells = Cells.of_rows(*drawn(rng, 500, leaves=2))
    found = leaf_tests(cells, cells, LEAVES)
    assert found.loc[3:, ["p_gap", "p_before"]].isna().all(axis=None)
    p = np.array([0.01, 0.04])
    assert holm(np.append(p, np.nan))[:2].tolist() == holm(p).tolist()
