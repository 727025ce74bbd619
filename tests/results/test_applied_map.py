import numpy as np
import pytest
from scipy.special import expit

from hetcal.results.applied import applied_map


def scores(rows=2_000, seed=0):
    return np.random.default_rng(seed).normal(-1, 1.5, rows)


def test_one_map_for_all_rows_has_no_spread_and_is_met_exactly():
    before = scores()
    found = applied_map(before, 0.6 * before + 0.3)
    logit = np.log(found["before"] / (1 - found["before"]))
    for name in ("low", "middle", "high", "mean"):
        np.testing.assert_allclose(found[name], expit(0.6 * logit + 0.3), atol=1e-12)


def test_of_two_maps_the_band_holds_both_and_the_mean_lies_between():
    before = np.repeat(scores(1_000), 2)
    after = before + np.tile([1.0, -1.0], 1_000)
    found = applied_map(before, after, bins=10)
    centre = np.log(found["before"] / (1 - found["before"]))
    np.testing.assert_allclose(found["low"], expit(centre - 1), atol=1e-9)
    np.testing.assert_allclose(found["high"], expit(centre + 1), atol=1e-9)
    np.testing.assert_allclose(found["mean"], (found["low"] + found["high"]) / 2, atol=1e-9)


def test_the_band_of_independent_noise_is_that_of_a_normal_distribution():
    before = scores(200_000)
    after = before + np.random.default_rng(1).normal(0, 0.5, before.size)
    found = applied_map(before, after, bins=5)
    centre = np.log(found["before"] / (1 - found["before"]))
    assert found["high"].tolist() == pytest.approx(expit(centre + 0.5 * 1.2816), abs=0.005)


def test_bins_have_the_same_number_of_rows_and_hold_all_of_them():
    found = applied_map(scores(1_000), np.zeros(1_000), bins=20)
    assert found["n"].tolist() == [50] * 20
    assert found["before"].is_monotonic_increasing


def test_few_rows_make_fewer_bins():
    assert applied_map(scores(65), np.zeros(65))["n"].sum() == 65
    assert len(applied_map(scores(65), np.zeros(65))) == 3
    assert len(applied_map(scores(5), np.zeros(5))) == 1


def test_equal_scores_stay_together():
    before = np.repeat([-1.0, 0.5], [900, 100])
    assert applied_map(before, before)["n"].tolist() == [900, 100]


def test_rows_without_both_logits_are_left_out():
    before, after = np.array([0.0, np.nan, 1.0]), np.array([0.0, 1.0, np.nan])
    assert applied_map(before, after)["n"].tolist() == [1]
    assert applied_map(np.array([np.nan]), np.array([0.0])).empty
