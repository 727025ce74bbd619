import re
from dataclasses import astuple, fields, replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hetcal.cells import Cells
from hetcal.evaluation import evaluate
from hetcal.exactness import check, evaluate_sketch, standard_errors
from hetcal.exactness_words import exactness, exactness_details
from hetcal.grid import Grid
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.metrics import Metrics, measure
from hetcal.row_answers import RowAnswers, RowWay
from hetcal.sketch import sketch_rows
from hetcal.ways import score_in_four_ways

LEAVES = [1, 2, 3]


def sample(rows, seed=0):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(1, 4, rows)
    scores = rng.normal(scale=1.5, size=rows)
    return scores, rng.binomial(1, expit(np.array([0, 0.5, 1, 2])[leaf] * scores - 1)), leaf


def evaluated(rows, bins, method="platt"):
    """Evaluate a sketch and its rows; tell whether the sketch asked the rows."""
    test, calibration = Cells.of_rows(*sample(rows)), Cells.of_rows(*sample(5_000, seed=1))
    calibrator = LeafCalibrator(method=method).fit_cells(calibration, LEAVES)
    cells = sketch_rows(*sample(rows), LEAVES, Grid(16.0, bins)).cells()
    asked = []
    rows_asked = RowAnswers(lambda: asked.append(True) or test, calibration)
    ways = score_in_four_ways(cells, calibration, calibrator)
    found = evaluate_sketch(ways, rows_asked, calibrator)
    exact = evaluate(score_in_four_ways(test, calibration, calibrator), LEAVES)
    return found, exact, asked


def rows_before(scores, y, leaf):
    rows = Cells.of_rows(scores, y, leaf)
    return RowWay(RowAnswers(lambda: rows, rows), "before", LeafCalibrator().fit(scores, y, leaf))


@pytest.mark.parametrize(("rows", "bins"), [(3_000, 2**16), (20_000, 4096), (20_000, 64)])
def test_numbers_are_those_of_the_rows_within_their_errors(rows, bins):
    found, exact, _ = evaluated(rows, bins)
    for way in ("before", "pooled", "tree", "after"):
        off = np.subtract(astuple(getattr(found, way)), astuple(getattr(exact, way)))
        # The bins of the calibration errors consist of whole cells: they are other numbers.
        bound = np.array(astuple(getattr(found.errors, way)))
        assert np.all(np.abs(off[:5]) <= bound[:5] + 1e-12)
    assert abs(found.lift.auc - exact.lift.auc) <= found.errors.lift + 1e-12
    assert abs(found.lift.se - exact.lift.se) <= found.errors.lift_se + 1e-12
    assert found.errors.lift_se <= 0.1 * exact.lift.se
    assert found.rows == exact.rows == rows


def test_fine_cells_are_believed():
    found, _, asked = evaluated(3_000, 2**16)
    assert asked == []
    assert 0 < found.errors.lift < found.lift.se
    assert 0 < found.errors.lift_se < 0.1 * found.lift.se


def test_coarse_cells_give_way_to_the_rows():
    found, exact, asked = evaluated(20_000, 64)
    assert asked == [True]
    assert found.errors.lift == 0
    assert (found.lift.before, found.lift.after) == (exact.before.auc, exact.after.auc)
    assert (found.lift.se, found.errors.lift_se) == (exact.lift.se, 0)


@pytest.mark.parametrize("method", ["beta", "isotonic", "histogram"])
def test_maps_that_are_not_straight_are_measured_on_the_rows(method):
    found, exact, asked = evaluated(3_000, 2**16, method)
    assert asked == [True]
    assert (found.after, found.pooled) == (exact.after, exact.pooled)
    assert set(astuple(found.errors.after)) == {0.0}
    assert found.errors.before.log_loss > 0
    assert found.lift.se == pytest.approx(exact.lift.se, rel=0.05)


def test_straight_maps_of_any_method_need_no_rows():
    assert evaluated(3_000, 2**16, "temperature")[2] == []


