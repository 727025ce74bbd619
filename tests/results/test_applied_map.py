import numpy as np
import pytest
from scipy.special import expit

from hetcal.cells.cells import Cells
from hetcal.results.applied import applied_map, applied_to_leaves


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


def in_two_leaves(rows=4_000):
    rng = np.random.default_rng(2)
    leaf, y = rng.integers(1, 3, rows), rng.integers(0, 2, rows).astype(np.int8)
    before, noise = rng.normal(size=(2, rows))
    after = np.where(leaf == 1, 0.5 * before + 0.2, before + noise)
    cells = (Cells.of_rows(each, y, leaf) for each in (before, after))
    return *cells, leaf, y, before, after


def test_a_leaf_with_one_map_is_explained_by_the_score_and_one_without_as_its_correlation_says():
    one, other, leaf, y, before, after = in_two_leaves()
    found = applied_to_leaves(one, other, [1, 2, 3]).leaves.set_index("leaf")
    assert found.at[1, "explained"] == pytest.approx(1)
    assert found.at[1, "slope"] == pytest.approx(0.5)
    inside = leaf == 2
    correlation = np.corrcoef(before[inside], after[inside])[0, 1]
    assert found.at[2, "explained"] == pytest.approx(correlation**2)
    assert found.at[2, "slope"] == pytest.approx(np.polyfit(before[inside], after[inside], 1)[0])
    assert found.at[0, "rows"] == 4_000
    assert found.at[2, "positive_rate"] == pytest.approx(y[inside].mean())
    assert found.at[2, "mean_before"] == pytest.approx(expit(before[inside]).mean())
    assert found.at[2, "mean_after"] == pytest.approx(expit(after[inside]).mean())
    assert found.at[3, "rows"] == 0
    assert found.loc[3, ["slope", "mean_after", "explained"]].isna().all()


def test_the_maps_of_leaves_are_those_of_their_rows_and_empty_leaves_have_none():
    one, other, leaf, _, before, after = in_two_leaves()
    found = applied_to_leaves(one, other, [1, 2, 3])
    assert sorted(found.maps) == [0, 1, 2]
    assert found.rows == found.drawn == 4_000
    expected = applied_map(before[leaf == 2], after[leaf == 2])
    assert found.maps[2].to_numpy() == pytest.approx(expected.to_numpy())


def test_scores_that_all_get_the_same_logit_have_one_map():
    before, y = scores(50), np.zeros(50, dtype=np.int8)
    leaf = np.ones(50, dtype=np.int64)
    cells = Cells.of_rows(before, y, leaf), Cells.of_rows(np.full(50, 0.3), y, leaf)
    assert applied_to_leaves(*cells, [1]).leaves["explained"].tolist() == [1.0, 1.0]


def test_large_tables_are_drawn_evenly():
    one, other, leaf, *_ = in_two_leaves()
    found = applied_to_leaves(one, other, [1, 2], most=500)
    assert (found.rows, found.drawn) == (4_000, 500)
    assert found.maps[0]["n"].sum() == 500
    assert found.maps[1]["n"].sum() == pytest.approx(500 * np.mean(leaf == 1), abs=40)
