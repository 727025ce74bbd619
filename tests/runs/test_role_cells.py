from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from hetcal.calibrators.leaf_calibrator import FEW
from hetcal.cells.cells import Cells
from hetcal.data.scores import scores_from_column
from hetcal.data.splits import split_by_fraction
from hetcal.data.table import Roles, make_table
from hetcal.metrics.delong import paired_delong
from hetcal.metrics.metrics import measure, measure_cells
from hetcal.results.contributions import lift_contributions
from hetcal.runs.role_cells import role_cells
from hetcal.runs.run import finish_run, first_pass, fit_maps, run, split_table
from hetcal.runs.settings import Settings

ROWS = 300_000
LARGEST_ERRORS = (1e-5, 2e-3, 2e-5, 1e-5, 1e-5, 2e-3, 2e-3)  # of the measures, in their order


@pytest.fixture(scope="module")
def many_rows():
    """Table, scores, split and leaf of rows whose slope differs from leaf to leaf."""
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 5, ROWS)
    score = rng.normal(scale=1.5, size=ROWS)
    y = rng.binomial(1, expit(np.array([0, 0.5, 1.0, 2.0, 0.3])[leaf] * score - 1))
    frame = pd.DataFrame({"label": y, "score": score, "x": leaf})
    table = make_table(frame, Roles(label="label", score="score"), "digest")
    scores = scores_from_column(frame["score"], "logit", "digest")
    return table, scores, split_by_fraction(table.y, (0.4, 0.0, 0.3, 0.3), 0), leaf


def test_rows_of_small_tables_are_cells_themselves(many_rows):
    table, scores, split, leaf = many_rows
    cells = role_cells(*many_rows, [1, 2, 3, 4], sketched_from=ROWS)
    assert cells.exact
    for role in ("train", "calibration", "test"):
        found, rows = getattr(cells, role), split.of(role)
        assert np.array_equal(found.score, scores.logit[rows])
        assert np.array_equal(found.y, table.y[rows])
        assert np.array_equal(found.leaf, leaf[rows])
        assert found.given_weight is None


@pytest.mark.parametrize("weighted", [False, True])
def test_sketched_rows_have_nearly_the_measures_of_the_rows(many_rows, weighted):
    table, scores, split, leaf = many_rows
    weight = np.random.default_rng(1).exponential(size=ROWS) if weighted else None
    table = replace(table, weight=weight)
    cells = role_cells(table, scores, split, leaf, [1, 2, 3, 4])
    assert not cells.exact
    assert cells.test.counted != weighted
    for role in ("train", "calibration", "test"):
        found, rows = getattr(cells, role), split.of(role)
        assert found.score.size < rows.size / 2
        assert found.rows.sum() == rows.size
        w = None if weight is None else weight[rows]
        off = np.subtract(
            astuple(measure_cells(found)), astuple(measure(table.y[rows], scores.logit[rows], w))
        )
        assert np.all(np.abs(off) <= LARGEST_ERRORS)


