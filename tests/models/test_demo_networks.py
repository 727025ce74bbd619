"""The demo's networks are what they are said to be, measured by scikit-learn on test rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from hetcal.data.demo import DEMO_NETWORKS, demo_probability, demo_table
from hetcal.models.file import inspect_model
from hetcal.models.inputs import suggest_inputs
from hetcal.models.scoring import start_scoring

pytestmark = pytest.mark.network

TABLE = demo_table()
Y = (TABLE["churned"] == "yes").to_numpy()
TRAIN, TEST = ((TABLE["split"] == role).to_numpy() for role in ("train", "test"))
TRUE_LOGIT = logit(demo_probability(TABLE.fillna({"support_calls": 1.2})))


def logits(name):
    """The network's scores of all customers."""
    model = inspect_model(DEMO_NETWORKS[name].file)
    inputs = suggest_inputs(model, list(TABLE.columns))
    return start_scoring(model, TABLE, inputs).result().logit


def area(scores):
    return roc_auc_score(Y[TEST], scores[TEST])


def slope(scores):
    """The slope of Platt's map on test rows: below 1 for scores that are too sure."""
    return LogisticRegression(C=np.inf).fit(scores[TEST, None], Y[TEST]).coef_[0, 0]


def loss(scores, rows):
    return log_loss(Y[rows], 1 / (1 + np.exp(-scores[rows])))


def beside_the_columns(scores):
    """AUC of boosted trees on the columns and these scores, from rows that no network saw."""
    columns = TABLE.drop(columns=["churned", "split"]).assign(score=scores)
    columns = pd.get_dummies(columns, columns=["contract", "region"])
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    trees.fit(columns[~TRAIN & ~TEST], Y[~TRAIN & ~TEST])
    return area(trees.decision_function(columns))


def test_the_over_trained_network_is_too_sure_and_holds_what_trees_do_not_find():
    scores = logits("over-trained")
    assert loss(scores, TEST) > loss(scores, TRAIN) + 0.1
    assert slope(scores) < 0.7
    assert area(scores) < area(TRUE_LOGIT) - 0.06
    assert beside_the_columns(scores) > beside_the_columns(np.zeros(len(TABLE))) + 0.03


def test_the_well_trained_network_ranks_nearly_as_the_truth_does():
    scores = logits("well trained")
    assert area(scores) == pytest.approx(area(TRUE_LOGIT), abs=0.003)
    assert loss(scores, TEST) == pytest.approx(loss(TRUE_LOGIT, TEST), abs=0.003)
    assert slope(scores) == pytest.approx(1, abs=0.05)


def test_the_random_network_is_sure_of_nothing_that_it_knows():
    scores = logits("random")
    assert scores.std() > 0.5
    assert area(scores) == pytest.approx(0.5, abs=0.02)
    assert slope(scores) == pytest.approx(0, abs=0.05)
    assert np.corrcoef(scores, TRUE_LOGIT)[0, 1] == pytest.approx(0, abs=0.02)
