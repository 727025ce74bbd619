import numpy as np
import pytest
from scipy.special import expit, ndtri
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.cells import Cells
from hetcal.checked_leaves import checked_leaves
from hetcal.contributions import lift_contributions
from hetcal.doubts import Doubt
from hetcal.exactness import evaluate_sketch
from hetcal.exactness_words import exactness_details
from hetcal.grid import Grid
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.row_answers import RowAnswers
from hetcal.sketch import sketch_rows
from hetcal.ways import score_in_four_ways

LEAVES = [1, 2, 3]


def sample(rows, seed=0):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(1, 4, rows)
    scores = rng.normal(scale=1.5, size=rows)
    return scores, rng.binomial(1, expit(np.array([0, 0.5, 1, 2])[leaf] * scores - 1)), leaf


def parts(bins, method="platt"):
    """Ways of a sketch of 20,000 rows, the rows to ask, and the maps."""
    test, calibration = Cells.of_rows(*sample(20_000)), Cells.of_rows(*sample(5_000, seed=1))
    calibrator = LeafCalibrator(method=method).fit_cells(calibration, LEAVES)
    cells = sketch_rows(*sample(20_000), LEAVES, Grid(16.0, bins)).cells()
    ways = score_in_four_ways(cells, calibration, calibrator)
    return ways, RowAnswers(lambda: test, calibration), calibrator


def in_leaves(measure, probability):
    _, y, leaf = sample(20_000)
    return [measure(y[leaf == each], probability[leaf == each]) for each in LEAVES]


@pytest.mark.parametrize(("bins", "method"), [(32, "platt"), (32, "isotonic")])
def test_rows_are_asked_where_the_cells_of_a_leaf_are_too_coarse(bins, method):
    ways, rows, calibrator = parts(bins, method)
    table, left = checked_leaves(ways, rows, calibrator, bent=method == "isotonic")
    scores, _, leaf = sample(20_000)
    after = calibrator.predict(scores, leaf)
    for name, probability in (("before", expit(scores)), ("after", after)):
        areas, losses = (in_leaves(each, probability) for each in (roc_auc_score, log_loss))
        assert table[f"auc_{name}"].tolist() == pytest.approx(areas, abs=1e-12)
        assert table[f"log_loss_{name}"].tolist() == pytest.approx(losses, abs=1e-9)
    assert table["lift"].tolist() == (table["auc_after"] - table["auc_before"]).tolist()
    assert left == Doubt()


def test_rows_tell_the_shares_of_the_lift_where_cells_are_too_coarse():
    ways, rows, calibrator = parts(32)
    coarse, left = checked_leaves(ways, None, calibrator, bent=False)
    assert "share" in left.wide
    table, _ = checked_leaves(ways, rows, calibrator, bent=False)
    scores, y, leaf = sample(20_000)
    both = scores, calibrator.predict_logit(scores, leaf)
    exact = lift_contributions(*(Cells.of_rows(each, y, leaf) for each in both), LEAVES)
    assert table["contribution"].tolist() == pytest.approx(exact["contribution"], abs=1e-12)
    assert (np.abs(coarse["contribution"] - exact["contribution"]) > 1e-6).any()
    assert (np.abs(coarse["contribution"] - exact["contribution"]) <= left.of("share")).all()
    width = table["contribution_high"] - table["contribution_low"]
    assert width.tolist() == pytest.approx(2 * ndtri(0.975) * table["contribution_se"])
    middle = (table["contribution_high"] + table["contribution_low"]) / 2
    assert middle.tolist() == pytest.approx(table["contribution"])


def test_fine_cells_are_believed_within_their_bounds():
    ways, _, calibrator = parts(2**14)
    never = RowAnswers(lambda: pytest.fail("the rows were asked"), ways.before)
    table, left = checked_leaves(ways, never, calibrator, bent=False)
    exact = in_leaves(roc_auc_score, sample(20_000)[0])
    assert np.max(np.abs(table["auc_before"] - exact)) <= left.of("auc")
    assert 0 < left.of("auc") < 0.001
    assert 0 < left.of("log_loss") < 1e-5
    assert 0 < left.of("share") < 0.001


def test_only_the_log_loss_of_bent_maps_is_asked_for():
    ways, rows, calibrator = parts(2**14, "isotonic")
    _, left = checked_leaves(ways, rows, calibrator, bent=True)
    assert left.of("auc") > 0
    assert left.of("log_loss") == 0


def test_without_rows_the_sentence_names_what_is_too_wide_in_a_leaf():
    ways, _, calibrator = parts(32)
    told = exactness_details(evaluate_sketch(ways, None, calibrator).errors)
    assert "with no rows to ask: " in told
    assert "AUC of a leaf" in told


def test_the_sentence_tells_how_far_leaves_are_off():
    ways, rows, calibrator = parts(2**14)
    told = exactness_details(evaluate_sketch(ways, rows, calibrator).errors)
    assert "In leaves off by at most " in told
    assert "(share of the lift of a leaf)" in told