def test_a_sketched_run_has_the_numbers_of_an_exact_one(many_rows):
    table, scores, _, _ = many_rows
    settings = Settings(max_depth=2)
    exact = run(table, scores, settings)
    split = split_table(table, settings)
    passed = first_pass(table, scores, split, exact.partition, exact.leaf)
    maps = fit_maps(passed, settings)
    sketched = finish_run(passed, settings, exact.partition, maps)
    assert (sketched.cells.exact, exact.cells.exact) == (False, True)
    assert exact.computed_on == "Computed on every row, not from a sketch."
    assert sketched.computed_on.startswith("From a sketch of 4,096 score bins")
    assert exact.digest != sketched.digest
    maps = zip(sketched.calibrator.maps_, exact.calibrator.maps_, strict=True)
    for found, expected in maps:
        assert found.slope == pytest.approx(expected.slope, abs=1e-9)
        assert found.intercept == pytest.approx(expected.intercept, abs=1e-9)
        assert (found.rows, found.positives) == (expected.rows, expected.positives)
    found, expected = sketched.evaluation, exact.evaluation
    for way in ("before", "pooled", "tree", "after"):
        off = np.subtract(astuple(getattr(found, way)), astuple(getattr(expected, way)))
        assert np.all(np.abs(off) <= LARGEST_ERRORS)
    assert (found.sketched, expected.sketched) == (True, False)
    assert found.lift.auc == pytest.approx(expected.lift.auc, abs=1e-5)
    assert found.lift.se == pytest.approx(expected.lift.se, rel=1e-3)
    assert found.rows == expected.rows
    counts = ["leaf", "rows", "positives"]
    assert found.leaves[counts].equals(expected.leaves[counts])
    assert found.leaves["contribution"].to_numpy() == pytest.approx(
        expected.leaves["contribution"].to_numpy(), abs=1e-5
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_count_groups_so_that_their_rows_are_not_sketched(many_rows, weighted):
    table, scores, _, _ = many_rows
    rng = np.random.default_rng(2)
    frame = table.frame.assign(site=rng.integers(0, 500, ROWS))
    weight = rng.exponential(size=ROWS) * rng.binomial(1, 0.9, ROWS) if weighted else None
    grouped = replace(table, frame=frame, weight=weight, roles=replace(table.roles, group="site"))
    settings = Settings(max_depth=2)
    exact = run(grouped, scores, settings)
    split = split_table(grouped, settings)
    passed = first_pass(grouped, scores, split, exact.partition, exact.leaf)
    maps = fit_maps(passed, settings)
    large = finish_run(passed, settings, exact.partition, maps)
    test = split.test if weight is None else split.test[weight[split.test] > 0]
    w, site = None if weight is None else weight[test], frame["site"].to_numpy()[test]
    parts = table.y[test], scores.logit[test], exact.after[test], w
    lift = paired_delong(*parts, group=site)
    assert lift.se != pytest.approx(paired_delong(*parts).se, rel=1e-3)
    for found in (exact.evaluation, large.evaluation):
        assert found.lift.se == pytest.approx(lift.se, rel=1e-6)
        assert found.groups == np.unique(site).size
        both = (Cells.of_rows(each, parts[0], exact.leaf[test], w) for each in parts[1:3])
        shares = lift_contributions(*both, found.leaves["leaf"].tolist(), site)
        for name in shares:
            assert found.leaves[name].tolist() == pytest.approx(shares[name].tolist(), abs=1e-9)
    assert large.cells.exact


@pytest.mark.parametrize("change", ["wild", "narrow"])
def test_cells_stay_fine_whatever_the_scale_of_the_scores(many_rows, change):
    table, scores, split, leaf = many_rows
    logit = scores.logit.copy() if change == "wild" else scores.logit / 1000
    if change == "wild":
        logit[:10] = 1e6
    cells = role_cells(table, replace(scores, logit=logit), split, leaf, [1, 2, 3, 4])
    rows = split.test
    assert not cells.exact
    found, exact = measure_cells(cells.test).auc, measure(table.y[rows], logit[rows]).auc
    assert found == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("change", ["peaked", "shifted", "tied"])
def test_rows_are_not_sketched_where_bins_are_too_coarse_for_their_scores(many_rows, change):
    table, scores, split, leaf = many_rows
    changed = {
        "peaked": np.where(np.arange(ROWS) % 10, scores.logit / 100, scores.logit),
        "shifted": scores.logit / 100 + 6,
        "tied": np.round(scores.logit),  # as coarse as their bins
    }
    cells = role_cells(table, replace(scores, logit=changed[change]), split, leaf, [1, 2, 3, 4])
    assert cells.exact == (change != "tied")


def test_another_least_number_of_rows_does_not_touch_the_rows(many_rows):
    table, scores, split, leaf = many_rows
    grown = run(table, scores, Settings(max_depth=2))
    partition, leaf = grown.partition, grown.leaf
    passed = first_pass(table, scores, split, partition, leaf)
    maps = fit_maps(passed, Settings())
    blind = replace(
        passed,
        table=replace(table, y=np.zeros(0, dtype=np.int8)),
        scores=replace(scores, logit=np.zeros(0)),
    )
    few, many = (
        finish_run(blind, Settings(), partition, maps.with_min_rows(fewest))
        for fewest in (50, 10**6)
    )
    assert {each.fallback for each in few.calibrator.maps_} == {None}
    assert {each.fallback for each in many.calibrator.maps_} == {FEW}
    assert few.comparison.after.score.size == passed.cells.test.score.size


@pytest.mark.parametrize(("filled", "size"), [(500, 2**20), (10**6, 2**9), (1, 2**20)])
def test_sketches_within_a_limit_hold_the_same_rows_in_fewer_cells(many_rows, filled, size):
    _, scores, split, _ = many_rows
    whole = role_cells(*many_rows, [1, 2, 3, 4], sketched_from=10).sketches
    parts = whole.within(filled, size)
    cells = {role: getattr(parts, role).cells() for role in ("train", "calibration", "test")}
    bins = parts.test.grid.bins
    assert bins == 2 or sum(each.rows.size for each in cells.values()) <= filled
    assert parts.test.rows.size == 8 * bins <= size
    finer = [getattr(whole, role).coarser(2 * bins).rows for role in cells]
    assert sum(np.count_nonzero(each) for each in finer) > filled or finer[0].size > size
    for role, each in cells.items():
        rows = split.of(role)
        assert each.rows.sum() == rows.size
        assert np.sum(each.weight * each.score) == pytest.approx(scores.logit[rows].sum())
