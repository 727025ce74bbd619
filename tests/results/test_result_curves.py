import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score, roc_curve

from hetcal.calibrators.leaf_calibrator import LeafCalibrator
from hetcal.cells.cells import Cells
from hetcal.cells.sketch import Grid, sketch_rows
from hetcal.results.curves import inside_leaves, leaf_curves, points_of_rate, result_curves
from hetcal.results.evaluation import evaluate, score_four_schemes


def curves_and_evaluation(cells, rows, calibrator):
    evaluation = evaluate(score_four_schemes(rows, rows, calibrator), [1, 2])
    return result_curves(score_four_schemes(cells, rows, calibrator), evaluation), evaluation


def test_curves_of_cells_are_those_of_their_rows_and_carry_the_areas_of_the_evaluation():
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 3, 20_000)
    scores = rng.normal(size=20_000)
    y = rng.binomial(1, expit(np.array([0, 2.0, 0.5])[leaf] * scores + leaf - 1.5))
    rows, calibrator = Cells.of_rows(scores, y, leaf), LeafCalibrator().fit(scores, y, leaf)
    cells = sketch_rows(scores, y, leaf, [1, 2], Grid()).cells()
    exact, evaluation = curves_and_evaluation(rows, rows, calibrator)
    found, _ = curves_and_evaluation(cells, rows, calibrator)
    assert [each.name for each in found.roc] == ["before", "after"]
    assert found.roc[1].auc == evaluation.after.auc
    assert found.precision_recall[0].average_precision == evaluation.before.average_precision
    for one, other in zip(found.roc, exact.roc, strict=True):
        assert one.rows == other.rows == 20_000
        at = np.linspace(0, 1, 101)
        heights = (
            np.interp(at, each.false_positive_rate, each.true_positive_rate)
            for each in (one, other)
        )
        assert next(heights) == pytest.approx(next(heights), abs=0.01)
    for one, other in zip(found.reliability, exact.reliability, strict=True):
        assert one.count.sum() == other.count.sum() == 20_000
        assert one.predicted == pytest.approx(other.predicted, abs=0.005)
        assert one.observed == pytest.approx(other.observed, abs=0.02)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.3, 1.0])
def test_points_lie_on_the_curves_of_rows_and_near_them_for_cells(rate):
    rng = np.random.default_rng(1)
    leaf, scores = rng.integers(1, 3, 5_000), rng.normal(size=5_000)
    y = rng.binomial(1, expit(leaf * scores - 1))
    rows, calibrator = Cells.of_rows(scores, y, leaf), LeafCalibrator().fit(scores, y, leaf)
    cells = sketch_rows(scores, y, leaf, [1, 2], Grid()).cells()
    found, sketched = (
        points_of_rate(score_four_schemes(each, rows, calibrator), rate) for each in (rows, cells)
    )
    logits = scores, calibrator.predict_logit(scores, leaf)
    for point, other, each in zip(found, sketched, logits, strict=True):
        false, true, _ = roc_curve(y, each, drop_intermediate=False)
        highest = true[np.searchsorted(false, rate, "right") - 1]
        assert highest <= point.true_positive_rate <= highest + 1 / np.sum(y == 1)
        assert point.false_positive_rate == pytest.approx(rate, abs=1e-12)
        assert other.false_positive_rate == pytest.approx(rate, abs=1e-12)
        assert other.true_positive_rate == pytest.approx(point.true_positive_rate, abs=0.01)


def test_curves_of_a_leaf_are_those_of_its_rows_alone():
    rng = np.random.default_rng(4)
    leaf, scores = rng.integers(1, 4, 6_000), rng.normal(size=6_000)
    y = np.where(leaf == 3, 1, rng.binomial(1, expit(leaf * scores - 1)))
    rows, calibrator = Cells.of_rows(scores, y, leaf), LeafCalibrator().fit(scores, y, leaf)
    compared = score_four_schemes(rows, rows, calibrator)
    found, inside = leaf_curves(compared, [2]), leaf == 2
    assert [each.name for each in found.roc] == ["before", "after"]
    assert found.roc[0].auc == pytest.approx(roc_auc_score(y[inside], scores[inside]))
    assert found.roc[0].rows == inside.sum()
    assert sum(found.reliability[1].count) == inside.sum()
    mapped = calibrator.predict_logit(scores, leaf)[inside]
    average = np.average(found.reliability[1].predicted, weights=found.reliability[1].count)
    assert average == pytest.approx(expit(mapped).mean(), abs=1e-9)
    one_class, empty = leaf_curves(compared, [3]), leaf_curves(compared, [9])
    assert (one_class.roc, one_class.precision_recall) == ((), ())
    assert [each.count.size for each in one_class.reliability] == [3, 3]
    assert (empty.roc, empty.reliability) == ((), ())


def test_a_false_positive_rate_inside_a_leaf_counts_its_rows_only():
    rng = np.random.default_rng(5)
    leaf, scores = rng.integers(1, 3, 4_000), rng.normal(size=4_000)
    y = rng.binomial(1, expit(leaf * scores))
    rows, calibrator = Cells.of_rows(scores, y, leaf), LeafCalibrator().fit(scores, y, leaf)
    compared = score_four_schemes(rows, rows, calibrator)
    before, _ = points_of_rate(inside_leaves(compared, [1]), 0.2)
    false, true, _ = roc_curve(y[leaf == 1], scores[leaf == 1], drop_intermediate=False)
    assert before.true_positive_rate == pytest.approx(np.interp(0.2, false, true), abs=0.002)
