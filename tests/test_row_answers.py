import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.cells import Cells
from hetcal.delong import paired_delong
from hetcal.leaf_calibrator import LeafCalibrator
from hetcal.row_answers import RowAnswers, RowWay


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    leaf = np.repeat([1, 2], [400, 60])
    scores = rng.normal(size=460)
    return scores, rng.binomial(1, expit(np.array([0, 2.0, 0.5])[leaf] * scores + leaf)), leaf


def test_rows_answer_in_the_way_that_is_asked_for(rows):
    scores, y, leaf = rows
    cells, calibrator = Cells.of_rows(*rows), LeafCalibrator().fit(*rows)
    answers = RowAnswers(lambda: cells, cells)
    after = calibrator.predict(scores, leaf)
    for way, expected in (("before", expit(scores)), ("after", after)):
        found = RowWay(answers, way, calibrator)
        assert found.order.auc == pytest.approx(roc_auc_score(y, expected), abs=1e-12)
        assert found.measures.log_loss == pytest.approx(log_loss(y, expected), abs=1e-12)


def test_the_same_question_is_answered_once(rows, monkeypatch):
    cells, calibrator = Cells.of_rows(*rows), LeafCalibrator().fit(*rows)
    made, scored = [], []
    answers = RowAnswers(lambda: made.append(True) or cells, cells)
    assert made == []
    monkeypatch.setattr(
        "hetcal.row_answers.score_in", lambda way, rows, *_: scored.append(way) or rows
    )
    same, other = calibrator.with_min_rows(51), calibrator.with_min_rows(100)
    for each in (calibrator, same, other):
        for way in ("before", "pooled", "after"):
            assert RowWay(answers, way, each).order.auc > 0.5
    assert made == [True]
    assert scored == ["before", "pooled", "after", "after"]


def test_the_lift_of_the_rows_is_that_of_two_scores_of_them(rows):
    scores, y, leaf = rows
    cells, calibrator = Cells.of_rows(*rows), LeafCalibrator().fit(*rows)
    expected = paired_delong(y, scores, calibrator.predict_logit(scores, leaf))
    assert RowAnswers(lambda: cells, cells).lift(calibrator) == expected
