"""The evaluation in a process of its own is that of the whole run."""

import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from hetcal.data.scores import scores_from_column, scores_from_columns
from hetcal.data.table import Roles, make_table
from hetcal.results.evaluation import Evaluation
from hetcal.runs.evaluated import evaluate_rows, rows_to_evaluate, with_evaluation
from hetcal.runs.run import run
from hetcal.runs.settings import Settings


@pytest.fixture
def weighted(segments):
    """Rows with weights and with groups of three, some of them without a score."""
    score = segments["score"].where(segments.index % 50 > 0)
    household = segments.index // 3
    return segments.assign(score=score, w=1 + segments.index % 3, household=household)


def assert_same_evaluation(found, expected):
    for each in fields(Evaluation):
        own, other = (getattr(of, each.name) for of in (found, expected))
        same = own.equals(other) if isinstance(own, pd.DataFrame) else repr(own) == repr(other)
        assert same, each.name


@pytest.mark.parametrize("partition", ["tree", "forest", "additive"])
@pytest.mark.parametrize("named", [{}, {"weight": "w", "group": "household"}], ids=["plain", "all"])
def test_test_rows_alone_give_the_evaluation_of_the_whole_run(weighted, partition, named):
    table = make_table(weighted, Roles("label", split="split", score="score", **named))
    scores = scores_from_column(table.frame["score"], "logit")
    whole = run(table, scores, Settings(partition=partition))
    given = pickle.loads(pickle.dumps(rows_to_evaluate(whole)))
    assert len(given.run.table.frame) == whole.split.test.size
    found = evaluate_rows(given)
    assert_same_evaluation(found.evaluation, whole.evaluation)
    assert np.array_equal(found.logits, whole.after[whole.split.test])
    known = with_evaluation(whole, found)
    assert known.evaluation is found.evaluation
    for name in ("before", "pooled", "tree", "after", "without", "centred"):
        own, other = (getattr(each.comparison, name) for each in (known, whole))
        assert np.array_equal(own.score, other.score), name
    assert known.verdict == whole.verdict
    assert found.measures.equals(whole.measures)
    assert np.array_equal(found.p_after, whole.p_after)


@pytest.mark.parametrize("partition", ["tree", "auto"])
def test_test_and_calibration_rows_give_the_evaluation_of_several_classes(kinds, partition):
    columns = ("p_ant", "p_bee", "p_cow")
    table = make_table(kinds, Roles("kind", split="split", class_scores=columns), "")
    whole = run(
        table,
        scores_from_columns(kinds, columns, "probability", ""),
        Settings(partition=partition),
    )
    given = pickle.loads(pickle.dumps(rows_to_evaluate(whole)))
    found = evaluate_rows(given)
    assert_same_evaluation(found.evaluation, whole.evaluation)
    known = with_evaluation(whole, found)
    assert known.evaluation is found.evaluation
    assert known.view(1).verdict == whole.view(1).verdict