def test_no_number_is_off_by_more_than_its_standard_error():
    scores, y, leaf = sample(20_000)
    for bins in (16, 256, 4096):
        cells = sketch_rows(scores, y, leaf, LEAVES, Grid(16.0, bins)).cells()
        checked = check(cells, rows_before(scores, y, leaf))
        for each in fields(checked.errors):
            error = getattr(checked.errors, each.name)
            assert error < getattr(standard_errors(cells), each.name)


def test_standard_errors_are_those_of_the_bootstrap():
    scores, y, leaf = sample(2_000)
    cells = Cells.of_rows(scores, y, leaf)
    found = standard_errors(cells)
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(300):
        i = rng.integers(0, 2_000, 2_000)
        drawn.append(astuple(measure(y[i], scores[i])))
    spread = Metrics(*np.std(drawn, axis=0))
    for name in ("auc", "balanced_precision_area", "log_loss", "brier"):
        assert getattr(found, name) == pytest.approx(getattr(spread, name), rel=0.15)
    for rule_of_thumb in ("average_precision", "calibration_error", "calibration_error_debiased"):
        assert getattr(found, rule_of_thumb) == pytest.approx(
            getattr(spread, rule_of_thumb), rel=0.5
        )


def test_weighted_rows_in_perfect_order_have_an_average_precision_without_error():
    for seed in range(10):
        y, rng = np.arange(20) % 2, np.random.default_rng(seed)
        cells = Cells.of_rows(3 * y + rng.random(20), y, np.ones(20, int), rng.random(20))
        assert standard_errors(cells).average_precision == pytest.approx(0.0, abs=1e-7)


def test_rows_that_are_asked_are_exact():
    scores, y, leaf = sample(20_000)
    cells = sketch_rows(scores, y, leaf, LEAVES, Grid(16.0, 64)).cells()
    checked = check(cells, rows_before(scores, y, leaf))
    assert checked.values.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-12)


def test_the_sentence_tells_the_largest_errors():
    assert exactness(None) == exactness_details(None) == "All numbers are exact."
    found, _, _ = evaluated(3_000, 2**16)
    assert exactness_details(found.errors).startswith(
        "Computed from cells of rows, off by at most "
    )
    assert "exact" not in exactness_details(found.errors)
    asked, _, _ = evaluated(20_000, 4096)
    assert asked.errors.before.auc == 0
    assert "log-loss" in exactness_details(asked.errors)
    # Bins of whole cells are not those of the rows, which the bound says nothing about.
    assert "(debiased calibration error), the last two in bins of whole" in exactness_details(
        asked.errors
    )


def test_one_sentence_names_the_worst_bounds():
    found, _, _ = evaluated(20_000, 4096)
    told = exactness(found.errors)
    overall, inside = map(float, re.findall(r"more than (\d\.\d+)", told))
    for way in ("before", "pooled", "tree", "after"):
        assert max(astuple(getattr(found.errors, way))) <= overall
    assert overall < found.errors.leaves.of("auc") <= inside
    assert found.errors.leaves.of("log_loss") <= inside
    fine, _, _ = evaluated(3_000, 2**16)
    assert exactness(fine.errors).endswith(": no measure is off by more than 0.0001.")


def test_the_sentence_names_what_cells_are_too_coarse_for():
    found, _, _ = evaluated(3_000, 2**16)
    coarse = replace(found.errors, wide=("auc",), after=replace(found.errors.after, auc=0.5))
    told = exactness(coarse)
    assert told.endswith("too coarse here for AUC; no other measure is off by more than 0.0001.")


def test_the_standard_error_of_the_lift_is_named_where_cells_alone_are_too_coarse_for_it():
    cells = sketch_rows(*sample(20_000), LEAVES, Grid(16.0, 64)).cells()
    calibration = Cells.of_rows(*sample(5_000, seed=1))
    calibrator = LeafCalibrator().fit_cells(calibration, LEAVES)
    ways = score_in_four_ways(cells, calibration, calibrator)
    errors = evaluate_sketch(ways, None, calibrator).errors
    assert "lift_se" in errors.wide
    assert "standard error of the lift" in exactness(errors)
    assert "The standard error of the lift is off by at most" in exactness_details(errors)
    same = evaluate_sketch(replace(ways, after=ways.before), None, calibrator)
    assert (same.lift.se, same.lift.p) == (0, 1)
    assert "lift_se" not in same.errors.wide
